/** Removes hidden names from schemas of property names (`propertyNames`). */
import { asText, isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import { refOf, resolveRef } from '../../../core/schema-walk.ts'

/** The same rule for all other names. A list without other names becomes `false`: no name is allowed. */
export function withoutNames(schema: Json, names: string[], root: JsonObject, trail: string[] = []): Json {
  if (!isJsonObject(schema)) return schema
  const { enum: list, const: only, pattern } = schema
  if (typeof only === 'string' && names.includes(only)) return false
  const out: JsonObject = { ...schema }
  for (const keyword of ['default', 'example', 'examples']) delete out[keyword]
  // A pattern cannot be rewritten. One that contains the name is dropped: the full schema is checked as well.
  if (typeof pattern === 'string' && names.some((name) => pattern.includes(name))) delete out['pattern']
  if (Array.isArray(list)) {
    const others = list.filter((name) => !names.includes(asText(name)))
    if (others.length === 0) return false
    out['enum'] = others
  }
  const inner = (part: Json) => withoutNames(part, names, root, trail)
  for (const keyword of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(out[keyword])) out[keyword] = out[keyword].map(inner)
  for (const keyword of ['not', 'if', 'then', 'else'])
    if (out[keyword] !== undefined) out[keyword] = inner(out[keyword])
  return withTarget(out, names, root, trail)
}

function withTarget(schema: JsonObject, names: string[], root: JsonObject, trail: string[]): Json {
  const found = refOf(schema)
  const target = found && resolveRef(root, found.ref)
  if (!found || target === undefined || target === null) return schema
  const { [found.keyword]: _ref, ...rest } = schema
  if (trail.includes(found.ref)) return rest
  const meant = withoutNames(target, names, root, [...trail, found.ref])
  const all = Array.isArray(rest['allOf']) ? rest['allOf'] : []
  return { ...rest, allOf: [...all, meant] }
}
