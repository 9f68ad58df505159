/** Values for a JSON Schema of a tool: one with everything, one with as little as it may have, and variants that break rules. */

type Schema = Record<string, any>

const formats: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T10:00:00Z',
  email: 'a@example.com',
  uri: 'https://example.com/a',
  uuid: '7d444840-9dc0-41d1-b245-5ffdce74fad2',
}
const wrong = [null, true, 7, -1.5, 'x', '', [], [1], {}, { a: 1 }]

/** At most some hundreds. Whether they fit is for validators to say: not every rule of the schema is followed. */
export function samplesFor(schema: Schema): unknown[] {
  const full = valueFor(schema, schema, true, 0)
  const least = valueFor(schema, schema, false, 0)
  const bases = [full, least, {}, ...variantsOf(full, 0), ...variantsOf(least, 0)]
  return [...new Map(bases.map((one) => [JSON.stringify(one), one])).values(), ...wrong]
}

function valueFor(given: unknown, root: Schema, isFull: boolean, depth: number): unknown {
  if (typeof given !== 'object' || given === null || depth > 6) return 'x'
  const schema = given as Schema
  if (typeof schema['$ref'] === 'string')
    return valueFor(targetOf(root, schema['$ref']), root, isFull, depth + 1)
  if (schema['const'] !== undefined) return schema['const']
  if (schema['enum']) return schema['enum'].at(isFull ? -1 : 0)
  const [first] = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []
  if (first !== undefined && schema['properties'] === undefined)
    return valueFor(first, root, isFull, depth + 1)
  const type = [schema['type'] ?? (schema['properties'] ? 'object' : 'string')].flat()[0]
  if (type === 'object') return objectFor(schema, root, isFull, depth)
  if (type === 'array') {
    const count = Math.max(schema['minItems'] ?? 0, isFull ? 1 : 0)
    const item = valueFor(schema['items'] ?? schema['prefixItems']?.[0] ?? {}, root, isFull, depth + 1)
    return Array.from({ length: Math.min(count, 5) }, () => item)
  }
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? schema['maximum'] ?? 1
  if (type === 'boolean') return isFull
  if (type === 'null') return null
  return formats[schema['format']] ?? 'x'.repeat(Math.min(Math.max(schema['minLength'] ?? 1, 1), 100))
}

function objectFor(schema: Schema, root: Schema, isFull: boolean, depth: number): unknown {
  const names = Object.keys(schema['properties'] ?? {})
  const shown = isFull ? names : names.filter((name) => schema['required']?.includes(name))
  return Object.fromEntries(
    shown.map((name) => [name, valueFor(schema['properties'][name], root, isFull, depth + 1)]),
  )
}

/** The value without each member, with each member of another type, and with one more; the same inside, down to a depth. */
function variantsOf(value: unknown, depth: number): unknown[] {
  if (typeof value !== 'object' || value === null || depth > 2) return []
  if (Array.isArray(value)) return variantsOf(value[0], depth + 1).map((one) => [one])
  const members = Object.entries(value)
  return [
    { ...value, unknown_member: 1 },
    ...members.flatMap(([name, one]) => {
      const { [name]: _out, ...rest } = value as Record<string, unknown>
      const others = [...wrong.slice(depth, depth + 5), ...variantsOf(one, depth + 1)]
      return [rest, ...others.map((other) => ({ ...value, [name]: other }))]
    }),
  ].slice(0, 300)
}

function targetOf(root: Schema, ref: string): unknown {
  return ref
    .split('/')
    .slice(1)
    .reduce(
      (at: any, part) => at?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    )
}
