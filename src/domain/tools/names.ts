/** Tool names: which are valid, how runtime names are built, and which collide. Pure. */
import { createHash } from 'node:crypto'
import { writeJson } from '../../core/json.ts'

const maxLength = 64
const pattern = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Whether a text is a valid tool name, which every model provider accepts. */
export function isToolName(name: string): boolean {
  return pattern.test(name)
}

/**
 * The name that a model sees: its parts joined with `_`, so that `["github", "create_issue"]` is `github_create_issue`.
 * Always valid, and always the same for the same parts. A name that would be too long or contain characters that models
 * refuse is repaired and ends in eight hex digits of a hash of the parts, so that two tools get two names. Callers keep
 * a map from names to callables; a name is never split.
 */
export function runtimeName(parts: readonly string[]): string {
  const joined = parts.join('_')
  if (isToolName(joined)) return joined
  const hash = createHash('sha256').update(writeJson(parts)).digest('hex').slice(0, 8)
  const legal = joined.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  return `${legal.slice(0, maxLength - hash.length - 1)}_${hash}`
}

/** The names that occur more than once, each once, in order of their first repetition. */
export function collisions(names: Iterable<string>): string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return [...repeated]
}
