/** The operations of a document: searched, chosen, and each with the gate that its tool begins with. */
import { useMemo, useState } from 'react'
import { SearchField } from '../../../parts/filters.tsx'
import { Foreign } from '../../../parts/text.tsx'
import type { Api, Operation } from './openapi.ts'
import { toolOfOperation } from './openapi-tool.ts'
import { asksFirst } from './use-creation.ts'
import { t } from '../../../texts/texts.tsx'

/** The most operations that are on the screen; the others are found by words. */
const mostShown = 100

interface Props {
  api: Api
  chosen: ReadonlySet<string>
  turned: ReadonlySet<string>
  onChosen(chosen: ReadonlySet<string>): void
  onTurned(turned: ReadonlySet<string>): void
}

export function Operations({ api, chosen, turned, onChosen, onTurned }: Props) {
  const [word, setWord] = useState('')
  const found = useMemo(() => {
    const parts = word.toLowerCase().split(/\s+/).filter(Boolean)
    return api.operations.filter(({ name, method, path, summary }) => {
      const text = `${name} ${method} ${path} ${summary}`.toLowerCase()
      return parts.every((part) => text.includes(part))
    })
  }, [api, word])
  const shown = found.slice(0, mostShown)
  return (
    <section className="stack" aria-label={t('Operations')}>
      <div className="row">
        <SearchField label={t('Search operations')} value={word} isFirst onChange={setWord} />
        <button
          type="button"
          disabled={found.length === 0}
          onClick={() => onChosen(new Set([...chosen, ...found.map(({ name }) => name)]))}
        >
          {word === '' ? t('Select all') : t('Select these {count}', { count: found.length })}
        </button>
        <button type="button" disabled={chosen.size === 0} onClick={() => onChosen(new Set())}>
          {t('Clear')}
        </button>
        <span className="mute" role="status">
          {t('{count} selected', { count: chosen.size })}
        </span>
      </div>
      <ul className="operations">
        {shown.map((operation) => (
          <Row
            key={operation.name}
            api={api}
            operation={operation}
            isChosen={chosen.has(operation.name)}
            asks={asksFirst(operation, turned)}
            onChoose={() => onChosen(toggled(chosen, operation.name))}
            onTurn={() => onTurned(toggled(turned, operation.name))}
          />
        ))}
      </ul>
      {found.length === 0 && <p className="mute">{t('No operation has these words.')}</p>}
      {found.length > mostShown && (
        <p className="mute">{t('{count} more: search to see them.', { count: found.length - mostShown })}</p>
      )}
    </section>
  )
}

function toggled(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(names)
  if (!next.delete(name)) next.add(name)
  return next
}

interface RowProps {
  api: Api
  operation: Operation
  isChosen: boolean
  asks: boolean
  onChoose(): void
  onTurn(): void
}

function Row({ api, operation, isChosen, asks, onChoose, onTurn }: RowProps) {
  const { name, method, path, summary } = operation
  return (
    <li>
      <label className="row check">
        <input type="checkbox" checked={isChosen} onChange={onChoose} />
        <span className="mono">{method}</span>
        <Foreign className="mono operation-path" text={path} max={100} />
        <span className="mono mute">{name}</span>
      </label>
      {summary && (
        <p className="small mute">
          <Foreign text={summary} max={160} />
        </p>
      )}
      {isChosen && (
        <>
          <label className="row check small">
            <input
              type="checkbox"
              checked={asks}
              onChange={onTurn}
              aria-label={t('A person decides about {name}', { name })}
            />
            {t('A person decides about each call')}
          </label>
          <Notes api={api} operation={operation} />
        </>
      )}
    </li>
  )
}

/** What the tool of a chosen operation leaves out, or why there is none. */
function Notes({ api, operation }: { api: Api; operation: Operation }) {
  const made = useMemo(
    () => toolOfOperation(api, operation, { base: 'https://localhost', secret: '', asksFirst: false }),
    [api, operation],
  )
  const sentences = 'why' in made ? [t('No tool can be made of it. {why}', { why: made.why })] : made.notes
  return sentences.map((sentence) => (
    <p key={sentence} className={'why' in made ? 'small tone-bad' : 'small tone-warn'}>
      <Foreign text={sentence} max={300} />
    </p>
  ))
}
