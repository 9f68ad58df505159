/** Which properties a condition can be about, which operators each has, and how its value is written. Pure. */
import {
  type ExactNumber,
  isJsonNumber,
  NumberRangeError,
  readJson,
  writeJson,
} from '../../../src/core/exact-json.ts'
import type { Operator } from './gate-rules.ts'
import { fieldOf, type Field } from './schema-form-model.ts'
import type { Schema } from './schema-form-resolve.ts'
import { isSame, numberFrom } from './schema-form-values.ts'
import { t } from '../texts/texts.tsx'

export interface KnownProperty {
  path: readonly string[]
  kind: 'text' | 'number' | 'boolean' | 'list' | 'other'
  /** The values of an enum; null when any is allowed. */
  options: readonly unknown[] | null
}

/** The properties of a schema, those of objects within it too, up to `max`. */
export function propertiesOf(schema: Schema | null, max = 100): KnownProperty[] {
  const found: KnownProperty[] = []
  const visit = (inner: unknown, path: readonly string[]): void => {
    const field = fieldOf(inner, schema!)
    if (field.kind === 'group' && path.length < 4) {
      for (const { name, schema: one } of field.properties)
        if (found.length < max) visit(one, [...path, name])
    } else if (path.length > 0) found.push({ path, ...kindOf(field) })
  }
  if (schema) visit(schema, [])
  return found
}

function kindOf(field: Field): Pick<KnownProperty, 'kind' | 'options'> {
  if (field.kind === 'text' || field.kind === 'number' || field.kind === 'boolean' || field.kind === 'list')
    return { kind: field.kind, options: null }
  if (field.kind === 'choice') return { kind: 'text', options: field.options.map(({ value }) => value) }
  return { kind: 'other', options: field.kind === 'const' ? [field.value] : null }
}

const equality: Operator[] = ['is', 'is not', 'is one of', 'is none of']
const order: Operator[] = ['is more than', 'is at least', 'is less than', 'is at most']
const words: Operator[] = ['contains', 'does not contain', 'starts with', 'ends with', 'matches']
const members: Operator[] = ['includes', 'does not include']
const presence: Operator[] = ['is given', 'is not given']

/** The operators as they are shown. */
export const operatorWords: Record<Operator, string> = {
  is: t('is'),
  'is not': t('is not'),
  'is one of': t('is one of'),
  'is none of': t('is none of'),
  'is more than': t('is more than'),
  'is at least': t('is at least'),
  'is less than': t('is less than'),
  'is at most': t('is at most'),
  contains: t('contains'),
  'does not contain': t('does not contain'),
  'starts with': t('starts with'),
  'ends with': t('ends with'),
  matches: t('matches'),
  includes: t('includes'),
  'does not include': t('does not include'),
  'is given': t('is given'),
  'is not given': t('is not given'),
}

/** The operators that make sense for a property. */
export function operatorsOf(known: KnownProperty | undefined): Operator[] {
  switch (known?.kind) {
    case 'number':
      return [...order, ...equality, ...presence]
    case 'text':
      return known.options ? [...equality, ...presence] : [...equality, ...words, ...presence]
    case 'boolean':
      return ['is', 'is not', ...presence]
    case 'list':
      return [...members, ...presence]
    default:
      return [...equality, ...order, ...words, ...members, ...presence]
  }
}

/** The value of a row as text; a list as its values with commas. */
export function valueText(value: unknown, kind: KnownProperty['kind'] | undefined): string {
  if (Array.isArray(value)) return value.map((one) => valueText(one, kind)).join(', ')
  if (value === null || value === undefined) return value === null ? 'null' : ''
  if (typeof value !== 'string') return writeJson(value)
  return kind === 'text' || isSame(valueFrom(value, kind), value) ? value : writeJson(value)
}

/** The value that a text means for a property of this kind; undefined when it means none. */
export function valueFrom(text: string, kind: KnownProperty['kind'] | undefined): unknown {
  if (kind === 'text') return text === '' ? undefined : text
  const trimmed = text.trim()
  if (kind === 'number') return exactly(trimmed)
  if (trimmed === '') return undefined
  try {
    const value = readJson(trimmed)
    return typeof value === 'object' && value !== null && !isJsonNumber(value) ? text : value
  } catch (error) {
    return error instanceof NumberRangeError ? undefined : text
  }
}

/** The number of a text; undefined when it is none. */
function exactly(text: string): number | ExactNumber | undefined {
  const number = numberFrom(text)
  return isJsonNumber(number) ? number : undefined
}

/** The values of a list that is written with commas; undefined when there is none. */
export function valuesFrom(text: string, kind: KnownProperty['kind'] | undefined): unknown[] | undefined {
  const values = text
    .split(',')
    .map((part) => valueFrom(part.trim(), kind))
    .filter((value) => value !== undefined)
  return values.length > 0 ? values : undefined
}
