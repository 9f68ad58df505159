/** Conditions of gates as rows and as JSON Schema: the same rows come back, and they stop what they say. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { buildSchema, type GraphQLInputObjectType } from 'graphql'
import { expect, test } from 'vitest'
import {
  draftOf,
  emptyRow,
  gateInputOf,
  inputOf,
  newPolicy,
  switchForm,
  type Policy,
} from '../../web/src/parts/gate-draft.ts'
import {
  operatorsOf,
  propertiesOf,
  valueFrom,
  valuesFrom,
  valueText,
} from '../../web/src/parts/gate-properties.ts'
import { rulesOfSchema, schemaOfRules, type Operator, type Row } from '../../web/src/parts/gate-rules.ts'

const ajv = new Ajv2020({ strict: false })
const row = (path: string, operator: Operator, value: unknown = null, orMissing = false): Row => ({
  path: path.split('.'),
  operator,
  value,
  orMissing,
})

const scalar = fc.oneof(fc.string({ maxLength: 6 }), fc.integer({ min: -9, max: 9 }), fc.boolean())
const number = fc.integer({ min: -9, max: 9 })
const text = fc.string({
  minLength: 1,
  maxLength: 4,
  unit: fc.constantFrom('a', 'b', '.', '$', '^', '\\', '/', '-'),
})

const test_ = fc.oneof(
  fc.record({
    operator: fc.constantFrom<Operator[]>('is', 'is not', 'includes', 'does not include'),
    value: scalar,
  }),
  fc.record({
    operator: fc.constantFrom<Operator[]>('is one of', 'is none of'),
    value: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    operator: fc.constantFrom<Operator[]>('is more than', 'is at least', 'is less than', 'is at most'),
    value: number,
  }),
  fc.record({
    operator: fc.constantFrom<Operator[]>('contains', 'does not contain', 'starts with', 'ends with'),
    value: text,
  }),
)
const path = fc.array(fc.constantFrom('a', 'b', '__proto__'), { minLength: 1, maxLength: 2 })
const anyRow: fc.Arbitrary<Row> = fc.oneof(
  fc.record({ path, test: test_, orMissing: fc.boolean() }).map(({ path: at, test: one, orMissing }) => ({
    path: at,
    ...one,
    orMissing,
  })),
  fc.record({
    path,
    operator: fc.constantFrom<Operator[]>('is given', 'is not given'),
    value: fc.constant(null),
    orMissing: fc.constant(false),
  }),
)
const rules = fc.record({
  match: fc.constantFrom('all' as const, 'any' as const),
  rows: fc.array(anyRow, { minLength: 1, maxLength: 4 }),
})

const sorted = (rows: readonly Row[]) => rows.map((one) => JSON.stringify(one)).toSorted()

test('rows come back from the schema that they make', () => {
  fc.assert(
    fc.property(rules, (given) => {
      const back = rulesOfSchema(schemaOfRules(given))
      expect(back?.match).toBe(given.rows.length > 1 ? given.match : 'all')
      expect(sorted(back!.rows)).toEqual(sorted(given.rows))
    }),
    { numRuns: 2000 },
  )
})

/** What a row says about arguments, without a schema. Only objects have properties, and only these are looked at. */
function stops({ path: names, operator, value, orMissing }: Row, args: unknown): boolean {
  const [name, ...rest] = names
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return true
  const isThere = Object.hasOwn(args, name!)
  const inner = isThere ? (args as Record<string, unknown>)[name!] : undefined
  if (operator === 'is not given' && rest.length === 0) return !isThere
  if (!isThere) return operator === 'is not given' || (operator !== 'is given' && orMissing)
  if (rest.length > 0) return stops({ path: rest, operator, value, orMissing }, inner)
  if (operator === 'is given') return true
  const same = (one: unknown) => JSON.stringify(one) === JSON.stringify(inner)
  const asText = typeof inner === 'string' ? inner : null
  const asNumber = typeof inner === 'number' ? inner : null
  const amount = value as number
  const words = String(value)
  switch (operator) {
    case 'is':
      return same(value)
    case 'is not':
      return !same(value)
    case 'is one of':
      return (value as unknown[]).some(same)
    case 'is none of':
      return !(value as unknown[]).some(same)
    case 'is more than':
      return asNumber === null || asNumber > amount
    case 'is at least':
      return asNumber === null || asNumber >= amount
    case 'is less than':
      return asNumber === null || asNumber < amount
    case 'is at most':
      return asNumber === null || asNumber <= amount
    case 'contains':
      return asText === null || asText.includes(words)
    case 'does not contain':
      return asText !== null && !asText.includes(words)
    case 'starts with':
      return asText === null || asText.startsWith(words)
    case 'ends with':
      return asText === null || asText.endsWith(words)
    case 'includes':
      return !Array.isArray(inner) || inner.some((one) => JSON.stringify(one) === JSON.stringify(value))
    case 'does not include':
      return Array.isArray(inner) && !inner.some((one) => JSON.stringify(one) === JSON.stringify(value))
    default:
      throw new Error(operator)
  }
}

test('the schema stops exactly the calls that the rows say', () => {
  const leaf = fc.oneof(text, number, fc.boolean(), fc.array(fc.oneof(text, number), { maxLength: 2 }))
  const object = (inner: fc.Arbitrary<unknown>) =>
    fc.dictionary(fc.constantFrom('a', 'b'), inner, { noNullPrototype: true })
  const args = object(fc.oneof(leaf, object(leaf)))
  const plain = anyRow.filter(({ path: names }) => !names.includes('__proto__'))
  const some = fc.record({
    match: fc.constantFrom('all' as const, 'any' as const),
    rows: fc.array(plain, { minLength: 1, maxLength: 3 }),
  })
  fc.assert(
    fc.property(some, fc.array(args, { minLength: 5, maxLength: 5 }), (given, calls) => {
      const fits = ajv.compile(schemaOfRules(given))
      for (const call of calls) {
        const found = given.rows.map((one) => stops(one, call))
        const expected = given.match === 'all' ? found.every(Boolean) : found.some(Boolean)
        expect(fits(call), JSON.stringify({ given, call })).toBe(expected)
      }
    }),
    { numRuns: 500 },
  )
})

test('the schemas of the documents are rows', () => {
  expect(rulesOfSchema({ properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] })).toEqual({
    match: 'all',
    rows: [row('amount', 'is more than', 100)],
  })
  const several = {
    type: 'object',
    properties: { amount: { minimum: 5, maximum: 9 }, to: { pattern: '@example\\.com$' }, note: true },
    required: ['amount', 'note'],
  }
  expect(rulesOfSchema(several)).toEqual({
    match: 'all',
    rows: [
      row('amount', 'is at least', 5),
      row('amount', 'is at most', 9),
      row('to', 'ends with', '@example.com', true),
      row('note', 'is given'),
    ],
  })
})

test('one property several times is several conditions', () => {
  const given = {
    match: 'all' as const,
    rows: [row('a', 'is more than', 1), row('a', 'is less than', 9, true)],
  }
  expect(schemaOfRules(given)).toEqual({
    properties: { a: { exclusiveMinimum: 1 } },
    required: ['a'],
    allOf: [{ properties: { a: { exclusiveMaximum: 9 } } }],
  })
})

test.each([
  ['a type within', { properties: { a: { type: 'number', minimum: 1 } } }],
  ['a reference', { $ref: '#/$defs/a', $defs: { a: {} } }],
  ['a condition about all names', { propertyNames: { pattern: 'x' } }],
  ['a choice of conjunctions', { anyOf: [{ required: ['a', 'b'] }, { required: ['c'] }] }],
  ['another not', { not: { properties: { a: { const: 1 } } } }],
  ['a half demanded path', { properties: { a: { properties: { b: { const: 1 } }, required: ['b'] } } }],
  ['an object as constant', { properties: { a: { const: { b: 1 } } } }],
  ['nothing', {}],
])('%s stays JSON', (_name, schema) => {
  expect(rulesOfSchema(schema)).toBeNull()
  const draft = draftOf({ ...newPolicy, mode: 'WHEN', when: schema })
  expect(draft.when).toEqual({ as: 'json', text: JSON.stringify(schema, null, 2) })
  expect(inputOf(draft)).toMatchObject({ input: { mode: 'WHEN', when: schema } })
})

test('a draft says what is missing, and its conditions change their form without a loss', () => {
  const draft = draftOf({ ...newPolicy, mode: 'WHEN' })
  expect(inputOf(draft)).toEqual({
    faults: [{ path: ['gate', 'when', '0'], message: 'needs a property and a value' }],
  })
  const full = {
    ...draft,
    when: { as: 'rows' as const, rules: { match: 'all' as const, rows: [row('a.b', 'is', 'x')] } },
  }
  const asJson = switchForm(full)!
  expect(asJson.when.as).toBe('json')
  expect(switchForm(asJson)).toEqual(full)
  expect(switchForm({ ...draft, when: { as: 'json', text: '{' } })).toBeNull()
  expect(switchForm({ ...draft, when: { as: 'json', text: '{}' } })?.when).toEqual({
    as: 'rows',
    rules: { match: 'all', rows: [emptyRow] },
  })
  expect(inputOf({ ...draftOf(newPolicy), quorum: 11, escalateAfterSeconds: 300 })).toMatchObject({
    faults: [{ path: ['gate', 'quorum'] }, { path: ['gate', 'escalateAfterSeconds'] }],
  })
})

test('every field of a gate that the API takes is sent again when another one is edited', () => {
  const input = buildSchema(readFileSync('docs/schema.graphql', 'utf8')).getType('GateInput')
  const names = Object.keys((input as GraphQLInputObjectType).getFields()).filter(
    (name) => name !== 'autoApprove',
  )
  const gate: Policy = {
    mode: 'WHEN',
    when: { required: ['amount'] },
    timeoutSeconds: 600,
    quorum: 2,
    excludeRequester: true,
    approvers: ['ADMIN'],
    escalateAfterSeconds: 60,
    verdictLinks: true,
    responses: true,
    title: 'Pay {amount}',
  }
  expect(Object.keys(gate).toSorted()).toEqual(names.toSorted())
  expect(inputOf(draftOf(gate))).toEqual({ input: gate })
  expect(gateInputOf(gate)).toEqual(gate)
})

test('the schema of a tool says which properties, operators and values there are', () => {
  const schema = {
    type: 'object',
    properties: {
      amount: { type: 'number' },
      to: { type: 'object', properties: { country: { enum: ['CH', 'DE'] } } },
      tags: { type: 'array', items: { type: 'string' } },
      any: {},
    },
  }
  const known = propertiesOf(schema)
  expect(known).toEqual([
    { path: ['amount'], kind: 'number', options: null },
    { path: ['to', 'country'], kind: 'text', options: ['CH', 'DE'] },
    { path: ['tags'], kind: 'list', options: null },
    { path: ['any'], kind: 'other', options: null },
  ])
  expect(operatorsOf(known[0])[0]).toBe('is more than')
  expect(operatorsOf(known[2])).toContain('includes')
  expect(valueFrom('5', 'number')).toBe(5)
  expect(valueFrom('many', 'number')).toBeUndefined()
  expect(valueFrom('5', 'text')).toBe('5')
  expect(valueFrom('true', 'other')).toBe(true)
  expect(valuesFrom('a, b', 'text')).toEqual(['a', 'b'])
  for (const value of ['5', 5, true, 'x', 'true']) {
    expect(valueFrom(valueText(value, 'other'), 'other')).toBe(value)
    if (typeof value === 'string') expect(valueFrom(valueText(value, 'text'), 'text')).toBe(value)
  }
})
