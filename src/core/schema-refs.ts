/** References of JSON Schemas: made local to the schema, and copied along with a part of it. */
import { isJsonObject, type Json, type JsonObject, pointerOf } from './json.ts'
import { mapSchemas, pointerParts, refOf, resolveRef, isSchemaData, isSchemaMap } from './schema-walk.ts'

const anchors = ['$anchor', '$dynamicAnchor', '$recursiveAnchor']

/**
 * `part` with its local references resolved as in `whole`: their targets are copied unchanged into the definitions of
 * the result. Unused definitions are left out. A reference without a target stays unchanged.
 */
export function selfContained(part: JsonObject, whole: JsonObject): JsonObject {
  const copies = new Map<string, Copy>()
  const { $defs: _defs, definitions: _definitions, ...rest } = part
  const shown = repoint(rest, whole, copies) as JsonObject
  for (const [container, keyword] of [
    [collected(copies, '$defs'), '$defs'],
    [collected(copies, 'definitions'), 'definitions'],
  ] as const)
    if (Object.keys(container).length > 0) shown[keyword] = container
  return shown
}

/**
 * A root schema as a part of another one, at this pointer (`#/anyOf/0`): its references, which `localRefs` has made local, mean
 * the same there. Anchors stay.
 */
export function movedSchema(root: JsonObject, pointer: string): JsonObject {
  return mapSchemas(root, ({ $ref: ref, ...siblings }) => {
    if (typeof ref !== 'string') return siblings
    return { ...siblings, $ref: /^#(?:\/|$)/.test(ref) ? pointer + ref.slice(1) : ref }
  }) as JsonObject
}

interface Copy {
  container: '$defs' | 'definitions'
  name: string
  /** Null while the copy is made: a definition may refer to itself. */
  schema: Json | null
}

function repoint(schema: Json, whole: JsonObject, copies: Map<string, Copy>): Json {
  return mapSchemas(schema, (one) => {
    const bare = withoutAnchors(one)
    const found = refOf(bare)
    if (!found) return bare
    const copy = copies.get(found.ref) ?? makeCopy(found.ref, whole, copies)
    if (!copy) return bare
    const { [found.keyword]: _ref, ...siblings } = bare
    return { ...siblings, $ref: `#/${copy.container}/${escaped(copy.name)}` }
  })
}

function makeCopy(ref: string, whole: JsonObject, copies: Map<string, Copy>): Copy | null {
  const target = resolveRef(whole, ref)
  if (target === undefined) return null
  const copy = { ...placeOf(ref, whole, copies), schema: null as Json | null }
  copies.set(ref, copy)
  const bare = target === whole && isJsonObject(target) ? withoutDefinitions(target) : target
  copy.schema = repoint(bare, whole, copies)
  return copy
}

/** A definition keeps its name; any other target gets a neutral name. */
function placeOf(
  ref: string,
  whole: JsonObject,
  copies: Map<string, Copy>,
): Pick<Copy, 'container' | 'name'> {
  const [container, name, ...more] = ref.startsWith('#/') ? pointerParts(ref) : []
  if ((container === '$defs' || container === 'definitions') && name !== undefined && more.length === 0)
    return { container, name }
  let number = copies.size + 1
  while (resolveRef(whole, `#/$defs/shared_${number}`) !== undefined) number += 1000
  return { container: '$defs', name: `shared_${number}` }
}

function collected(copies: Map<string, Copy>, container: Copy['container']): JsonObject {
  const inside = [...copies.values()].filter((copy) => copy.container === container)
  return Object.fromEntries(inside.map((copy) => [copy.name, copy.schema]))
}

function withoutDefinitions({
  $defs: _a,
  definitions: _b,
  $schema: _c,
  $id: _d,
  ...rest
}: JsonObject): JsonObject {
  return rest
}

/** References by anchor were replaced by JSON pointers; two copies of an anchor would conflict. */
function withoutAnchors(schema: JsonObject): JsonObject {
  return anchors.some((key) => typeof schema[key] === 'string' || typeof schema[key] === 'boolean')
    ? Object.fromEntries(Object.entries(schema).filter(([key]) => !anchors.includes(key)))
    : schema
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

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
      const now = targetOf(root, ref, base, word !== '$ref', places)
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
function targetOf(
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
