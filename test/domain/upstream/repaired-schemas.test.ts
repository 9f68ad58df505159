/** Schemas of foreign tools that break a rule: each is repaired where it is read, so that the tool is usable. */
import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../../src/core/json-schema.ts'
import { readTool } from '../../../src/domain/upstream/catalog/entries.ts'

type Shown = Record<string, any>

const read = (inputSchema: unknown, more: object = {}): Shown =>
  readTool({ name: 'x', inputSchema, ...more }, undefined, 'p')
const about = (a: unknown) => ({ type: 'object', properties: { a } })
const draft04 = 'http://json-schema.org/draft-04/schema#'
const draft07 = 'http://json-schema.org/draft-07/schema#'
const leaf = { type: 'string' }

describe('a schema of the whole', () => {
  test.each<[string, unknown, object]>([
    ['missing', undefined, { type: 'object' }],
    ['a list, as PHP writes an empty map', [], { type: 'object' }],
    ['of another type', { type: 'array' }, { type: 'object' }],
    ['without a type', { properties: { a: leaf } }, about(leaf)],
    ['with a list of properties', { type: 'object', properties: [] }, { type: 'object' }],
    ['of an unknown draft', { $schema: 'http://json-schema.org/schema#', ...about(leaf) }, about(leaf)],
    ['with null for required', { ...about(leaf), required: null }, about(leaf)],
    ['with one name for required', { ...about(leaf), required: 'a' }, { ...about(leaf), required: ['a'] }],
    [
      'with required at the property',
      about({ ...leaf, required: true }),
      { ...about(leaf), required: ['a'] },
    ],
    ['that is asynchronous', { $async: true, ...about(leaf) }, about(leaf)],
    [
      'with the address of itself',
      { $id: 'https://e.com/s', ...about({ $ref: 'https://e.com/s#/$defs/z' }), $defs: { z: leaf } },
      { ...about({ $ref: '#/$defs/z' }), $defs: { z: leaf } },
    ],
    [
      'with a part that has its own address',
      {
        $id: 'https://e.com/s',
        ...about({ $ref: 'box' }),
        $defs: { z: { $id: 'box', properties: { q: { $ref: '#/properties/r' }, r: leaf } } },
      },
      {
        ...about({ $ref: '#/$defs/z' }),
        $defs: { z: { properties: { q: { $ref: '#/$defs/z/properties/r' }, r: leaf } } },
      },
    ],
    [
      'with parts that have one anchor each, of the same name',
      {
        ...about({ $ref: 'https://e.com/box#leaf' }),
        $defs: { z: leaf, box: { $id: 'https://e.com/box', $defs: { y: { $anchor: 'leaf', ...leaf } } } },
        $anchor: 'leaf',
      },
      { ...about({ $ref: '#/$defs/box/$defs/y' }), $defs: { z: leaf, box: { $defs: { y: leaf } } } },
    ],
    [
      'with a reference that leads to different places',
      {
        ...about({ $ref: 'https://e.com/texts' }),
        $defs: {
          texts: {
            $id: 'https://e.com/texts',
            $ref: 'list',
            $defs: { t: { $dynamicAnchor: 'T', ...leaf } },
          },
          list: {
            $id: 'https://e.com/list',
            items: { $dynamicRef: '#T' },
            $defs: { t: { $dynamicAnchor: 'T' } },
          },
        },
      },
      {
        ...about({ $ref: '#/$defs/texts' }),
        $defs: {
          texts: { $ref: '#/$defs/list', $defs: { t: leaf } },
          list: { items: {}, $defs: { t: {} } },
        },
      },
    ],
    [
      'with definitions whose names are no fragments',
      { ...about({ $ref: '100% ü' }), $defs: { '100% ü': { $ref: 'a#b' }, 'a#b': leaf } },
      {
        ...about({ $ref: '#/$defs/100%25%20%C3%BC' }),
        $defs: { '100% ü': { $ref: '#/$defs/a%23b' }, 'a#b': leaf },
      },
    ],
    [
      'with two references in one place',
      { ...about({ $ref: '#/$defs/z', $dynamicRef: '#y' }), $defs: { z: leaf, y: { $dynamicAnchor: 'y' } } },
      { ...about({ $ref: '#/$defs/z', allOf: [{ $ref: '#/$defs/y' }] }), $defs: { z: leaf, y: {} } },
    ],
    [
      'with the anchor of an old draft',
      { $schema: draft07, ...about({ $ref: '#z' }), definitions: { z: { $id: '#z', ...leaf } } },
      { $schema: draft07, ...about({ $ref: '#/definitions/z' }), definitions: { z: leaf } },
    ],
    [
      'with the bare name of a definition',
      { ...about({ $ref: 'User' }), definitions: { User: leaf } },
      { ...about({ $ref: '#/definitions/User' }), definitions: { User: leaf } },
    ],
    [
      'with a pattern of names that cannot be read',
      { type: 'object', patternProperties: { '(?i)x': leaf, '^\\-': leaf }, additionalProperties: false },
      { type: 'object', patternProperties: { '^-': leaf } },
    ],
    [
      'of draft 04',
      { $schema: draft04, ...about({ type: 'number', minimum: 1, exclusiveMinimum: true }) },
      about({ type: 'number', exclusiveMinimum: 1 }),
    ],
  ])('%s', (_name, given, wanted) => {
    const { entry } = read(given)
    expect(entry?.inputSchema).toEqual(wanted)
    expect(compileSchema(entry.inputSchema, 'p').ok).toBe(true)
  })
})

describe('a schema of an argument', () => {
  test.each<[unknown, unknown]>([
    [null, {}],
    ['string', leaf],
    [{ type: 'int' }, { type: 'integer' }],
    [{ type: 'Float' }, { type: 'number' }],
    [{ type: 'str' }, leaf],
    [{ type: 'date' }, leaf],
    [{ type: 'any' }, {}],
    [{ type: null }, {}],
    [{ type: ['str', null] }, { type: ['string', 'null'] }],
    [{ type: ['any', 'null'] }, {}],
    [
      { description: null, default: null, enum: null, items: null },
      { default: null, items: {} },
    ],
    [{ enum: [] }, {}],
    [{ nullable: true }, {}],
    [
      { ...leaf, minLength: '3', maxLength: -1, format: 5 },
      { ...leaf, minLength: 3 },
    ],
    [
      { type: 'array', items: [{ type: 'int' }], additionalItems: false },
      { type: 'array', prefixItems: [{ type: 'integer' }], items: false },
    ],
    [{ $ref: 'https://o.com/x.json' }, {}],
    [{ $ref: '#/definitions/no' }, {}],
    [{ $ref: '#' }, { $ref: '#' }],
    [{ pattern: '[\\w-.]+' }, { pattern: '[\\w\\-.]+' }],
    [{ pattern: '^\\-a\\_$' }, { pattern: '^-a_$' }],
    [{ pattern: 'a{' }, { pattern: 'a\\{' }],
    [{ pattern: '(?P<y>a)\\Z' }, { pattern: '(?<y>a)$' }],
    [{ pattern: '(?i)abc' }, {}],
    [{ pattern: '\\p{L}+(?<!a)' }, { pattern: '\\p{L}+(?<!a)' }],
  ])('%j', (given, wanted) => {
    const { entry, note } = read(about(given))
    expect(entry?.inputSchema).toEqual(about(wanted))
    expect(compileSchema(entry.inputSchema, 'p').ok).toBe(true)
    const isChanged = JSON.stringify(given) !== JSON.stringify(wanted)
    expect(note ?? null).toEqual(isChanged ? expect.stringContaining('was repaired') : null)
  })
})

test('names of arguments are no keywords, and data is no schema', () => {
  const schema = {
    type: 'object',
    properties: { type: leaf, id: leaf, required: { type: 'boolean' }, items: {}, $ref: leaf },
    examples: [{ type: 'int', enum: null }],
    default: { id: 'x' },
  }
  expect(read(schema)).toMatchObject({ entry: { inputSchema: schema } })
  expect(read(schema)['note']).toBeUndefined()
})

test('a draft that is known keeps its own words', () => {
  const schema = { $schema: draft07, ...about({ type: 'array', items: [leaf], additionalItems: false }) }
  expect(read(schema)['entry'].inputSchema).toEqual(schema)
})

test('an output schema is repaired too', () => {
  const { entry, note } = read(about(leaf), { outputSchema: about({ type: 'int' }) })
  expect(entry.outputSchema).toEqual(about({ type: 'integer' }))
  expect(note).toBe('has an outputSchema that was repaired (type)')
})

test.each(['get user', 'ünï ☃', '搜索', 'a/b.c:d'])('a tool may have the name %s', (name) => {
  expect(read({ type: 'object' }, { name })).toMatchObject({ entry: { name } })
})
test.each(['', ' ', 'a\u0000b', 'a\u200bb', 'a'.repeat(129)])('a tool may not have the name %j', (name) => {
  expect(read({ type: 'object' }, { name })).toHaveProperty('fault')
})
