/** Arguments that a URL or an example of their JSON proposes. Pure. */
import { isWhole } from '../../../parts/schema-form-values.ts'
import { isJsonNumber, isObject, readForeignJson } from '../../../../../src/core/exact-json.ts'
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import { newRow, type ArgumentRow, type ArgumentType } from './rows.ts'
import { t } from '../../../texts/texts.tsx'

/** How deep, and into how many values, an example is read. */
const maxDepth = 8
const maxValues = 2000

/**
 * The names of the placeholders `{name}` in path and query, each once. `{{secret:NAME}}` is none, and what `{?a,b}` or
 * `{&a,b}` at the end names need not be given.
 */
export function placeholdersOf(url: string): string[] {
  const plain = url.replaceAll(/\{\{[^{}]*\}\}|\{[?&][^{}]+\}$/g, '')
  return [...new Set([...plain.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1]!))]
}

/** The rows of names in a URL: each must be given. */
export const rowsOfNames = (names: readonly string[]): ArgumentRow[] =>
  names.map((name) => ({ ...newRow, name, isRequired: true }))

/** The rows of an example, or what is wrong with it. An example does not say what must be given. */
export function rowsOfSample(text: string): { rows: ArgumentRow[] } | { why: string } {
  try {
    const value: unknown = readForeignJson(text)
    if (!isObject(value)) return { why: t('The example must be a JSON object.') }
    return { rows: rowsOfValue(value) }
  } catch (error) {
    return {
      why: t('This is not JSON: {value}.', { value: error instanceof Error ? error.message : String(error) }),
    }
  }
}

/** The rows of an object's members. */
export function rowsOfValue(value: Record<string, unknown>): ArgumentRow[] {
  const budget = { left: maxValues }
  return Object.entries(value)
    .filter(([name]) => name !== '')
    .map(([name, one]) => {
      const { type, ...rest } = schemaOf(one, maxDepth, budget)
      return { ...newRow, name, type: (type ?? 'any') as ArgumentType, rest }
    })
}

function schemaOf(value: unknown, depth: number, budget: { left: number }): Schema {
  if (depth === 0 || budget.left-- <= 0) return {}
  if (typeof value === 'string') return { type: 'string' }
  if (typeof value === 'boolean') return { type: 'boolean' }
  if (isJsonNumber(value)) return { type: isWhole(value) ? 'integer' : 'number' }
  if (Array.isArray(value))
    return value.length === 0
      ? { type: 'array', items: {} }
      : { type: 'array', items: schemaOf(value[0], depth - 1, budget) }
  if (!isObject(value)) return {}
  const members = Object.entries(value).map(([name, one]) => [name, schemaOf(one, depth - 1, budget)])
  return { type: 'object', properties: Object.fromEntries(members) as Schema }
}
