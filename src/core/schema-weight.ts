/** Estimates how much work a JSON Schema and a value can cause before the value is validated. */
import { isJsonObject, walkJson, type JsonObject } from './json.ts'

export interface SchemaWeight {
  /**
   * Rules that can apply to one part of a value: each counts once for each path of references that leads to it.
   * Infinity when a path is circular or cannot be followed.
   */
  rules: number
  /** Whether it has regular expressions, whose cost cannot be estimated. */
  patterns: boolean
}

/** Counts the rules of a schema in time linear in its size, also when its references multiply. */
export function weighSchema(schema: JsonObject): SchemaWeight {
  const weight = { rules: 0, patterns: false }
  const known = new Map<unknown, number>()
  const open = new Set<unknown>()
  const weigh = (node: unknown): number => {
    if (typeof node !== 'object' || node === null) return 1
    if (open.has(node)) return Infinity
    const before = known.get(node)
    if (before !== undefined) return before
    open.add(node)
    let rules = 1
    for (const [key, value] of Object.entries(node)) {
      // References below a nested $id are relative to that schema, which `target` does not follow.
      if (key === '$id' && typeof value === 'string' && node !== schema) rules = Infinity
      if (key === 'patternProperties' || (key === 'pattern' && typeof value === 'string'))
        weight.patterns = true
      rules += isReference(key) && typeof value === 'string' ? weigh(target(schema, value)) : weigh(value)
    }
    open.delete(node)
    known.set(node, rules)
    return rules
  }
  weight.rules = weigh(schema)
  return weight
}

const isReference = (key: string) => key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef'

/** What a JSON Pointer (`#/…`) names. For any other reference the schema itself, which counts as circular. */
function target(schema: JsonObject, ref: string): unknown {
  if (!ref.startsWith('#/')) return schema
  let at: unknown = schema
  for (const part of ref.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) at = at[Number(name)]
    else at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : schema
  }
  return at
}

/**
 * The parts of a value: its members and items at every level, and one for each eight characters. Stops above `most`.
 */
export function weighValue(value: unknown, most: number): number {
  let parts = 0
  walkJson(value, (one, _depth, key) => {
    parts += 1
    if (key !== null) parts += 1 + key.length / 8
    if (typeof one === 'string') parts += one.length / 8
    else if (Array.isArray(one)) parts += one.length
    return parts <= most
  })
  return parts
}
