/** Choosing several of a long list by their names. */
import { useState } from 'react'
import { Foreign } from '../../parts/text.tsx'
import { t, language } from '../../texts/texts.tsx'

export interface Option {
  id: string
  name: string
  about?: string
}

interface Props {
  label: string
  options: readonly Option[]
  chosen: readonly string[]
  onChange(chosen: readonly string[]): void
  /** Reads more of the list; undefined when all of it is here. */
  showMore?: (() => void) | undefined
  empty: string
}

export function Picker({ label, options, chosen, onChange, showMore, empty }: Props) {
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const set = new Set(chosen)
  // Nouns have a capital in German wherever they stand.
  const noun = language === 'de' ? label : label.toLowerCase()
  const names = new Map(options.map((one) => [one.id, one.name]))
  const search = text.trim().toLowerCase()
  const shown = options.filter(({ name, about = '' }) => `${name} ${about}`.toLowerCase().includes(search))
  const toggle = (id: string) => onChange(set.has(id) ? chosen.filter((one) => one !== id) : [...chosen, id])
  return (
    <fieldset className="picker">
      <legend className="label">{t('{label}: {count} selected', { label, count: chosen.length })}</legend>
      {chosen.length > 0 && (
        <ul className="picked" aria-label={t('Selected {label}', { label: noun })}>
          {chosen.map((id) => (
            <li key={id}>
              <Foreign text={names.get(id) ?? id} max={64} />
              <button
                type="button"
                className="quiet"
                aria-label={t('Remove {name}', { name: names.get(id) ?? id })}
                onClick={() => toggle(id)}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t('Select')}</summary>
        {options.length === 0 ? (
          <p className="mute">{empty}</p>
        ) : (
          <>
            <input
              type="search"
              aria-label={t('Filter {label}', { label: noun })}
              placeholder={t('Filter by name')}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <ul className="picker-list" tabIndex={0} aria-label={label}>
              {shown.map(({ id, name, about }) => (
                <li key={id}>
                  <label className="row">
                    <input type="checkbox" checked={set.has(id)} onChange={() => toggle(id)} />
                    <Foreign text={name} max={100} />
                    {about && <small className="mute">{about}</small>}
                  </label>
                </li>
              ))}
            </ul>
            {showMore && (
              <button type="button" className="quiet" onClick={showMore}>
                {t('Read more of them')}
              </button>
            )}
          </>
        )}
      </details>
    </fieldset>
  )
}
