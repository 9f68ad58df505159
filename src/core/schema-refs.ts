/**
 * Makes a schema that was cut out of another one self-contained: copies the targets of its references to its `$defs`.
 */
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { mapSchemas, pointerParts, refOf, resolveRef } from './schema-walk.ts'

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
