/** The order of the names in an object. The database keeps none, so the schema's is taken. */

type Schema = Record<string, unknown>

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The names of an object: those that the schema requires in its order, then its other properties, then unknown ones. The
 * order of `properties` itself may be lost on the way, that of the list `required` never is.
 */
export function orderedNames(value: Record<string, unknown>, schema?: Schema | null): string[] {
  const required = Array.isArray(schema?.['required']) ? schema['required'].map(String) : []
  const known = isObject(schema?.['properties']) ? Object.keys(schema['properties']) : []
  const first = [...required, ...known].filter((name) => Object.hasOwn(value, name))
  return [...new Set([...first, ...Object.keys(value)])]
}

/** The object in the order of its schema. */
export function ordered(value: Record<string, unknown>, schema?: Schema | null): Record<string, unknown> {
  return Object.fromEntries(orderedNames(value, schema).map((name) => [name, value[name]]))
}
