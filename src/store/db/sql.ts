/**
 * The tag for statements, and their text. Both make what Drizzle makes, at a fraction of the cost: the texts between
 * the values are made once.
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

/** A statement whose text and parameters are known. */
class RenderedSQL extends SQL {
  readonly #text: string
  readonly #parameters: unknown[]

  constructor(text: string, parameters: unknown[]) {
    super([new StringChunk(text)])
    this.#text = text
    this.#parameters = parameters
  }

  override toQuery(): { sql: string; params: unknown[] } {
    return { sql: this.#text, params: this.#parameters }
  }
}

/**
 * The same statement with its text built. Statements of texts, plain values, lists and other statements are built here, as
 * Drizzle's dialect of PostgreSQL would; a statement with any other part, such as a column, is returned as it is.
 */
export function render(statement: SQL): SQL {
  const parameters: unknown[] = []
  const text = textOf(statement, parameters)
  return text === null ? statement : new RenderedSQL(text, parameters)
}

function textOf(statement: SQL, parameters: unknown[]): string | null {
  // A subclass, or a statement with its values inlined, is built in a way of its own.
  if (
    statement.constructor !== SQL ||
    (statement as unknown as { shouldInlineParams: boolean }).shouldInlineParams
  )
    return null
  let text = ''
  for (const part of statement.queryChunks) {
    const more = textOfPart(part, parameters)
    if (more === null) return null
    text += more
  }
  return text
}

function textOfPart(part: unknown, parameters: unknown[]): string | null {
  if (part instanceof StringChunk) return part.value.length === 1 ? part.value[0]! : part.value.join('')
  if (part instanceof SQL) return textOf(part, parameters)
  if (part === undefined) return ''
  if (Array.isArray(part)) return listOf(part, parameters)
  if (part !== null && typeof part === 'object') return null
  return `$${parameters.push(part)}`
}

function listOf(values: readonly unknown[], parameters: unknown[]): string | null {
  const texts: string[] = []
  for (const value of values) {
    const text = textOfPart(value, parameters)
    if (text === null) return null
    texts.push(text)
  }
  return `(${texts.join(', ')})`
}
