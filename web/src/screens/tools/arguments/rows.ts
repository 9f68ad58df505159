/** The schema of a tool's arguments as rows, and back. What a row has no field for stays in it. Pure. */
import { isWhole, numberFrom } from '../../../parts/schema-form-values.ts'
import { isJsonNumber, isObject, writeJson } from '../../../../../src/core/exact-json.ts'
import { parseExactly } from '../../../parts/exact-json.ts'
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import { t } from '../../../texts/texts.tsx'

export const rowTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'any'] as const
export type ArgumentType = (typeof rowTypes)[number]

/** One argument. */
export interface ArgumentRow {
  name: string
  /** `any`: the schema names no type. */
  type: ArgumentType
  isRequired: boolean
  title: string
  description: string
  /** The only values that are allowed, one a line; empty: all. */
  values: string
  /** Its other keywords. */
  rest: Schema
}

/** The rows of a schema, and its keywords around them. */
export interface ArgumentRows {
  rows: ArgumentRow[]
  around: Schema
}

export const newRow: ArgumentRow = {
  name: '',
  type: 'string',
  isRequired: false,
  title: '',
  description: '',
  values: '',
  rest: {},
}

/** Keywords of the whole schema that say more than rows show. */
const combining = [
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
]
const inRow = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'const']

class NoRows extends Error {}

/** The rows of a schema's text, or why it has none. */
export function rowsOf(text: string): ArgumentRows | { why: string } {
  try {
    return rowsOfSchema(parseExactly(text))
  } catch (error) {
    if (error instanceof NoRows) return { why: error.message }
    return {
      why: t('It is not JSON: {value}.', { value: error instanceof Error ? error.message : String(error) }),
    }
  }
}

function rowsOfSchema(schema: unknown): ArgumentRows {
  if (!isObject(schema)) throw new NoRows(t('It is not a JSON object.'))
  const { type = 'object', properties = {}, required = [], ...others } = schema
  if (type !== 'object') throw new NoRows(t('Its type is not "object".'))
  const word = combining.find((one) => one in others)
  if (word) throw new NoRows(t('It has "{word}", which says more than rows can show.', { word }))
  if (!isObject(properties)) throw new NoRows(t('Its properties are not an object.'))
  const names = Object.keys(properties)
  const isNames = Array.isArray(required) && required.every((one) => names.includes(one as string))
  if (!isNames) throw new NoRows(t('It requires a name that is none of its properties.'))
  const demanded = new Set<unknown>(required)
  const rows = names.map((name) => rowOf(name, properties[name], demanded.has(name)))
  return { rows, around: others }
}

function rowOf(name: string, schema: unknown, isRequired: boolean): ArgumentRow {
  const fail = (why: string) => new NoRows(t('Its argument "{name}" {why}.', { name, why }))
  if (name === '') throw fail(t('has no name'))
  if (!isObject(schema)) throw fail(t('is not described by an object'))
  const word = inRow.find((one) => one in schema)
  if (word) throw fail(t('has "{word}", which a row cannot show', { word }))
  const { type, title = '', description = '', enum: values, ...rest } = schema
  if (typeof title !== 'string' || typeof description !== 'string')
    throw fail(t('has a title or description that is not text'))
  const known = typeOf(type, values)
  if (!known) throw fail(t('has a type, or allowed values, that a row cannot show'))
  const lines = values === undefined ? [] : linesOf(values, known)
  if (!lines) throw fail(t('has allowed values that a row cannot show'))
  return { name, type: known, isRequired, title, description, values: lines.join('\n'), rest }
}

/** The type of a row; without one, that of the values. Null: no row can show it. */
function typeOf(type: unknown, values: unknown): ArgumentType | null {
  if (type === undefined && values === undefined) return 'any'
  if (type !== undefined) return rowTypes.find((one) => one === type && one !== 'any') ?? null
  const kinds = new Set(Array.isArray(values) ? values.map((value) => typeof value) : [])
  const [kind] = kinds
  if (kinds.size !== 1) return null
  return kind === 'string' || kind === 'number' || kind === 'boolean' ? kind : null
}

/** The values one a line; null when they would not come back as they are. */
function linesOf(values: unknown, type: ArgumentType): string[] | null {
  if (!Array.isArray(values) || values.length === 0) return null
  const lines = values.map((value) => (typeof value === 'string' ? value : writeJson(value)))
  const again = lines.map((line) => valueOf(line, type))
  const isSame = lines.every((line, at) => line === line.trim() && line !== '' && again[at] === values[at])
  return isSame && !lines.some((line) => line.includes('\n')) ? lines : null
}

/** The value of a line; undefined when it is none of the type. */
function valueOf(line: string, type: ArgumentType): unknown {
  if (type === 'string') return line
  if (type === 'boolean') return line === 'true' ? true : line === 'false' ? false : undefined
  if (type !== 'number' && type !== 'integer') return undefined
  const value = numberFrom(line)
  return isJsonNumber(value) && (type === 'number' || isWhole(value)) ? value : undefined
}

const valueLines = ({ values }: ArgumentRow): string[] =>
  values
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** What is wrong with a row among the others; null: nothing. */
export function faultOf(row: ArgumentRow, rows: readonly ArgumentRow[]): string | null {
  if (row.name === '') return t('An argument needs a name.')
  if (rows.some((other) => other !== row && other.name === row.name))
    return t('Two arguments have the name "{name}".', { name: row.name })
  const wrong = valueLines(row).find((line) => valueOf(line, row.type) === undefined)
  return wrong === undefined ? null : t('"{wrong}" is not of type {type}.', { wrong, type: row.type })
}

/** The text of the schema that rows mean. Each row is without a fault, else what it means is left out. */
export function textOf({ rows, around }: ArgumentRows): string {
  const good = rows.filter((row) => faultOf(row, rows) === null)
  const { $schema, ...others } = around
  const schema = {
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    // An argument may be called __proto__: a plain assignment would lose it.
    properties: Object.fromEntries(good.map((row) => [row.name, schemaOf(row)])),
    required: good.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    ...others,
  }
  return writeJson(schema, 2)
}

function schemaOf(row: ArgumentRow): Schema {
  const { type, title, description, rest } = row
  const values = valueLines(row).map((line) => valueOf(line, type))
  return {
    ...(type === 'any' ? {} : { type }),
    ...(title === '' ? {} : { title }),
    ...(description === '' ? {} : { description }),
    ...(values.length === 0 ? {} : { enum: values }),
    ...rest,
  }
}

/** A row of another type keeps what every type may have. */
export function withType(row: ArgumentRow, type: ArgumentType): ArgumentRow {
  const anywhere = ['default', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$comment']
  const rest = Object.fromEntries(Object.entries(row.rest).filter(([name]) => anywhere.includes(name)))
  const takesValues = type === 'string' || type === 'number' || type === 'integer' || type === 'boolean'
  // Some models refuse a list that says nothing of its items.
  return {
    ...row,
    type,
    values: takesValues ? row.values : '',
    rest: type === 'array' ? { ...rest, items: {} } : rest,
  }
}

/** ArgumentRows with more of them; a name that is there already keeps its row. */
export function withMore({ rows, around }: ArgumentRows, more: readonly ArgumentRow[]): ArgumentRows {
  const names = new Set(rows.map(({ name }) => name))
  return { rows: [...rows, ...more.filter(({ name }) => !names.has(name))], around }
}
