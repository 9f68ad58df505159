/** Builds the text of a statement out of its parts, several times as fast as Drizzle builds it. */
import { SQL, StringChunk } from 'drizzle-orm'

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
export function rendered(statement: SQL): SQL {
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
