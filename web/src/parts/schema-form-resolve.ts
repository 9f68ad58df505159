/** JSON Schemas with their local references and simple `allOf` put together, as far as a form can show them. Pure. */
import { isObject, writeJson } from '../../../src/core/exact-json.ts'
export type Schema = Record<string, unknown>

/** The most schemas that are put together for one field. */
const maxParts = 100

/** The schema as one object without `$ref` and `allOf`; null when a form cannot show it. */
export function resolveSchema(schema: unknown, root: Schema): Schema | null {
  const budget = { left: maxParts }
  const visit = (given: unknown, seen: readonly string[]): Schema | null => {
    if (given === true) return {}
    if (!isObject(given) || budget.left-- <= 0) return null
    const { $ref, allOf, ...own } = given
    if ($ref === undefined && allOf === undefined) return own
    const parts: (Schema | null)[] = Array.isArray(allOf) ? allOf.map((part) => visit(part, seen)) : []
    if ($ref !== undefined) {
      const isAgain = typeof $ref !== 'string' || seen.includes($ref)
      parts.push(isAgain ? null : visit(targetOf($ref, root), [...seen, $ref]))
    }
    return parts.reduceRight<Schema | null>((whole, part) => whole && part && mergeSchemas(part, whole), own)
  }
  return visit(schema, [])
}

/** What a local reference points to: `#`, or a JSON pointer behind `#`. */
function targetOf(ref: string, root: Schema): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  return ref
    .slice(2)
    .split('/')
    .map((part) => decodePart(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, part) => {
      if (Array.isArray(at)) return at[Number(part)] as unknown
      return isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
    }, root)
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Both schemas in one, `over` before `under`; null when they demand different types or values. */
export function mergeSchemas(under: Schema, over: Schema): Schema | null {
  for (const name of ['type', 'const', 'enum'])
    if (name in under && name in over && writeJson(under[name]) !== writeJson(over[name])) return null
  const whole: Schema = { ...under, ...over }
  if (isObject(under['properties']) && isObject(over['properties'])) {
    const both = { ...under['properties'], ...over['properties'] }
    for (const name of Object.keys(both))
      if (Object.hasOwn(under['properties'], name) && Object.hasOwn(over['properties'], name))
        both[name] = { allOf: [under['properties'][name], over['properties'][name]] }
    whole['properties'] = both
  }
  if (Array.isArray(under['required']) && Array.isArray(over['required']))
    whole['required'] = [
      ...new Set([...(under['required'] as unknown[]), ...(over['required'] as unknown[])]),
    ]
  return whole
}
