/** Where two JSON values differ. Pure. */
import { ExactNumber, isJsonObject, pointerOf, type Json } from './json.ts'

/** A place whose value differs; a side is undefined where the place does not exist. */
export interface JsonChange {
  /** A JSON Pointer (RFC 6901); empty for the whole value. */
  path: string
  before: Json | undefined
  after: Json | undefined
}

/** The places that differ, the deepest ones, in the order of the later value; at most `max`. */
export function changesBetween(before: Json, after: Json, max: number): JsonChange[] {
  const found: JsonChange[] = []
  const walk = (path: readonly string[], from: Json | undefined, to: Json | undefined): void => {
    if (found.length >= max || from === to || isSameNumber(from, to)) return
    const keys = keysOf(from, to)
    if (keys === null) found.push({ path: pointerOf(path), before: from, after: to })
    else for (const key of keys) walk([...path, key], memberOf(from, key), memberOf(to, key))
  }
  walk([], before, after)
  return found
}

function isSameNumber(a: Json | undefined, b: Json | undefined): boolean {
  return a instanceof ExactNumber && b instanceof ExactNumber && a.digits === b.digits
}

/** The members of two objects or two lists; null when the values are not both of one of these. */
function keysOf(from: Json | undefined, to: Json | undefined): string[] | null {
  if (Array.isArray(from) && Array.isArray(to))
    return Array.from({ length: Math.max(from.length, to.length) }, (_, i) => String(i))
  if (isJsonObject(from) && isJsonObject(to)) return [...new Set([...Object.keys(to), ...Object.keys(from)])]
  return null
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)]
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
