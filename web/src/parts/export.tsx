/** A list as a file, CSV or JSON: all that it is narrowed to, as far as a file may go. */
import { useEffect, useRef, useState } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import { mostRows } from '../api/all-pages.ts'
import { csvOf } from './csv.ts'
import { saveFile } from './save-file.ts'
import { Failure } from './states.tsx'
import { t } from '../texts/texts.tsx'

interface Props<Node> {
  /** The name of the file without its ending. */
  name: string
  /** The columns of CSV; JSON has the rows as they were read. */
  columns: readonly { name: string; of(node: Node): unknown }[]
  read(reading: {
    signal: AbortSignal
    onRead(count: number): void
  }): Promise<{ nodes: Node[]; isCut: boolean }>
}

type Kind = 'csv' | 'json'
const types: Record<Kind, string> = { csv: 'text/csv;charset=utf-8', json: 'application/json' }

export function Export<Node>({ name, columns, read }: Props<Node>) {
  const [count, setCount] = useState<number | null>(null)
  const [told, setTold] = useState<{ text: string } | { error: unknown } | null>(null)
  const run = useRef<AbortController | null>(null)
  useEffect(() => () => run.current?.abort(), [])
  const start = async (kind: Kind) => {
    const own = new AbortController()
    run.current = own
    setCount(0)
    setTold(null)
    try {
      const { nodes, isCut } = await read({ signal: own.signal, onRead: setCount })
      if (own.signal.aborted) return
      saveFile(`${name}.${kind}`, types[kind], textOf(kind, columns, nodes))
      setTold({
        text: isCut
          ? t(
              'The file has the first {count} rows; a file has at most {most}. Narrow the list for the rest.',
              { count: nodes.length, most: mostRows },
            )
          : t('The file has {count} rows.', { count: nodes.length }),
      })
    } catch (error) {
      setTold(own.signal.aborted ? { text: t('Cancelled: no file was written.') } : { error })
    } finally {
      if (run.current === own) setCount(null)
    }
  }
  return (
    <div className="row" role="group" aria-label={t('Export')}>
      {count === null ? (
        (['csv', 'json'] as const).map((kind) => (
          <button key={kind} type="button" className="quiet" onClick={() => void start(kind)}>
            {t('Export {kind}', { kind: kind.toUpperCase() })}
          </button>
        ))
      ) : (
        <button type="button" onClick={() => run.current?.abort()}>
          {t('Cancel the export')}
        </button>
      )}
      <output className="small mute">
        {count !== null ? t('{count} rows read …', { count }) : told && 'text' in told ? told.text : ''}
      </output>
      {told && 'error' in told && <Failure error={told.error} />}
    </div>
  )
}

function textOf<Node>(kind: Kind, columns: Props<Node>['columns'], nodes: readonly Node[]): string {
  if (kind === 'json') return `${writeJson(nodes, 2)}\n`
  return csvOf(
    columns.map((column) => column.name),
    nodes.map((node) => columns.map((column) => column.of(node))),
  )
}
