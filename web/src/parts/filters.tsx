/** What lists are narrowed with: words, several statuses, a stretch of time and a principal. */
import './filters.css'
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { Badge } from './badge.tsx'
import { Icon } from './icons.tsx'
import { KeyHint } from './key-hint.tsx'
import { isComposing, useKeys } from './keys.ts'
import { anyTime, fieldOf, momentOf, periods, type TimeRange } from './time-range.ts'
import { t } from '../texts/texts.tsx'

/** The fields of one list. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <div className="filters" role="group" aria-label={t('Filter')}>
      {children}
    </div>
  )
}

/** How long after the last key the list is read, in milliseconds. */
const typingMs = 300

/** The text of a field, which counts when the typing pauses. `read` says what it means; undefined: nothing yet. */
export function useTyping<Value>(
  value: Value,
  textOf: (value: Value) => string,
  read: (text: string) => Value | undefined,
  onChange: (value: Value) => void,
): [text: string, type: (text: string) => void] {
  const [typed, setTyped] = useState({ text: textOf(value), value })
  const means = read(typed.text)
  const { text } = typed
  // The address changed by itself: somebody went back.
  if (typed.value !== value) setTyped({ text: means === value ? text : textOf(value), value })
  const tell = useRef(onChange)
  useEffect(() => {
    tell.current = onChange
  })
  // Not an effect that outlives the sight of the field: while the next screen is loaded, this one is hidden and still there,
  // and what was typed would lead back to it.
  useLayoutEffect(() => {
    if (means === value || means === undefined) return
    const timer = setTimeout(() => tell.current(means), typingMs)
    return () => clearTimeout(timer)
  }, [means, value])
  return [text, (next) => setTyped({ text: next, value })]
}

interface SearchFieldProps {
  label: string
  value: string
  most?: number
  /** Ids of what could be written there. */
  suggestions?: string
  /** Whether `/` leads there; one field of a screen has it. */
  isFirst?: boolean
  onChange(value: string): void
}

/** A field for words; what is typed counts when the typing pauses. */
export function SearchField({ label, value, most = 100, suggestions, isFirst, onChange }: SearchFieldProps) {
  const [text, type] = useTyping(value, String, String, onChange)
  const field = useRef<HTMLInputElement>(null)
  useKeys(isFirst ? { '/': () => field.current?.focus() } : {})
  return (
    <div className="filter">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={most}
        list={suggestions}
        value={text}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return
          if (event.key === 'Escape') {
            // It leaves the field; its text, and what is open behind it, stay.
            event.preventDefault()
            event.currentTarget.blur()
          }
          if (event.key === 'Enter') onChange(text)
        }}
      />
      {isFirst && <KeyHint keys="/" />}
    </div>
  )
}

interface FilterMenuProps {
  /** What the button says. */
  summary: ReactNode
  /** What is chosen in it. */
  legend: string
  isFirst?: boolean
  children: ReactNode
}

/** Fields behind a button, open until something else is pressed. */
export function FilterMenu({ summary: shown, legend, isFirst = false, children }: FilterMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null)
  const summary = useRef<HTMLElement>(null)
  useEffect(() => {
    const own = menu.current
    const close = ({ type, target }: Event) => {
      if (!own?.open || !(target instanceof Node) || own.contains(target)) return
      // A press on the words of a box in it puts the focus on what is around the menu: nobody has left it.
      if (type === 'focusin' && target.contains(own)) return
      own.open = false
    }
    const escape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !own?.open) return
      event.stopPropagation()
      own.open = false
      summary.current?.focus()
    }
    own?.addEventListener('keydown', escape)
    document.addEventListener('pointerdown', close)
    document.addEventListener('focusin', close)
    return () => {
      own?.removeEventListener('keydown', escape)
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('focusin', close)
    }
  }, [])
  useKeys(isFirst ? { '/': () => summary.current?.focus() } : {})
  return (
    <details ref={menu} className="filter-menu">
      <summary ref={summary} className="button">
        {shown}
        <Icon name="chevron" />
      </summary>
      <fieldset>
        <legend className="sr-only">{legend}</legend>
        {children}
      </fieldset>
    </details>
  )
}

interface StatusMenuProps<Status extends string> {
  statuses: readonly Status[]
  chosen: readonly Status[]
  isFirst?: boolean
  onChange(chosen: Status[]): void
}

/** A choice of several statuses; none is all. */
export function StatusMenu<Status extends string>({
  statuses,
  chosen,
  isFirst,
  onChange,
}: StatusMenuProps<Status>) {
  const summary =
    chosen.length === 0 ? (
      t('Any status')
    ) : chosen.length === 1 ? (
      <Badge status={chosen[0]!} />
    ) : (
      t('{count} statuses', { count: chosen.length })
    )
  return (
    <FilterMenu summary={summary} legend={t('Status')} isFirst={isFirst ?? false}>
      {statuses.map((status) => (
        <label key={status}>
          <input
            type="checkbox"
            checked={chosen.includes(status)}
            onChange={(event) =>
              onChange(
                statuses.filter((one) => (one === status ? event.target.checked : chosen.includes(one))),
              )
            }
          />
          <Badge status={status} />
        </label>
      ))}
    </FilterMenu>
  )
}

interface TimeFieldProps {
  range: TimeRange
  onChange(range: TimeRange): void
}

/** A period before now, or two moments. */
export function TimeField({ range, onChange }: TimeFieldProps) {
  const [isOpen, setOpen] = useState(false)
  const isRange = isOpen || range.from !== null || range.to !== null
  return (
    <>
      <select
        aria-label={t('Time')}
        value={isRange ? 'range' : (range.since ?? '')}
        onChange={(event) => {
          const since = periods.find((one) => one.since === event.target.value)?.since ?? null
          setOpen(event.target.value === 'range')
          if (event.target.value !== 'range' || range.since !== null) onChange({ ...anyTime, since })
        }}
      >
        <option value="">{t('Any time')}</option>
        {periods.map(({ since, name }) => (
          <option key={since} value={since}>
            {name}
          </option>
        ))}
        <option value="range">{t('Between …')}</option>
      </select>
      {isRange && <RangeFields range={range} onChange={onChange} />}
    </>
  )
}

/** Two moments; each may be open. */
export function RangeFields({ range, onChange }: TimeFieldProps) {
  return (
    <div className="filter-range">
      {(['from', 'to'] as const).map((end) => (
        <label key={end}>
          <span>{end === 'from' ? t('From') : t('To')}</span>
          <input
            type="datetime-local"
            value={fieldOf(range[end])}
            onChange={(event) => onChange({ ...range, since: null, [end]: momentOf(event.target.value) })}
          />
        </label>
      ))}
    </div>
  )
}

interface ChoiceFieldProps {
  label: string
  /** What stands there when nothing is chosen. */
  any: string
  value: string | null
  options: readonly { value: string; name: string }[]
  onChange(value: string | null): void
}

/** One of a list; what the list does not have, but the address does, stands as it is. */
export function ChoiceField({ label, any, value, options, onChange }: ChoiceFieldProps) {
  const isKnown = value === null || options.some((one) => one.value === value)
  return (
    <select aria-label={label} value={value ?? ''} onChange={(event) => onChange(event.target.value || null)}>
      <option value="">{any}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.name}
        </option>
      ))}
    </select>
  )
}

/** Something the address narrows a list to that has no field: it can be taken away. */
export function NarrowingChip({ name, id, onClear }: { name: string; id: string; onClear(): void }) {
  return (
    <button type="button" title={id} aria-label={t('Remove the filter {name}', { name })} onClick={onClear}>
      {name} <Icon name="cross" />
    </button>
  )
}
