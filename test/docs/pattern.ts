/** How an answer in a document is compared with a real one, and where the ids in a request come from. */
import type { Json } from '../../src/core/json.ts'

const anything = '…'

/**
 * Null when the real answer fits: `…` stands for any text, every field of the pattern must be there, further fields may
 * be, and a list is as long as the pattern's unless that ends with "…". Otherwise the place and what differs.
 */
export function mismatch(pattern: Json, real: Json | undefined, path = 'answer'): string | null {
  if (pattern === anything) return real === undefined ? `${path} is missing` : null
  if (typeof pattern === 'string' && typeof real === 'string')
    return textFits(pattern, real) ? null : differs(path, pattern, real)
  if (Array.isArray(pattern) && Array.isArray(real)) {
    const open = pattern.at(-1) === anything
    const wanted = open ? pattern.slice(0, -1) : pattern
    if (open ? real.length < wanted.length : real.length !== wanted.length)
      return `${path} has ${real.length} entries: ${JSON.stringify(real)}`
    return first(wanted.map((one, i) => () => mismatch(one, real[i], `${path}[${i}]`)))
  }
  if (isObject(pattern) && isObject(real))
    return first(
      Object.keys(pattern).map((key) => () => mismatch(pattern[key]!, real[key], `${path}.${key}`)),
    )
  return pattern === real ? null : differs(path, pattern, real)
}

/** Whether a text fits a pattern in which `…` stands for anything; spaces at the ends of lines do not count. */
export function textFits(pattern: string, real: string): boolean {
  const tidy = (text: string) => text.replace(/[ \t]+$/gm, '').trim()
  const parts = tidy(pattern).split(anything)
  const expression = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\s\\S]*')
  return new RegExp(`^${expression}$`).test(tidy(real))
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const differs = (path: string, pattern: Json, real: Json | undefined) =>
  `${path} is ${JSON.stringify(real)}, the document says ${JSON.stringify(pattern)}`

function first(checks: (() => string | null)[]): string | null {
  for (const check of checks) {
    const found = check()
    if (found) return found
  }
  return null
}

/** Ids and keys, and signing secrets, which are in base64. */
const ids = [/\b([a-z]{2,9})_[A-Za-z0-9_-]{20,}/g, /\b(whsec)_[A-Za-z0-9+/]{20,}=*/g]

/** The ids of earlier answers. A document writes `gen_…` for the newest generation, `tool_…  # name` for a tool by name. */
export class SeenIds {
  readonly #newest = new Map<string, string>()
  readonly #named = new Map<string, string>()

  /** Remembers every id of an answer, and the names that stand beside them. */
  note(answer: Json | undefined): void {
    if (typeof answer === 'string') this.noteText(answer)
    else if (Array.isArray(answer)) answer.forEach((one) => this.note(one))
    else if (isObject(answer)) {
      const { id: own, name } = answer
      if (typeof own === 'string' && typeof name === 'string')
        this.#named.set(`${own.split('_')[0]} ${name}`, own)
      Object.values(answer).forEach((one) => this.note(one))
    }
  }

  /** The same for words that a program has printed. */
  noteText(text: string): void {
    for (const [whole, prefix] of ids.flatMap((id) => [...text.matchAll(id)]))
      this.#newest.set(prefix!, whole)
  }

  /** The text with an id in the place of each `prefix_…`. Throws when there was none. */
  fill(text: string): string {
    return text
      .split('\n')
      .map((line) => {
        const name = /#\s*([\w-]+)\s*$/.exec(line)?.[1]
        return line.replace(/\b([a-z]{2,9})_…/g, (written, prefix: string) => {
          const found =
            (name === undefined ? undefined : this.#named.get(`${prefix} ${name}`)) ??
            this.#newest.get(prefix)
          if (found === undefined) throw new Error(`no earlier answer has an id for ${written}`)
          return found
        })
      })
      .join('\n')
  }
}
