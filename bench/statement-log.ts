/** Reads the log of a PostgreSQL server with log_statement=all: which statements ran, and how large they were. */
import { oneLine } from '../test/support/one-line.ts'

/** Server settings that write the log read here: the application between two `@` before every entry. */
export const logSettings = { log_statement: 'all', log_line_prefix: '@%a@', log_parameter_max_length: '-1' }

export interface LoggedStatement {
  application: string
  /** False when it was planned anew: it had no name. */
  prepared: boolean
  /** In one line. */
  text: string
  /** Bytes of the text and the logged parameters. */
  bytes: number
}

const statement = /^@([^@]*)@LOG:\s+(?:execute (\S+)|statement): ([\s\S]*)$/
const parameters = /^@[^@]*@DETAIL:\s+(?:P|p)arameters: ([\s\S]*)$/

/** The statements of a log in their order. Lines that begin with a tab continue the entry before them. */
export function statementsOf(log: string): LoggedStatement[] {
  const found: LoggedStatement[] = []
  for (const entry of log.replaceAll('\n\t', '\u0000').split('\n')) {
    const lines = entry.replaceAll('\u0000', '\n')
    const [, application, name, text] = statement.exec(lines) ?? []
    if (text !== undefined) {
      const prepared = name !== undefined && name !== '<unnamed>'
      found.push({ application: application!, prepared, text: oneLine(text), bytes: Buffer.byteLength(text) })
      continue
    }
    const values = parameters.exec(lines)?.[1]
    if (values !== undefined && found.length > 0) found.at(-1)!.bytes += Buffer.byteLength(values)
  }
  return found
}

/** What a statement does, for grouping: its verb and the tables that it names, such as `update generations, events`. */
export function labelOf(text: string): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/\bextract ?\([^)]*\)|\bfor (?:no key )?update\b|\bdo update\b/g, ' ')
  const verb = ['insert', 'update', 'delete', 'select'].find((one) => plain.includes(`${one} `))
  if (!verb) return plain.split(' ')[0]!
  const named = [...plain.matchAll(/\b(?:from|into|update|join) ([a-z_]+)/g)].map((match) => match[1]!)
  const parts = new Set(
    [...plain.matchAll(/\b([a-z_]+) (?:\([^()]*\) )?as (?:not materialized |materialized )?\(/g)].map(
      (match) => match[1]!,
    ),
  )
  const words = new Set(['lateral', 'select', 'set', 'unnest', 'jsonb_to_recordset', 'generate_series'])
  const tables = new Set(named.filter((name) => !parts.has(name) && !words.has(name)))
  if (tables.size > 0) return `${verb} ${[...tables].slice(0, 4).join(', ')}`
  return `${verb} ${/\b([a-z_]+) ?\(/.exec(plain)?.[1] ?? ''}`.trim()
}
