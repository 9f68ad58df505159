/** How much work a JSON Schema can make, known before it is done. */
import { isJsonObject, type JsonObject } from './json.ts'

export interface SchemaWeight {
  /**
   * Rules that one part of a value can be held against: each counts once for each way that leads to it. Infinity when a
   * way leads back to itself or cannot be followed.
   */
  rules: number
  /** Whether it has regular expressions, whose work no count tells. */
  patterns: boolean
}

/** Weighs a schema in time that grows with its size, however its references multiply. */
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
      // References below mean places in here, and not those that they would be followed to.
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

/** What a pointer (`#/…`) names; the schema itself, which makes it endless, for a reference of another form. */
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

/** The parts of a value: its members and items at every level, and one for each eight characters. Counts to `most`. */
export function weighValue(value: unknown, most: number): number {
  const rest: unknown[] = [value]
  let parts = 0
  while (rest.length > 0 && parts <= most) {
    const one = rest.pop()
    parts += 1
    if (typeof one === 'string') parts += one.length / 8
    else if (Array.isArray(one)) {
      parts += one.length
      if (parts <= most) for (const item of one) rest.push(item)
    } else if (isJsonObject(one)) for (const key in one) rest.push(one[key], key)
  }
  return parts
}
