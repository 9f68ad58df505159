/** Arguments that are never shown: what the schema marks with `writeOnly: true` or `format: "password"`. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

/** What stands in place of a masked value. */
export const mask = '[masked]'

const maxHops = 10
const namesOf = new WeakMap<JsonObject, Set<string>>()

/**
 * The places in the arguments that must not be shown, as paths. A marked property is masked wherever an argument has
 * its name, however deep: rather one value too many than one too few.
 */
export function maskedPaths(schema: JsonObject, args: Json): string[][] {
  let names = namesOf.get(schema)
  if (!names) namesOf.set(schema, (names = markedNames(schema)))
  return names.size === 0 ? [] : pathsOf(args, names)
}

/** A copy with the values at these paths masked. */
export function masked<T extends Json>(value: T, paths: readonly string[][] | null): T {
  if (!paths || paths.length === 0) return value
  const copy = structuredClone(value)
  for (const path of paths) {
    let at: Json | undefined = copy
    for (const key of path.slice(0, -1)) at = (at as Record<string, Json> | undefined)?.[key]
    const last = path.at(-1)!
    if (typeof at === 'object' && at !== null && Object.hasOwn(at, last))
      Object.defineProperty(at, last, { value: mask, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

function pathsOf(value: Json, names: Set<string>): string[][] {
  const found: string[][] = []
  const stack: { value: Json; path: string[] }[] = [{ value, path: [] }]
  while (stack.length > 0) {
    const { value: here, path } = stack.pop()!
    if (typeof here !== 'object' || here === null) continue
    for (const [key, item] of Object.entries(here)) {
      const place = [...path, key]
      if (!Array.isArray(here) && names.has(key)) found.push(place)
      else stack.push({ value: item, path: place })
    }
  }
  return found
}

/** The names of all properties, anywhere in the schema, whose own schema is marked. */
function markedNames(schema: JsonObject): Set<string> {
  const names = new Set<string>()
  const stack: Json[] = [schema]
  while (stack.length > 0) {
    const here = stack.pop()!
    if (typeof here !== 'object' || here === null) continue
    if (isJsonObject(here) && isJsonObject(here['properties']))
      for (const [name, property] of Object.entries(here['properties']))
        if (isMarked(property, schema)) names.add(name)
    stack.push(...Object.values(here))
  }
  return names
}

function isMarked(property: Json, root: JsonObject): boolean {
  let here: Json | undefined = property
  for (let hop = 0; hop < maxHops && isJsonObject(here); hop++) {
    if (here['writeOnly'] === true || here['format'] === 'password') return true
    const target: Json | undefined = here['$ref']
    if (typeof target !== 'string' || !target.startsWith('#/')) return false
    here = target
      .slice(2)
      .split('/')
      .reduce<Json | undefined>(
        (at, key) =>
          isJsonObject(at)
            ? at[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')]
            : undefined,
        root,
      )
  }
  return false
}
