/**
 * Makes every reference of a schema a JSON pointer into this schema. `$dynamicRef`, `$recursiveRef` and schemas inside with an
 * `$id` mean the same then, and every validator reads them: most know only part of these words. Pure.
 */
import { isJsonObject, pointerOf, type Json, type JsonObject } from './json.ts'
import { isSchemaData, isSchemaMap, resolveRef } from './schema-walk.ts'

const words = ['$ref', '$dynamicRef', '$recursiveRef'] as const
const addresses = ['$id', '$anchor', '$dynamicAnchor', '$recursiveAnchor']

/** The address of a root without an `$id`. */
const nowhere = 'schema:/'

/** A pointer as the fragment of a reference. */
const fragmentOf = (path: string[]) => encodeURI(pointerOf(path).toWellFormed()).replaceAll('#', '%23')

/** Pointers of what references name. The name of an anchor is empty for `$recursiveAnchor`. */
interface Places {
  /** The address of the root. */
  root: string
  resources: Map<string, string>
  /** By address and name. */
  anchors: Map<string, string>
  /** By name, then by address: anchors that the schemas around a reference choose. */
  dynamic: Map<string, Map<string, string>>
  /** Whether all references are local already: the schema can stay as it is. */
  isLocal: boolean
}

/**
 * The schema with `$ref` alone, each a pointer from the root (`#/…`), and without the addresses and anchors that nothing needs
 * then. A schema that has pointers and anchors of its own `$ref` alone is returned itself. `changed` is called with each
 * reference that is written otherwise, and with what it is now: undefined when it leads nowhere, or to different places by the
 * way a value took. That one is left out, so that it allows everything.
 */
export function localRefs(
  root: JsonObject,
  changed: (before: string, now: string | undefined) => void = () => {},
): JsonObject {
  const places = placesIn(root)
  if (places.isLocal) return root
  return mapWithPlaces(root, nowhere, [], (schema, base) => {
    const found = words.flatMap((word) => {
      const ref = schema[word]
      if (typeof ref !== 'string') return []
      const now = placeOf(root, ref, base, word !== '$ref', places)
      if (now !== ref) changed(ref, now)
      return now === undefined ? [] : [now]
    })
    for (const word of [...addresses, ...words]) delete schema[word]
    const [first, ...others] = found
    if (first !== undefined) schema['$ref'] = first
    if (others.length === 0) return
    const all = Array.isArray(schema['allOf']) ? schema['allOf'] : []
    schema['allOf'] = [...all, ...others.map(($ref) => ({ $ref }))]
  })
}

function placesIn(root: JsonObject): Places {
  const places: Places = {
    root: addressOf(root, nowhere),
    resources: new Map([[nowhere, '']]),
    anchors: new Map(),
    dynamic: new Map(),
    isLocal: true,
  }
  mapWithPlaces(root, nowhere, [], (schema, base, path) => {
    const { $id: id, $ref: ref } = schema
    const pointer = fragmentOf(path)
    if (typeof id === 'string' && !isAnchor(id)) places.resources.set(base, pointer)
    if (typeof id === 'string' && (isAnchor(id) || path.length > 0)) places.isLocal = false
    if (words.some((word) => typeof schema[word] === 'string' && word !== '$ref')) places.isLocal = false
    if (typeof ref === 'string' && !ref.startsWith('#')) places.isLocal = false
    for (const name of [schema['$anchor'], schema['$dynamicAnchor'], anchorOf(id)])
      if (typeof name === 'string') places.anchors.set(`${base}#${name}`, pointer)
    const dynamic = schema['$recursiveAnchor'] === true ? '' : schema['$dynamicAnchor']
    if (typeof dynamic !== 'string') return
    const known = places.dynamic.get(dynamic) ?? new Map<string, string>()
    places.dynamic.set(dynamic, known.set(base, pointer))
  })
  return places
}

/** Where a reference leads: a local one, or undefined. */
function placeOf(
  root: JsonObject,
  ref: string,
  base: string,
  isDynamic: boolean,
  places: Places,
): string | undefined {
  const [relative, fragment = ''] = ref.split('#', 2) as [string, string?]
  const address = relative === '' ? base : resolved(relative, base)
  const resource = places.resources.get(address)
  const known = isDynamic ? places.dynamic.get(fragment) : undefined
  if (known?.has(address)) {
    // The outermost schema that has the anchor counts. The root is around everything.
    const outermost = known.get(places.root) ?? (known.size === 1 ? known.get(address) : undefined)
    return outermost === undefined ? undefined : `#${outermost}`
  }
  if (resource !== undefined) {
    if (fragment === '' || fragment.startsWith('/')) return `#${resource}${fragment}`
    const anchor = places.anchors.get(`${address}#${fragment}`)
    return anchor === undefined ? undefined : `#${anchor}`
  }
  return ['$defs', 'definitions']
    .map((container) => `#${fragmentOf([container, ref])}`)
    .find((one) => resolveRef(root, one) !== undefined)
}

/** An `$id` that is only a fragment is an anchor of old drafts. */
const isAnchor = (id: string) => id.startsWith('#')
const anchorOf = (id: Json | undefined) => (typeof id === 'string' && isAnchor(id) ? id.slice(1) : undefined)

function addressOf({ $id: id }: JsonObject, base: string): string {
  return typeof id === 'string' && !isAnchor(id) ? resolved(id, base) : base
}

function resolved(address: string, base: string): string {
  return URL.canParse(address, base) ? new URL(address, base).href.replace(/#$/, '') : address
}

/** A copy in which `visit` has seen, and may have changed, each schema, with the address it is in and its path. */
function mapWithPlaces(
  root: JsonObject,
  base: string,
  path: string[],
  visit: (schema: JsonObject, base: string, path: string[]) => void,
): JsonObject {
  const walk = (node: Json, around: string, at: string[]): Json => {
    if (Array.isArray(node)) return node.map((one, i) => walk(one, around, [...at, String(i)]))
    if (!isJsonObject(node)) return node
    const own = addressOf(node, around)
    const made = Object.entries(node).map(([key, value]): [string, Json] => {
      if (isSchemaData(key)) return [key, value]
      if (!isSchemaMap(key) || !isJsonObject(value)) return [key, walk(value, own, [...at, key])]
      const inner = Object.entries(value).map(([name, one]) => [name, walk(one, own, [...at, key, name])])
      return [key, Object.fromEntries(inner) as JsonObject]
    })
    const copy = Object.fromEntries(made)
    visit(copy, own, at)
    return copy
  }
  return walk(root, base, path) as JsonObject
}
