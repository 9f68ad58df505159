/**
 * The order of the names in objects. JSON gives it no meaning and jsonb does not keep it; people read arguments in it, so it is
 * stored beside them. It never decides anything: a name that an order lacks comes last, one that is gone is skipped.
 */
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { resolveRef, refOf } from './schema-walk.ts'

/** The names of an object where jsonb has them in another order, else null; and the orders inside, by name or index. */
export type KeyOrder = [names: string[] | null, inside: [key: string | number, order: KeyOrder][]]

/** The most objects and lists of a value whose order is kept, and the deepest. */
const most = 2000
const deepest = 50

/**
 * What jsonb loses of the order of names in a value; null when it loses nothing. `counts`: whether the order of an object
 * matters, by the name under which it stands.
 */
export function keyOrderOf(
  value: Json,
  counts: (key: string | number | null) => boolean = () => true,
): KeyOrder | null {
  let left = most
  const orderOf = (one: Json, key: string | number | null, depth: number): KeyOrder | null => {
    if (typeof one !== 'object' || one === null || depth > deepest || left-- <= 0) return null
    const names = isJsonObject(one) ? Object.keys(one) : null
    const parts: [string | number, Json][] = Array.isArray(one)
      ? [...one.slice(0, left).entries()]
      : (names ?? []).map((name) => [name, (one as JsonObject)[name]!])
    const inside = parts.flatMap(([at, part]): KeyOrder[1] => {
      const order = orderOf(part, at, depth + 1)
      return order ? [[at, order]] : []
    })
    const isLost = counts(key) && names !== null && !isOrderOfJsonb(names)
    return isLost || inside.length > 0 ? [isLost ? names : null, inside] : null
  }
  return orderOf(value, null, 1)
}

/** In which order people see arguments: that of their schema, then of their caller. Null: that of jsonb. */
export function argumentOrderOf(args: JsonObject | null, schema: JsonObject | undefined): KeyOrder | null {
  return args && keyOrderOf(schema ? inSchemaOrder(args, schema) : args)
}

/** What jsonb loses of a schema that people see: the order of its properties. */
export function schemaOrderOf(schema: Json): KeyOrder | null {
  return keyOrderOf(schema, (key) => key === 'properties')
}

function isOrderOfJsonb(names: readonly string[]): boolean {
  return names.every((name, at) => at === 0 || compareAsJsonb(names[at - 1]!, name) < 0)
}

/** jsonb has the shorter names first, and those of one length by their bytes. */
function compareAsJsonb(one: string, other: string): number {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length - b.length || a.compare(b)
}

/** The value with its names in this order, as far as they are in both. */
export function inKeyOrder<Value extends Json>(value: Value, order: KeyOrder | null | undefined): Value
export function inKeyOrder(value: Json, order: KeyOrder | null | undefined): Json {
  if (!order) return value
  const [names, parts] = order
  if (Array.isArray(value)) {
    const inside = new Map(parts)
    return value.map((one, at) => inKeyOrder(one, inside.get(at)))
  }
  return isJsonObject(value) ? rebuilt(value, names ?? [], new Map(parts)) : value
}

function rebuilt(
  value: JsonObject,
  names: readonly string[],
  inside: ReadonlyMap<string | number, KeyOrder>,
): JsonObject {
  const known = names.filter((name) => Object.hasOwn(value, name))
  const all = new Set([...known, ...Object.keys(value)])
  return Object.fromEntries([...all].map((name) => [name, inKeyOrder(value[name]!, inside.get(name))]))
}

/**
 * Arguments in the order of their schema, then of their caller: at each level the names of `properties` first, through
 * `items` and local references.
 */
export function inSchemaOrder<Value extends Json>(value: Value, schema: JsonObject): Value {
  const targets = new Map<string, JsonObject>()
  const targetOf = (one: Json | undefined): JsonObject => {
    if (!isJsonObject(one)) return {}
    const ref = isJsonObject(one['properties']) ? null : refOf(one)?.ref
    if (!ref) return one
    if (!targets.has(ref)) targets.set(ref, (resolveRef(schema, ref) ?? {}) as JsonObject)
    return targets.get(ref)!
  }
  const arranged = (part: Json, own: Json | undefined, depth: number): Json => {
    if (typeof part !== 'object' || part === null || depth > deepest) return part
    const { properties, items } = targetOf(own)
    if (Array.isArray(part))
      return isJsonObject(items) ? part.map((one) => arranged(one, items, depth + 1)) : part
    if (!isJsonObject(part) || !isJsonObject(properties)) return part
    const known = Object.keys(properties).filter((name) => Object.hasOwn(part, name))
    const schemaOf = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : undefined)
    const names = [...new Set([...known, ...Object.keys(part)])]
    return Object.fromEntries(names.map((name) => [name, arranged(part[name]!, schemaOf(name), depth + 1)]))
  }
  return arranged(value, schema, 1) as Value
}
