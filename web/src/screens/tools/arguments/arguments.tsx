/** The arguments of a tool as rows; their JSON Schema is beside them, and is shown where rows cannot say it all. */
import './arguments.css'
import { useState, type ReactNode } from 'react'
import { createPortal } from 'react-dom'
import type { Issue } from '../../../api/outcome.ts'
import { Icon } from '../../../parts/icons.tsx'
import { issuesAt, JsonField } from '../../../parts/fields.tsx'
import { Segments } from '../../../parts/segments.tsx'
import { ArgumentFields } from './row.tsx'
import { faultOf, newRow, rowsOf, textOf, withMore, type ArgumentRow, type ArgumentRows } from './rows.ts'
import { placeholdersOf, rowsOfNames } from './sample.ts'
import { SampleDialog } from './sample-dialog.tsx'
import { Faults } from '../../../parts/fault.tsx'
import { t, plural } from '../../../texts/texts.tsx'

interface Props {
  /** The text of the schema. */
  text: string
  /** `fault`: why the rows cannot be saved as they are; empty: they can. */
  onChange(text: string, fault: string): void
  /** The URL whose placeholders are arguments; none for a tool without one. */
  url: string
  /** Where the faults of the schema are, behind `input`. */
  path: readonly string[]
  issues: readonly Issue[]
}

/** A row has a key that stays while others come and go. */
type KeyedRow = ArgumentRow & { key: number }
let lastKey = 0
const keyed = (rows: readonly ArgumentRow[]): KeyedRow[] => rows.map((row) => ({ key: ++lastKey, ...row }))

export function Arguments({ text, onChange, url, path, issues }: Props) {
  const [isJson, setJson] = useState(() => 'why' in rowsOf(text))
  const read = rowsOf(text)
  const why = 'why' in read ? read.why : null
  // Rows that become possible while one types must not take the editor away.
  if (why !== null && !isJson) setJson(true)
  return (
    <section className="stack arguments-editor" aria-label={t('Arguments')}>
      <div className="row">
        <h2>{t('Arguments')}</h2>
        <span className="spread">
          <Segments
            label={t('How arguments are written')}
            value={isJson}
            options={[
              { value: false, name: t('Rows') },
              { value: true, name: 'JSON Schema' },
            ]}
            onChange={setJson}
          />
        </span>
      </div>
      {isJson || 'why' in read ? (
        <>
          {why !== null && (
            <p className="tone-warn small" role="status">
              {t('The arguments cannot be shown as rows. {why}', { why })}
            </p>
          )}
          <SchemaText text={text} path={path} issues={issues} onChange={onChange} />
        </>
      ) : (
        <RowList text={text} given={read} url={url} onChange={onChange}>
          <Faults
            of={issuesAt(issues, path).filter((one) => one.path.at(-1) !== 'argumentFault')}
            from={path.length + 1}
          />
        </RowList>
      )}
    </section>
  )
}

/** The schema as text; the editor is another one when the text was changed from outside. */
function SchemaText({ text, path, issues, onChange }: Omit<Props, 'url'>) {
  const [own, setOwn] = useState({ text, edition: 0 })
  if (own.text !== text) setOwn({ text, edition: own.edition + 1 })
  return (
    <JsonField
      key={own.edition}
      label={t('Schema of the arguments')}
      value={text}
      at={path}
      issues={issues}
      hint={t('JSON Schema, preset parameters included.')}
      onChange={(next) => {
        setOwn({ text: next, edition: own.edition })
        onChange(next, '')
      }}
    />
  )
}

interface ListProps {
  text: string
  given: ArgumentRows
  url: string
  onChange(text: string, fault: string): void
  children: ReactNode
}

function RowList({ text, given, url, onChange, children }: ListProps) {
  // A row without a name yet has no place in the schema, so the rows are kept beside its text.
  const [state, setState] = useState(() => ({ text, around: given.around, rows: keyed(given.rows) }))
  const isOwn = state.text === text
  const now = isOwn ? state : { text, around: given.around, rows: keyed(given.rows) }
  if (!isOwn) setState(now)
  const [isOpen, setOpen] = useState(false)
  const set = (rows: KeyedRow[]) => {
    const next = textOf({ rows, around: now.around })
    setState({ text: next, around: now.around, rows })
    const wrong = rows.map((row) => faultOf(row, rows)).find((fault) => fault !== null)
    onChange(next, wrong ?? '')
  }
  const add = (more: readonly ArgumentRow[]) => {
    const all = withMore({ rows: now.rows, around: now.around }, more).rows
    set([...now.rows, ...keyed(all.slice(now.rows.length))])
  }
  const missing = placeholdersOf(url).filter((name) => !now.rows.some((row) => row.name === name))
  return (
    <>
      {missing.length > 0 && (
        <p className="row proposal" role="status">
          {plural(
            missing.length,
            'The URL has {names}, which is no argument yet.',
            'The URL has {names}, which are no arguments yet.',
            { names: missing.map((name) => `{${name}}`).join(', ') },
          )}{' '}
          <button type="button" onClick={() => add(rowsOfNames(missing))}>
            <Icon name="plus" />{' '}
            {plural(missing.length, 'Add {name}', 'Add these {count}', { name: missing[0]! })}
          </button>
        </p>
      )}
      {now.rows.length === 0 && missing.length === 0 && (
        <p className="mute small">{t('No arguments yet: a call of this tool says nothing but its name.')}</p>
      )}
      <ul>
        {now.rows.map((row, at) => (
          <ArgumentFields
            key={row.key}
            row={row}
            at={at}
            fault={faultOf(row, now.rows)}
            onChange={(next) => set(now.rows.with(at, { key: row.key, ...next }))}
            onRemove={() => set(now.rows.filter((other) => other !== row))}
          />
        ))}
      </ul>
      {children}
      <div className="row">
        <button type="button" className="quiet" onClick={() => set([...now.rows, ...keyed([newRow])])}>
          <Icon name="plus" /> {t('Add an argument')}
        </button>
        <button type="button" className="quiet" onClick={() => setOpen(true)}>
          <Icon name="copy" /> {t('From an example')}
        </button>
      </div>
      {isOpen && createPortal(<SampleDialog onRows={add} onClose={() => setOpen(false)} />, document.body)}
    </>
  )
}
