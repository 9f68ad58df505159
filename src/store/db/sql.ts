/**
 * The tag for statements. It makes what Drizzle's own tag makes, at a fraction of the cost: the texts between the values
 * are made once for each place in the source, and no value is searched for tables, which only Drizzle's cache needs.
 */
import { SQL, StringChunk, type SQLChunk } from 'drizzle-orm'

const textsOf = new WeakMap<TemplateStringsArray, readonly StringChunk[]>()

function tag<T>(strings: TemplateStringsArray, ...values: unknown[]): SQL<T> {
  let texts = textsOf.get(strings)
  if (!texts) textsOf.set(strings, (texts = strings.map((text) => new StringChunk(text))))
  const parts: SQLChunk[] = []
  // Drizzle searches the parts that its constructor gets: these come after it.
  const statement = new SQL<T>(parts)
  parts.push(texts[0]!)
  for (let i = 0; i < values.length; i++) parts.push(values[i] as SQLChunk, texts[i + 1]!)
  return statement
}

/** Text that is part of a statement as it is: never what somebody has sent. */
function raw(text: string): SQL {
  return new SQL([new StringChunk(text)])
}

/** The parts one after another, with `between` between them. */
function join(list: readonly SQLChunk[], between?: SQL): SQL {
  const parts: SQLChunk[] = []
  const statement = new SQL(parts)
  for (const [i, part] of list.entries()) {
    if (between && i > 0) parts.push(between)
    parts.push(part)
  }
  return statement
}

/**
 * A statement, or a part of one, with its values as parameters:
 * ```ts
 * sql`select 1 from generations where id = ${id}`
 * ```
 */
export const sql = Object.assign(tag, { raw, join })
export { SQL }
