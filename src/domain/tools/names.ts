/** Names of tools: what is legal, how runtime names are made, and which of them collide. Pure. */
import { createHash } from 'node:crypto'

const maxLength = 64
const pattern = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Whether a text may name a tool, and so may be shown to every model provider as it is. */
export function isToolName(name: string): boolean {
  return pattern.test(name)
}

/**
 * The name a model sees, joined from its parts with `_`: `["github", "create_issue"]` is `github_create_issue`. Always
 * legal and always the same for the same parts. When the join is too long or holds characters that models refuse, it is
 * repaired and ends in eight hex digits of a hash of the parts, so that two different tools keep two names.
 * The way back is a map that the caller keeps; a name is never split.
 */
export function runtimeName(parts: readonly string[]): string {
  const joined = parts.join('_')
  if (isToolName(joined)) return joined
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8)
  const legal = joined.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  return `${legal.slice(0, maxLength - hash.length - 1)}_${hash}`
}

/** The names that occur more than once, each told once, in order of their first repetition. */
export function collisions(names: Iterable<string>): string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return [...repeated]
}
