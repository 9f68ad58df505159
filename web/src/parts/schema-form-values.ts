/** The values of a form: what it begins with, which branch a value belongs to, what a text means. Pure. */
import {
  exactNumber,
  type ExactNumber,
  isJsonNumber,
  isObject,
  writeJson,
} from '../../../src/core/exact-json.ts'
import { fieldOf, type Field } from './schema-form-model.ts'
import { resolveSchema, type Schema } from './schema-form-resolve.ts'

/** Objects within objects that are filled in at the beginning. */
const maxDepth = 8

/**
 * The value that a form begins with: defaults, constants, and objects and lists that are required. Undefined: left out.
 * `isRequired` says whether the place must have a value.
 */
export function initialValue(schema: unknown, root: Schema, isRequired = true, depth = 0): unknown {
  const whole = resolveSchema(schema, root)
  if (whole && 'default' in whole) return structuredClone(whole['default'])
  if (!isRequired || depth > maxDepth) return undefined
  const field = fieldOf(schema, root)
  if (field.kind === 'const') return structuredClone(field.value)
  if (field.isNullable) return null
  if (field.kind === 'variants') return initialValue(field.variants[0]!.schema, root, true, depth + 1)
  if (field.kind === 'list')
    return Array.from({ length: Math.min(field.minItems, 20) }, () =>
      orNull(initialValue(field.item, root, true, depth + 1)),
    )
  return field.kind === 'group' ? initialGroup(field, root, depth) : undefined
}

function initialGroup(
  field: Field & { kind: 'group' },
  root: Schema,
  depth: number,
): Record<string, unknown> {
  const members = field.properties.map(({ name, schema, isRequired }) => {
    const isConst = fieldOf(schema, root).kind === 'const'
    return [name, initialValue(schema, root, isRequired || (isConst && depth > 0), depth + 1)] as const
  })
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}

/** A list has no gaps: what is not filled in yet is null. */
const orNull = (value: unknown): unknown => value ?? null

/** The object with a member set, or without it when the value is undefined; names keep the order of `names`. */
export function withMember(
  object: unknown,
  name: string,
  value: unknown,
  names: readonly string[],
): Record<string, unknown> {
  const now = new Map(Object.entries(isObject(object) ? object : {}))
  if (value === undefined) now.delete(name)
  else now.set(name, value)
  const inOrder = [
    ...names.filter((one) => now.has(one)),
    ...[...now.keys()].filter((one) => !names.includes(one)),
  ]
  return Object.fromEntries(inOrder.map((one) => [one, now.get(one)]))
}

/** The place of the branch that a value belongs to: the one with its type and constants, and most of its names. */
export function variantOf(variants: readonly { schema: Schema }[], value: unknown, root: Schema): number {
  const points = variants.map(({ schema }) => fitOf(schema, value, root))
  return Math.max(0, points.indexOf(Math.max(...points)))
}

/** How well a value fits a schema at first sight; negative when it cannot be meant. */
function fitOf(schema: Schema, value: unknown, root: Schema): number {
  const field = fieldOf(schema, root)
  switch (field.kind) {
    case 'const':
      return isSame(field.value, value) ? 3 : -2
    case 'choice':
      return field.options.some((one) => isSame(one.value, value)) ? 2 : -2
    case 'text':
      return typeof value === 'string' ? 1 : -1
    case 'number':
      return isJsonNumber(value) && (!field.isInteger || isWhole(value)) ? 1 : -1
    case 'boolean':
      return typeof value === 'boolean' ? 1 : -1
    case 'list':
      return Array.isArray(value) ? 1 : -1
    case 'group':
      return isObject(value) ? fitOfGroup(field, value, root) : -1
    default:
      return 0
  }
}

function fitOfGroup(field: Field & { kind: 'group' }, value: Record<string, unknown>, root: Schema): number {
  let points = 1
  for (const { name, schema } of field.properties) {
    if (!Object.hasOwn(value, name)) continue
    const one = fieldOf(schema, root)
    if (one.kind === 'const' && !isSame(one.value, value[name])) return -2
    points += one.kind === 'const' ? 2 : 1
  }
  return points
}

export const isSame = (a: unknown, b: unknown): boolean => writeJson(a) === writeJson(b)

export const isWhole = (value: number | ExactNumber): boolean => /^-?\d+$|e\+/.test(String(value))

/**
 * The number that a text means, with all its digits; the text itself when it is none, or one that cannot be kept.
 * Undefined: nothing was written.
 */
export function numberFrom(text: string): number | ExactNumber | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const [all, sign, whole, fraction, exponent = ''] =
    /^([+-]?)(\d*)(?:\.(\d*))?(e[+-]?\d+)?$/i.exec(trimmed) ?? []
  if (all === undefined || !(whole || fraction)) return trimmed
  return exactNumber(`${sign === '-' ? '-' : ''}${whole || 0}.${fraction || 0}${exponent}`) ?? trimmed
}

/** A moment as `<input type="datetime-local">` shows it, in the time of this machine; empty when it is none. */
export function localMoment(value: unknown): string {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at)) return ''
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** The moment that such a field means, as RFC 3339; undefined when it is empty. */
export function momentFrom(text: string): string | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** What a form holds. */
export interface FormState {
  value: unknown
  /** Why the text of an editor is no value; null when each is one. The value is the one before it. */
  fault: string | null
}
