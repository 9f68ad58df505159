/** The places where two JSON values differ, for people who decide about a change. */
import { isDeepSame } from './deep-same.ts'
import { isJsonNumber, isObject } from '../../../src/core/exact-json.ts'
export interface Change {
  /** The place as a path: `items[2].price`; empty for the whole value. */
  path: string
  /** Undefined: the place is new. */
  before: unknown
  /** Undefined: the place is gone. */
  after: unknown
}

/** The member itself, and not what every object has, such as `constructor`. */
const memberOf = (of: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(of, name) ? of[name] : undefined

/** Every place whose value is another, in the order of the new value. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const found: Change[] = []
  const walk = (path: string, from: unknown, to: unknown): void => {
    if (Object.is(from, to) || (isJsonNumber(from) && isDeepSame(from, to))) return
    if (isObject(from) && isObject(to)) {
      for (const key of new Set([...Object.keys(to), ...Object.keys(from)]))
        walk(path === '' ? key : `${path}.${key}`, memberOf(from, key), memberOf(to, key))
    } else if (Array.isArray(from) && Array.isArray(to)) {
      for (let at = 0; at < Math.max(from.length, to.length); at++) walk(`${path}[${at}]`, from[at], to[at])
    } else found.push({ path, before: from, after: to })
  }
  walk('', before, after)
  return found
}
