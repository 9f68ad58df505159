/** The values that a schema lists, as every provider takes them: of one type, which is the schema's. Pure. */
import { isJsonNumber, type Json, type JsonObject } from '../../../core/json.ts'

/**
 * Values of several types become one alternative for each type; those of no type of the schema, lists and objects are left out.
 * When nothing is left every value is allowed.
 */
export function typedValues(schema: JsonObject): JsonObject {
  const { enum: several, const: one, ...rest } = schema
  const values = Array.isArray(several) ? several : one === undefined ? [] : [one]
  if (values.length === 0) return schema
  const byType = new Map<string, Json[]>()
  for (const value of values) {
    const type = typeOf(value, rest['type'])
    if (type !== null) byType.set(type, [...(byType.get(type) ?? []), value])
  }
  const types = [...byType.keys()].filter((type) => type !== 'null')
  const kept = [...byType.values()].flat()
  if (types.length <= 1 && kept.length === values.length) return schema
  if (types.length <= 1) return kept.length > 0 ? { ...rest, enum: kept } : rest
  if (rest['anyOf'] !== undefined) return rest
  const { type: _all, ...others } = rest
  const anyOf = [...byType].map(([type, listed]) => (type === 'null' ? { type } : { type, enum: listed }))
  return { ...others, anyOf }
}

/** The type of a value that no other keyword describes; null when the schema does not allow it. */
function typeOf(value: Json, declared: Json | undefined): string | null {
  const type = value === null ? 'null' : isJsonNumber(value) ? 'number' : typeof value
  if (!['null', 'number', 'string', 'boolean'].includes(type)) return null
  const allowed = declared === undefined ? [type] : [declared].flat()
  if (allowed.includes(type)) return type
  return type === 'number' && allowed.includes('integer') && Number.isInteger(value) ? 'integer' : null
}
