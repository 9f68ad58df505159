/**
 * Which fields a form shows for a JSON Schema. A field is read when it is drawn, so that schemas which refer to themselves
 * have an end. What no field can show is edited as JSON. Pure.
 */
import { isObject, writeJson } from '../../../src/core/exact-json.ts'
import { mergeSchemas, resolveSchema, type Schema } from './schema-form-resolve.ts'
import { t } from '../texts/texts.tsx'

export type { Schema } from './schema-form-resolve.ts'

export interface Property {
  name: string
  schema: unknown
  isRequired: boolean
}

type Shape =
  | { kind: 'text'; format: TextFormat; isLong: boolean; maxLength: number | null }
  | { kind: 'number'; isInteger: boolean; minimum: number | null; maximum: number | null }
  | { kind: 'boolean' }
  | { kind: 'choice'; options: { label: string; value: unknown }[] }
  | { kind: 'const'; value: unknown }
  | { kind: 'list'; item: unknown; minItems: number; maxItems: number | null }
  | { kind: 'group'; properties: Property[]; takesOthers: boolean }
  | { kind: 'variants'; variants: { label: string; schema: Schema }[] }
  | { kind: 'json' }

export type Field = Shape & {
  title: string | null
  description: string | null
  /** Whether null is a value of its own. */
  isNullable: boolean
}

export type TextFormat = 'plain' | 'date-time' | 'date' | 'email' | 'uri' | 'secret'

/** The field for a schema inside of `root`, which local references point into. */
export function fieldOf(schema: unknown, root: Schema): Field {
  const whole = resolveSchema(schema, root)
  if (!whole) return { kind: 'json', title: null, description: null, isNullable: false }
  const { shape, isNullable } = shapeOf(whole, root)
  return { ...shape, title: textOf(whole['title']), description: textOf(whole['description']), isNullable }
}

interface Shaped {
  shape: Shape
  isNullable: boolean
}

const only = (shape: Shape): Shaped => ({ shape, isNullable: false })
const asJson: Shaped = only({ kind: 'json' })

function shapeOf(schema: Schema, root: Schema): Shaped {
  if ('const' in schema) return only({ kind: 'const', value: schema['const'] })
  if (Array.isArray(schema['enum'])) {
    const options = schema['enum'].map((value: unknown) => ({ label: labelOf(value), value }))
    return only({ kind: 'choice', options })
  }
  const branches = branchesOf(schema, root)
  if (branches === null) return asJson
  if (branches.length > 0) return shapeOfBranches(branches, root)
  const types = typesOf(schema)
  const isNullable = types.includes('null')
  const others = types.filter((type) => type !== 'null')
  if (others.length > 1) {
    const variants = others.map((type) => ({ label: type, schema: { ...schema, type } }))
    return { shape: { kind: 'variants', variants }, isNullable }
  }
  return { shape: others[0] ? shapeOfType(others[0], schema) : { kind: 'json' }, isNullable }
}

/** The schemas of `oneOf` or `anyOf`, each with what stands beside them; none when they only constrain; null: not shown. */
function branchesOf(schema: Schema, root: Schema): Schema[] | null {
  const { oneOf, anyOf, ...base } = schema
  if (oneOf !== undefined && anyOf !== undefined) return null
  const list = oneOf ?? anyOf
  if (!Array.isArray(list)) return []
  const parts = list.map((part) => resolveSchema(part, root))
  const shapes = ['type', 'properties', 'items', 'const', 'enum', 'oneOf', 'anyOf']
  if (parts.every((part) => part && !shapes.some((name) => name in part))) return []
  const { title: _title, description: _description, default: _default, ...beside } = base
  const whole = parts.map((part) => part && mergeSchemas(beside, part))
  return whole.includes(null) ? null : (whole as Schema[])
}

function shapeOfBranches(branches: Schema[], root: Schema): Shaped {
  const isNull = (one: Schema) => one['type'] === 'null' || ('const' in one && one['const'] === null)
  const isNullable = branches.some(isNull)
  const others = branches.filter((one) => !isNull(one))
  if (others.length === 0) return only({ kind: 'const', value: null })
  if (others.length === 1) {
    const inner = shapeOf(others[0]!, root)
    return { shape: inner.shape, isNullable: isNullable || inner.isNullable }
  }
  if (others.every((one) => 'const' in one)) {
    const options = others.map((one) => ({
      label: textOf(one['title']) ?? labelOf(one['const']),
      value: one['const'],
    }))
    return { shape: { kind: 'choice', options }, isNullable }
  }
  const variants = others.map((one, at) => ({ label: labelOfVariant(one, at, root), schema: one }))
  return { shape: { kind: 'variants', variants }, isNullable }
}

function typesOf(schema: Schema): string[] {
  const { type } = schema
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.filter((one) => typeof one === 'string')
  if (isObject(schema['properties'])) return ['object']
  if ('items' in schema) return ['array']
  return 'format' in schema || 'minLength' in schema || 'pattern' in schema ? ['string'] : []
}

function shapeOfType(type: string, schema: Schema): Shape {
  switch (type) {
    case 'string':
      return textShape(schema)
    case 'number':
    case 'integer':
      return {
        kind: 'number',
        isInteger: type === 'integer',
        minimum: numberOf(schema['minimum']),
        maximum: numberOf(schema['maximum']),
      }
    case 'boolean':
      return { kind: 'boolean' }
    case 'array':
      return listShape(schema)
    case 'object':
      return groupShape(schema)
    default:
      return { kind: 'json' }
  }
}

const formats: Record<string, TextFormat> = {
  'date-time': 'date-time',
  date: 'date',
  email: 'email',
  uri: 'uri',
  url: 'uri',
  password: 'secret',
}

/** Texts that may be longer than this get a field of several lines. */
const longText = 200

function textShape(schema: Schema): Shape {
  const maxLength = numberOf(schema['maxLength'])
  const format = schema['writeOnly'] === true ? 'secret' : (formats[String(schema['format'])] ?? 'plain')
  const isLong =
    format === 'plain' && !('pattern' in schema || 'format' in schema) && (maxLength ?? 0) > longText
  return { kind: 'text', format, isLong, maxLength }
}

function listShape(schema: Schema): Shape {
  // Places with a schema of their own have no row of their own.
  if ('prefixItems' in schema || Array.isArray(schema['items']) || schema['items'] === undefined)
    return { kind: 'json' }
  const minItems = numberOf(schema['minItems']) ?? 0
  return { kind: 'list', item: schema['items'], minItems, maxItems: numberOf(schema['maxItems']) }
}

function groupShape(schema: Schema): Shape {
  const { properties, required, additionalProperties, patternProperties } = schema
  const isClosed = additionalProperties === false && patternProperties === undefined
  if (!isObject(properties) || Object.keys(properties).length === 0)
    return isClosed ? { kind: 'group', properties: [], takesOthers: false } : { kind: 'json' }
  const demanded = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  return {
    kind: 'group',
    properties: Object.entries(properties)
      .filter(([, one]) => one !== false)
      .map(([name, one]) => ({ name, schema: one, isRequired: demanded.has(name) }))
      // The database keeps no order, so what must be given stands first.
      .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired)),
    takesOthers:
      isObject(additionalProperties) || additionalProperties === true || patternProperties !== undefined,
  }
}

/** The name of a branch: its title, the constant that tells it from the others, or its type. */
function labelOfVariant(schema: Schema, at: number, root: Schema): string {
  const title = textOf(schema['title'])
  if (title) return title
  if (isObject(schema['properties']))
    for (const [name, one] of Object.entries(schema['properties'])) {
      const inner = resolveSchema(one, root)
      if (inner && 'const' in inner) return `${name}: ${labelOf(inner['const'])}`
    }
  return typeof schema['type'] === 'string' ? schema['type'] : t('option {at}', { at: at + 1 })
}

const labelOf = (value: unknown): string => (typeof value === 'string' ? value : writeJson(value))
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
