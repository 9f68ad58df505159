/**
 * Makes a schema that was cut out of another one self-contained: copies the targets of its references to its `$defs`.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { mapSchemas, pointerParts, refOf, resolveRef } from './schema-walk.ts'

const anchors = ['$anchor', '$dynamicAnchor', '$recursiveAnchor']

/**
 * `part` with its local references resolved as in `whole`: their targets are copied unchanged into the definitions of
 * the result. Unused definitions are left out. A reference without a target stays unchanged.
 */
export function withHomes(part: JsonObject, whole: JsonObject): JsonObject {
  const homes = new Map<string, Home>()
  const { $defs: _defs, definitions: _definitions, ...rest } = part
  const shown = rehome(rest, whole, homes) as JsonObject
  for (const [container, keyword] of [
    [collected(homes, '$defs'), '$defs'],
    [collected(homes, 'definitions'), 'definitions'],
  ] as const)
    if (Object.keys(container).length > 0) shown[keyword] = container
  return shown
}

interface Home {
  container: '$defs' | 'definitions'
  name: string
  /** Null while the copy is made: a definition may refer to itself. */
  schema: Json | null
}

function rehome(schema: Json, whole: JsonObject, homes: Map<string, Home>): Json {
  return mapSchemas(schema, (one) => {
    const bare = withoutAnchors(one)
    const found = refOf(bare)
    if (!found) return bare
    const home = homes.get(found.ref) ?? makeHome(found.ref, whole, homes)
    if (!home) return bare
    const { [found.keyword]: _ref, ...siblings } = bare
    return { ...siblings, $ref: `#/${home.container}/${escaped(home.name)}` }
  })
}

function makeHome(ref: string, whole: JsonObject, homes: Map<string, Home>): Home | null {
  const target = resolveRef(whole, ref)
  if (target === undefined) return null
  const home = { ...address(ref, whole, homes), schema: null as Json | null }
  homes.set(ref, home)
  const bare = target === whole && isJsonObject(target) ? withoutDefinitions(target) : target
  home.schema = rehome(bare, whole, homes)
  return home
}

/** A definition keeps its name; any other target gets a neutral name. */
function address(ref: string, whole: JsonObject, homes: Map<string, Home>): Pick<Home, 'container' | 'name'> {
  const [container, name, ...more] = ref.startsWith('#/') ? pointerParts(ref) : []
  if ((container === '$defs' || container === 'definitions') && name !== undefined && more.length === 0)
    return { container, name }
  let number = homes.size + 1
  while (resolveRef(whole, `#/$defs/shared_${number}`) !== undefined) number += 1000
  return { container: '$defs', name: `shared_${number}` }
}

function collected(homes: Map<string, Home>, container: Home['container']): JsonObject {
  const inside = [...homes.values()].filter((home) => home.container === container)
  return Object.fromEntries(inside.map((home) => [home.name, home.schema]))
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
