/** Arguments as rows: they are a JSON Schema and come back from it, or the schema says why it has no rows. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  faultOf,
  newRow,
  rowsOf,
  rowTypes,
  textOf,
  withMore,
  withType,
  type ArgumentRows,
} from '../../web/src/screens/tools/arguments/rows.ts'
import { placeholdersOf, rowsOfNames, rowsOfSample } from '../../web/src/screens/tools/arguments/sample.ts'
import { createInputOf } from '../../web/src/screens/tools/tool-input.ts'
import { newDraft } from '../../web/src/screens/tools/tool-draft.ts'

const read = (schema: unknown) => rowsOf(JSON.stringify(schema)) as ArgumentRows
const whyOf = (schema: unknown) => (rowsOf(JSON.stringify(schema)) as unknown as { why: string }).why

const rich = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    amount: { type: 'number', description: 'In francs.', minimum: 0 },
    reason: { type: 'string', title: 'Why', enum: ['late', 'broken'], default: 'late' },
    level: { type: 'integer', enum: [1, 2] },
    notify: { type: 'boolean' },
    lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } } } },
    address: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    note: {},
    __proto__x: { type: 'string', writeOnly: true },
  },
  required: ['amount', 'reason'],
  additionalProperties: false,
  $defs: { unused: { type: 'string' } },
}

describe('a schema of arguments', () => {
  test('comes back from its rows with everything that rows have no field for', () => {
    const rows = read(rich)
    expect(JSON.parse(textOf(rows))).toEqual(rich)
    expect(rows.rows.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
      ['amount', 'number', true],
      ['reason', 'string', true],
      ['level', 'integer', false],
      ['notify', 'boolean', false],
      ['lines', 'array', false],
      ['address', 'object', false],
      ['note', 'any', false],
      ['__proto__x', 'string', false],
    ])
    expect(rows.rows[1]).toMatchObject({ title: 'Why', values: 'late\nbroken', rest: { default: 'late' } })
  })

  test('of any names and keywords has rows that mean the same, or says why it has none', () => {
    const property = fc.record(
      {
        type: fc.constantFrom(...rowTypes, ['string', 'null'], 7),
        title: fc.oneof(fc.string({ minLength: 1 }), fc.integer()),
        description: fc.string({ minLength: 1 }),
        enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), {
          maxLength: 3,
        }),
        minimum: fc.integer(),
        anyOf: fc.constant([{}]),
      },
      { requiredKeys: [] },
    )
    const schemas = fc.record(
      {
        type: fc.constantFrom('object', 'array'),
        properties: fc.dictionary(fc.string(), fc.oneof(property, fc.boolean())),
        required: fc.array(fc.string(), { maxLength: 2 }),
        additionalProperties: fc.boolean(),
        allOf: fc.constant([{}]),
      },
      { requiredKeys: ['properties'] },
    )
    fc.assert(
      fc.property(schemas, (schema) => {
        const given = rowsOf(JSON.stringify(schema))
        if ('why' in given) return void expect(given.why).toMatch(/^It.+\.$/s)
        const again = JSON.parse(textOf(given)) as Record<string, unknown>
        const { required: wanted = [], ...rest } = schema as Record<string, unknown>
        const { required, ...others } = again
        expect(new Set(required as string[])).toEqual(new Set(wanted as string[]))
        // A value has a type; one that was not written down is written down.
        const typed = Object.fromEntries(
          Object.entries(rest['properties'] as Record<string, object>).map(([name, one]) => [
            name,
            'enum' in one && !('type' in one)
              ? { type: given.rows.find((row) => row.name === name)!.type, ...one }
              : one,
          ]),
        )
        expect(others).toEqual(JSON.parse(JSON.stringify({ type: 'object', ...rest, properties: typed })))
      }),
    )
  })

  test.each([
    [{ type: 'array' }, 'Its type is not "object".'],
    [{ allOf: [] }, 'It has "allOf", which says more than rows can show.'],
    [{ properties: { a: { $ref: '#/$defs/a' } } }, 'Its argument "a" has "$ref", which a row cannot show.'],
    [{ properties: { a: { type: ['string', 'null'] } } }, 'Its argument "a" has a type'],
    [{ properties: { a: { enum: ['x', 1] } } }, 'Its argument "a" has a type'],
    [{ properties: { a: { type: 'string', enum: ['x\ny'] } } }, 'Its argument "a" has allowed values'],
    [{ properties: { a: true } }, 'Its argument "a" is not described by an object.'],
    [{ properties: {}, required: ['a'] }, 'It requires a name that is none of its properties.'],
    [[], 'It is not a JSON object.'],
  ])('that rows cannot show says why: %j', (schema, why) => {
    expect(whyOf(schema)).toContain(why)
  })

  test('that is not JSON says so', () => {
    expect((rowsOf('{') as unknown as { why: string }).why).toContain('It is not JSON')
  })
})

describe('a row', () => {
  test('without a name, with the name of another, or with a value of another type is told and keeps the tool from being saved', () => {
    const twice = [
      { ...newRow, name: 'a' },
      { ...newRow, name: 'a' },
    ]
    expect(faultOf(twice[0]!, twice)).toBe('Two arguments have the name "a".')
    expect(faultOf(newRow, [newRow])).toBe('An argument needs a name.')
    const level = { ...newRow, name: 'level', type: 'integer', values: '1\n2.5' } as const
    expect(faultOf(level, [level])).toBe('"2.5" is not of type integer.')
    const draft = { ...newDraft, name: 'x', argumentFault: 'An argument needs a name.' }
    expect(createInputOf('client', draft)).toEqual({
      issues: [
        {
          path: ['input', 'config', 'client', 'inputSchema', 'argumentFault'],
          message: 'An argument needs a name.',
        },
      ],
    })
  })

  test('of another type drops the keywords of the first one, and keeps those of every type', () => {
    const row = { ...newRow, name: 'a', values: 'x', rest: { minLength: 3, writeOnly: true } }
    expect(withType(row, 'array')).toMatchObject({ values: '', rest: { writeOnly: true, items: {} } })
    expect(withType(row, 'number')).toMatchObject({ values: 'x', rest: { writeOnly: true } })
  })
})

test('placeholders of a URL are arguments that must be given; secrets are none', () => {
  const names = placeholdersOf('https://h.test/{orderId}/{line}?k={{secret:KEY}}&again={orderId}{&page,size}')
  expect(names).toEqual(['orderId', 'line'])
  const rows = withMore(
    { rows: [{ ...newRow, name: 'line', type: 'integer' }], around: {} },
    rowsOfNames(names),
  )
  expect(rows.rows.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
    ['line', 'integer', false],
    ['orderId', 'string', true],
  ])
})

test('an example gives names and types and none of its values', () => {
  const sample = {
    amount: 1.5,
    count: 3,
    who: 'ann',
    ok: true,
    none: null,
    at: { city: 'Bern' },
    tags: ['x'],
    empty: [],
  }
  const found = rowsOfSample(JSON.stringify(sample))
  if (!('rows' in found)) throw new Error(found.why)
  const text = textOf({ rows: found.rows, around: {} })
  expect(JSON.parse(text)).toEqual({
    type: 'object',
    properties: {
      amount: { type: 'number' },
      count: { type: 'integer' },
      who: { type: 'string' },
      ok: { type: 'boolean' },
      none: {},
      at: { type: 'object', properties: { city: { type: 'string' } } },
      tags: { type: 'array', items: { type: 'string' } },
      empty: { type: 'array', items: {} },
    },
    required: [],
  })
  expect(text).not.toMatch(/ann|Bern/)
  expect(rowsOfSample('[1]')).toEqual({ why: 'The example must be a JSON object.' })
  const deep = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`
  expect(JSON.stringify(rowsOfSample(deep)).length).toBeLessThan(1000)
})
