/** The model of forms: which fields a schema gives, what they begin with, and what is hinted. */
import { expect, test } from 'vitest'
import { ExactNumber } from '../../src/core/json.ts'
import { fieldOf, type Field } from '../../web/src/parts/schema-form-model.ts'
import {
  initialValue,
  localMoment,
  momentFrom,
  numberFrom,
  variantOf,
  withMember,
} from '../../web/src/parts/schema-form-values.ts'
import { makeHints } from '../../web/src/parts/schema-form-hints.ts'

const kindOf = (schema: unknown) => fieldOf(schema, schema as Record<string, unknown>).kind
const variants = (field: Field) => (field.kind === 'variants' ? field.variants.map(({ label }) => label) : [])

test('each type of JSON Schema has a field of its own', () => {
  expect(kindOf({ type: 'string' })).toBe('text')
  expect(kindOf({ type: 'number' })).toBe('number')
  expect(kindOf({ type: 'integer', minimum: 1 })).toBe('number')
  expect(kindOf({ type: 'boolean' })).toBe('boolean')
  expect(kindOf({ enum: ['a', 1, null] })).toBe('choice')
  expect(kindOf({ const: 3 })).toBe('const')
  expect(kindOf({ type: 'array', items: { type: 'string' } })).toBe('list')
  expect(kindOf({ type: 'object', properties: { a: { type: 'string' } } })).toBe('group')
  expect(fieldOf({ type: 'string', format: 'date-time' }, {})).toMatchObject({ format: 'date-time' })
  expect(fieldOf({ type: 'string', writeOnly: true }, {})).toMatchObject({ format: 'secret' })
})

test('what no field can show is edited as JSON', () => {
  expect(kindOf({})).toBe('json')
  expect(kindOf(true)).toBe('json')
  expect(kindOf({ type: 'object' })).toBe('json')
  expect(kindOf({ type: 'array', prefixItems: [{ type: 'string' }] })).toBe('json')
  expect(kindOf({ $ref: 'https://elsewhere.test/schema' })).toBe('json')
  expect(kindOf({ $ref: '#/$defs/none' })).toBe('json')
  expect(kindOf({ $ref: '#' })).toBe('json')
  expect(kindOf({ allOf: [{ type: 'string' }, { type: 'number' }] })).toBe('json')
})

test('a nullable value is the field of its type with null beside it', () => {
  for (const schema of [
    { type: ['string', 'null'] },
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { oneOf: [{ $ref: '#/$defs/name' }, { type: 'null' }], $defs: { name: { type: 'string' } } },
  ])
    expect(fieldOf(schema, schema)).toMatchObject({ kind: 'text', isNullable: true })
})

test('local references and allOf are put together, and a schema within itself has an end', () => {
  const tree = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        allOf: [
          { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          { properties: { next: { $ref: '#/$defs/node' } } },
        ],
      },
    },
  }
  const field = fieldOf(tree, tree)
  expect(field).toMatchObject({
    kind: 'group',
    properties: [
      { name: 'name', isRequired: true },
      { name: 'next', isRequired: false },
    ],
  })
  expect(initialValue(tree, tree)).toEqual({})
  const endless = { type: 'object', properties: { me: { $ref: '#' } }, required: ['me'] }
  expect(JSON.stringify(initialValue(endless, endless)).length).toBeLessThan(200)
  const half = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] })
  const names = Array.from({ length: 40 }, (_, at) => `d${at}`)
  const bomb = {
    ...half('d0'),
    $defs: Object.fromEntries(names.map((name, at) => [name, half(`d${at + 1}`)])),
  }
  expect(kindOf(bomb)).toBe('json')
  expect(makeHints(bomb)({})).toEqual([])
})

test('a choice of schemas is named by its titles or constants, and a value finds its branch', () => {
  const pay = {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'card' }, number: { type: 'string' } },
        required: ['kind', 'number'],
      },
      {
        title: 'Invoice',
        type: 'object',
        properties: { kind: { const: 'invoice' }, days: { type: 'integer' } },
      },
      { type: 'string' },
    ],
  }
  const field = fieldOf(pay, pay)
  expect(variants(field)).toEqual(['kind: card', 'Invoice', 'string'])
  if (field.kind !== 'variants') throw new Error('no choice')
  expect(variantOf(field.variants, { kind: 'invoice' }, pay)).toBe(1)
  expect(variantOf(field.variants, { kind: 'card', number: '1' }, pay)).toBe(0)
  expect(variantOf(field.variants, 'cash', pay)).toBe(2)
  expect(initialValue(pay, pay)).toEqual({ kind: 'card' })
  expect(initialValue({ type: 'object', properties: { pay }, required: ['pay'] }, {})).toEqual({
    pay: { kind: 'card' },
  })
  const named = { oneOf: [{ const: 'a', title: 'First' }, { const: 'b' }] }
  expect(fieldOf(named, named)).toMatchObject({
    kind: 'choice',
    options: [
      { label: 'First', value: 'a' },
      { label: 'b', value: 'b' },
    ],
  })
})

test('branches that only demand members leave the object as it is', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  }
  expect(kindOf(schema)).toBe('group')
})

test('a form begins with defaults, constants and required objects, and leaves the rest out', () => {
  const schema = {
    type: 'object',
    properties: {
      to: { type: 'string' },
      count: { type: 'integer', default: 3 },
      where: { type: 'object', properties: { city: { type: 'string', default: 'Bern' } } },
      lines: { type: 'array', items: { type: 'string' }, minItems: 1 },
      version: { const: 2 },
      note: { type: ['string', 'null'] },
    },
    required: ['to', 'where', 'lines', 'version', 'note'],
  }
  expect(initialValue(schema, schema)).toEqual({
    count: 3,
    where: { city: 'Bern' },
    lines: [null],
    version: 2,
    note: null,
  })
})

test('members keep the order of the schema, and __proto__ is an ordinary name', () => {
  expect(Object.keys(withMember({ b: 1, z: 1 }, 'a', 1, ['a', 'b']))).toEqual(['a', 'b', 'z'])
  expect(withMember({ a: 1 }, 'a', undefined, ['a'])).toEqual({})
  expect(Object.keys(withMember({}, '__proto__', 1, ['__proto__']))).toEqual(['__proto__'])
})

test('a text is a number only when JSON keeps it as it was written', () => {
  expect(numberFrom(' 12 ')).toBe(12)
  expect(numberFrom('-1.5e3')).toBe(-1500)
  expect(numberFrom('')).toBeUndefined()
  expect(numberFrom('1e')).toBe('1e')
  expect(numberFrom('0x10')).toBe('0x10')
  expect(String(numberFrom('9007199254740993'))).toBe('9007199254740993')
  expect(numberFrom('9007199254740993')).toBeInstanceOf(ExactNumber)
  expect(numberFrom('+.5')).toBe(0.5)
  expect(numberFrom('1e400')).toBe('1e400')
})

test('a moment goes through the field of the browser and back', () => {
  const at = '2026-11-22T10:20:30.000Z'
  expect(momentFrom(localMoment(at))).toBe(at)
  expect(localMoment('soon')).toBe('')
  expect(momentFrom('')).toBeUndefined()
})

test('hints name the place and what it lacks', () => {
  const hints = makeHints({
    type: 'object',
    properties: {
      to: { type: 'string', format: 'email' },
      lines: {
        type: 'array',
        items: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      },
    },
    required: ['to'],
    additionalProperties: false,
  })
  expect(hints({ to: 'a@b.ch', lines: [{ n: 1 }] })).toEqual([])
  expect(hints({ lines: [{ n: 'x' }, {}] })).toEqual([
    { path: ['to'], message: 'is required' },
    { path: ['lines', '0', 'n'], message: 'must be of type "integer".' },
    { path: ['lines', '1', 'n'], message: 'is required' },
  ])
  expect(hints({ to: 'nobody', more: 1 })).toEqual([
    { path: ['to'], message: 'must be of the format email' },
    { path: ['more'], message: 'is not allowed' },
  ])
})

test('of a choice, only the branch that was meant is hinted', () => {
  const hints = makeHints({
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'a' }, x: { type: 'string' } },
        required: ['kind', 'x'],
      },
      {
        type: 'object',
        properties: { kind: { const: 'b' }, y: { type: 'string' } },
        required: ['kind', 'y'],
      },
      { type: 'string' },
    ],
  })
  expect(hints({ kind: 'b' })).toEqual([{ path: ['y'], message: 'is required' }])
  expect(hints({ kind: 'b', y: 'z' })).toEqual([])
})

test('patterns of strangers are not run in the page', () => {
  const hints = makeHints({ type: 'string', pattern: '^(a+)+$' })
  expect(hints(`${'a'.repeat(40)}!`)).toEqual([])
  const byName = makeHints({ patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false })
  expect(byName({ 'x-a': 'b' })).toEqual([])
})
