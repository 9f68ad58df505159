/**
 * The conditions of a gate as rows, `property · operator · value`, and as the JSON Schema that the server takes: the same
 * rows come back. A schema that rows cannot say stays JSON. Pure.
 */
import { isObject, writeJson } from '../../../src/core/exact-json.ts'
import type { Schema } from './schema-form-resolve.ts'

export type Operator =
  | 'is'
  | 'is not'
  | 'is one of'
  | 'is none of'
  | 'is more than'
  | 'is at least'
  | 'is less than'
  | 'is at most'
  | 'contains'
  | 'does not contain'
  | 'starts with'
  | 'ends with'
  | 'matches'
  | 'includes'
  | 'does not include'
  | 'is given'
  | 'is not given'

export interface Row {
  /** The names from the arguments to the property. */
  path: readonly string[]
  operator: Operator
  /** Null for `is given` and `is not given`; a list for `is one of` and `is none of`. */
  value: unknown
  /** Whether a call without the property is stopped as well. */
  orMissing: boolean
}

export interface Rules {
  /** Whether a call must fit every row, or one of them. */
  match: 'all' | 'any'
  rows: readonly Row[]
}

/** Operators that look at whether the property is there, and at nothing else. */
export const isAboutPresence = (operator: Operator): boolean =>
  operator === 'is given' || operator === 'is not given'

/** The JSON Schema that a call must fit to be stopped. Without rows it stops every call. */
export function schemaOfRules({ match, rows }: Rules): Schema {
  const parts = rows.map((row) => schemaOfRow(row))
  if (match === 'any' && parts.length > 1) return { anyOf: parts }
  const whole: { properties: Schema; required: string[] } = { properties: {}, required: [] }
  const separate: Schema[] = []
  for (const part of parts) if (!absorbed(whole, part)) separate.push(part)
  const { properties, required } = whole
  return {
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(separate.length > 0 ? { allOf: separate } : {}),
  }
}

/** Takes a row into the one object of all rows, unless it is about a property that another row is about. */
function absorbed(whole: { properties: Schema; required: string[] }, part: Schema): boolean {
  if ('not' in part) return false
  const properties = isObject(part['properties']) ? part['properties'] : {}
  const required = (part['required'] ?? []) as string[]
  const names = new Set([...Object.keys(properties), ...required])
  if ([...names].some((name) => Object.hasOwn(whole.properties, name) || whole.required.includes(name)))
    return false
  for (const [name, inner] of Object.entries(properties)) define(whole.properties, name, inner)
  whole.required.push(...required)
  return true
}

/** Sets a member of an object, `__proto__` too. */
const define = (object: Schema, name: string, value: unknown) =>
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })

const member = (name: string, value: unknown): Schema => Object.fromEntries([[name, value]])

function schemaOfRow({ path, operator, value, orMissing }: Row, depth = 0): Schema {
  const [name = '', ...rest] = path
  if (rest.length === 0 && operator === 'is given') return { required: [name] }
  if (rest.length === 0 && operator === 'is not given') return { not: absence(name, depth) }
  const inner =
    rest.length === 0
      ? testOf(operator, value)
      : schemaOfRow({ path: rest, operator, value, orMissing }, depth + 1)
  // A property that is within nothing is not given either.
  const isDemanded = operator === 'is given' || (operator !== 'is not given' && !orMissing)
  return { properties: member(name, inner), ...(isDemanded ? { required: [name] } : {}) }
}

/** What does not fit when a property is not given. Within an object, what stands there may be no object at all. */
const absence = (name: string, depth: number): Schema =>
  depth === 0 ? { required: [name] } : { type: 'object', required: [name] }

function testOf(operator: Operator, value: unknown): Schema {
  switch (operator) {
    case 'is':
      return { const: value }
    case 'is not':
      return { not: { const: value } }
    case 'is one of':
      return { enum: value }
    case 'is none of':
      return { not: { enum: value } }
    case 'is more than':
      return { exclusiveMinimum: value }
    case 'is at least':
      return { minimum: value }
    case 'is less than':
      return { exclusiveMaximum: value }
    case 'is at most':
      return { maximum: value }
    case 'contains':
      return { pattern: escaped(String(value)) }
    case 'does not contain':
      return { not: { pattern: escaped(String(value)) } }
    case 'starts with':
      return { pattern: `^${escaped(String(value))}` }
    case 'ends with':
      return { pattern: `${escaped(String(value))}$` }
    case 'matches':
      return { pattern: value }
    case 'includes':
      return { contains: { const: value } }
    case 'does not include':
      return { not: { contains: { const: value } } }
    case 'is given':
    case 'is not given':
      return {}
  }
}

/** The rows that a schema says; null when rows cannot say it. */
export function rulesOfSchema(schema: unknown): Rules | null {
  if (!isObject(schema)) return null
  const { type, ...rest } = schema
  // Arguments are always an object.
  if (type !== undefined && type !== 'object') return null
  if (Array.isArray(rest['anyOf'])) {
    if (Object.keys(rest).length > 1) return null
    const parts = rest['anyOf'].map((part) => rowsOf(part))
    const rows = parts.flatMap((part) => (part?.length === 1 ? part : []))
    return rows.length === parts.length && rows.length > 0
      ? { match: rows.length > 1 ? 'any' : 'all', rows }
      : null
  }
  const rows = rowsOf(rest)
  return rows && rows.length > 0 ? { match: 'all', rows } : null
}

function rowsOf(schema: unknown, depth = 0): Row[] | null {
  if (!isObject(schema)) return null
  const { type, allOf, properties, required, not, ...unknown } = schema
  if (Object.keys(unknown).length > 0 || (type !== undefined && type !== 'object')) return null
  const own = membersOf(properties, required, depth)
  const others =
    allOf === undefined ? [] : Array.isArray(allOf) ? allOf.map((part) => rowsOf(part, depth)) : [null]
  const absent = not === undefined ? [] : absentOf(not, depth)
  if (!own || !absent || others.includes(null)) return null
  return [...own, ...others.flatMap((part) => part!), ...absent]
}

/** `{ not: { required: [name] } }`, with the type within an object. */
function absentOf(not: unknown, depth: number): Row[] | null {
  const names = isObject(not) ? not['required'] : null
  if (!Array.isArray(names) || names.length !== 1 || typeof names[0] !== 'string') return null
  if (!isSame(not, absence(names[0], depth))) return null
  return [{ path: [names[0]], operator: 'is not given', value: null, orMissing: false }]
}

/** Whether two schemas have the same members, in any order. */
const isSame = (a: unknown, b: Schema): boolean =>
  isObject(a) &&
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(b).every(([name, value]) => writeJson(a[name]) === writeJson(value))

function membersOf(properties: unknown, required: unknown, depth: number): Row[] | null {
  if (properties !== undefined && !isObject(properties)) return null
  if (required !== undefined && !Array.isArray(required)) return null
  const demanded = (required ?? []) as unknown[]
  if (!demanded.every((name) => typeof name === 'string')) return null
  const inner = isObject(properties) ? properties : {}
  const parts = [...new Set([...Object.keys(inner), ...demanded])].map((name) =>
    rowsOfMember(name, Object.hasOwn(inner, name) ? inner[name] : true, demanded.includes(name), depth),
  )
  return parts.includes(null) ? null : parts.flatMap((part) => part!)
}

function rowsOfMember(name: string, schema: unknown, isDemanded: boolean, depth: number): Row[] | null {
  if (schema === true) return isDemanded ? [given(name)] : []
  if (!isObject(schema)) return null
  if ('properties' in schema || 'required' in schema || isAbsence(schema['not'])) {
    const inner = nestedRows(schema, isDemanded, depth + 1)
    return inner && inner.map((row) => ({ ...row, path: [name, ...row.path] }))
  }
  const tests = Object.entries(schema).map(([keyword, value]) => testFrom(keyword, value))
  if (tests.includes(null)) return null
  if (tests.length === 0) return isDemanded ? [given(name)] : []
  return tests.map((test) => ({ path: [name], ...test!, orMissing: !isDemanded }))
}

const isAbsence = (not: unknown): boolean => isObject(not) && 'required' in not
const given = (name: string): Row => ({ path: [name], operator: 'is given', value: null, orMissing: false })

/** Rows of an object within an object: it is demanded by each of its rows, or by none. */
function nestedRows(schema: Schema, isDemanded: boolean, depth: number): Row[] | null {
  if ('type' in schema || 'allOf' in schema) return null
  const rows = rowsOf(schema, depth)
  const demands = ({ operator, orMissing }: Row) => operator !== 'is not given' && !orMissing
  return rows && rows.length > 0 && rows.every((row) => demands(row) === isDemanded) ? rows : null
}

type Test = Pick<Row, 'operator' | 'value'>

const isScalar = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value)
const areScalars = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isScalar)

function testFrom(keyword: string, value: unknown): Test | null {
  const isNumber = typeof value === 'number'
  switch (keyword) {
    case 'const':
      return isScalar(value) ? { operator: 'is', value } : null
    case 'enum':
      return areScalars(value) ? { operator: 'is one of', value } : null
    case 'exclusiveMinimum':
      return isNumber ? { operator: 'is more than', value } : null
    case 'minimum':
      return isNumber ? { operator: 'is at least', value } : null
    case 'exclusiveMaximum':
      return isNumber ? { operator: 'is less than', value } : null
    case 'maximum':
      return isNumber ? { operator: 'is at most', value } : null
    case 'pattern':
      return typeof value === 'string' ? testFromPattern(value) : null
    case 'contains':
      return isOnlyConst(value) ? { operator: 'includes', value: value.const } : null
    case 'not':
      return testFromNot(value)
    default:
      return null
  }
}

const isOnlyConst = (value: unknown): value is { const: unknown } =>
  isObject(value) && Object.keys(value).length === 1 && 'const' in value && isScalar(value['const'])

const opposites: Partial<Record<Operator, Operator>> = {
  is: 'is not',
  'is one of': 'is none of',
  contains: 'does not contain',
  includes: 'does not include',
}

function testFromNot(not: unknown): Test | null {
  if (!isObject(not) || Object.keys(not).length !== 1) return null
  const [[keyword, value]] = Object.entries(not) as [[string, unknown]]
  const test = keyword === 'not' ? null : testFrom(keyword, value)
  const operator = test && opposites[test.operator]
  return operator ? { operator, value: test.value } : null
}

const special = /[$()*+./?[\\\]^{|}]/g
const escaped = (text: string): string => text.replaceAll(special, String.raw`\$&`)

/** The text that a pattern without any operator stands for; null when it has one. */
function literal(pattern: string): string | null {
  const text = pattern.replaceAll(/\\([$()*+./?[\\\]^{|}])/g, '$1')
  return text !== '' && escaped(text) === pattern ? text : null
}

function testFromPattern(pattern: string): Test {
  const whole = literal(pattern)
  if (whole !== null) return { operator: 'contains', value: whole }
  const start = pattern.startsWith('^') ? literal(pattern.slice(1)) : null
  if (start !== null) return { operator: 'starts with', value: start }
  const end = pattern.endsWith('$') ? literal(pattern.slice(0, -1)) : null
  return end === null ? { operator: 'matches', value: pattern } : { operator: 'ends with', value: end }
}
