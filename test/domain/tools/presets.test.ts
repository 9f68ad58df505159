/**
 * Presets are hidden and cannot be changed, and the schema without them still means the same for all other arguments.
 */
// oxlint-disable unicorn/no-thenable -- JSON Schema has a keyword of that name
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { compileSchema } from '../../../src/core/json-schema.ts'
import { hidePresets as hide, mergePresets } from '../../../src/domain/tools/presets.ts'

/** Places where a key is a property of the arguments object, or is named as one. */
function speaksOf(key: string, schema: Json): boolean {
  if (!isJsonObject(schema)) return false
  const { properties, required, dependentRequired, dependentSchemas, dependencies, patternProperties } =
    schema
  const has = (object: Json | undefined) => isJsonObject(object) && Object.hasOwn(object, key)
  const lists = (list: Json | undefined) => Array.isArray(list) && list.includes(key)
  if (has(properties) || has(dependentRequired) || has(dependentSchemas) || has(dependencies)) return true
  if (has(patternProperties) || lists(required) || has(schema['default']) || has(schema['const'])) return true
  if ([schema['examples'], schema['enum']].some((list) => Array.isArray(list) && list.some(has))) return true
  if (JSON.stringify(schema['propertyNames'] ?? null).includes(JSON.stringify(key))) return true
  for (const map of [dependentRequired, dependencies])
    if (isJsonObject(map) && Object.values(map).some(lists)) return true
  const inPlace = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => (schema[keyword] ?? []) as Json[])
  const single = ['not', 'if', 'then', 'else'].flatMap((keyword) => schema[keyword] ?? [])
  const maps = [dependentSchemas, dependencies].flatMap((map) =>
    isJsonObject(map) ? Object.values(map) : [],
  )
  return [...inPlace, ...single, ...maps].some((part) => speaksOf(key, part))
}

function valid(schema: JsonObject, value: Json): boolean {
  const compiled = compileSchema(schema, 'proj_a')
  if (!compiled.ok) throw new Error(`${JSON.stringify(schema)}: ${compiled.issue.message}`)
  return compiled.judge(value).fits === 'YES'
}

function hidePresets(schema: JsonObject, presets: JsonObject): JsonObject {
  const hidden = hide(schema, presets, 'proj_a')
  if (!hidden) throw new Error('was not worked out in time')
  return hidden
}

const text = { type: 'string' }
const presets = { id: 'doc_1' }

describe('hidePresets', () => {
  it('returns the same schema when there are no presets', () => {
    const schema = { type: 'object', properties: { id: text } }
    expect(hidePresets(schema, {})).toBe(schema)
  })

  it('hides the preset id of update-document and keeps content', () => {
    const schema = { type: 'object', properties: { id: text, content: text }, required: ['id', 'content'] }
    expect(hidePresets(schema, { id: 'doc_abc123' })).toEqual({
      type: 'object',
      properties: { content: text },
      required: ['content'],
    })
    expect(schema.required).toEqual(['id', 'content'])
  })

  const cases: [string, JsonObject, JsonObject][] = [
    [
      'allOf',
      { allOf: [{ properties: { id: text, a: text } }, { required: ['id', 'a'] }] },
      { allOf: [{ properties: { a: text } }, { required: ['a'] }] },
    ],
    [
      'an allOf that says nothing else',
      { allOf: [{ required: ['id'] }], properties: { a: text } },
      { properties: { a: text } },
    ],
    [
      'anyOf',
      { anyOf: [{ required: ['id', 'a'] }, { required: ['b', 'id'] }] },
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    ],
    [
      'a branch that the preset rules out',
      {
        oneOf: [
          { properties: { id: { const: 'doc_1' }, a: text } },
          { properties: { id: { const: 'x' }, b: text } },
        ],
      },
      { oneOf: [{ properties: { a: text } }] },
    ],
    [
      'a branch without the preset',
      {
        anyOf: [
          { properties: { a: text }, additionalProperties: false },
          { properties: { a: text, id: text }, additionalProperties: false },
        ],
      },
      { anyOf: [{ properties: { a: text }, additionalProperties: false }] },
    ],
    [
      'a condition that holds',
      {
        if: { properties: { id: { const: 'doc_1' } }, required: ['id'] },
        then: { required: ['a'] },
        else: { required: ['b'] },
      },
      { allOf: [{ required: ['a'] }] },
    ],
    [
      'a condition that does not hold',
      { if: { properties: { id: { const: 'x' } } }, then: { required: ['a'] }, else: { required: ['b'] } },
      { allOf: [{ required: ['b'] }] },
    ],
    [
      'an open condition',
      { if: { required: ['a', 'id'] }, then: { required: ['id', 'b'] } },
      { if: { required: ['a'] }, then: { required: ['b'] }, else: true },
    ],
    ['then and else without if', { then: { required: ['id'] }, else: { required: ['id'] } }, {}],
    ['not, satisfied', { not: { properties: { id: { const: 'x' } } } }, {}],
    ['not, still open', { not: { required: ['id', 'a'] } }, { not: { required: ['a'] } }],
    [
      'dependentRequired',
      { dependentRequired: { id: ['a'], b: ['id', 'c'], d: ['id'] } },
      { dependentRequired: { b: ['c'] }, allOf: [{ required: ['a'] }] },
    ],
    [
      'dependentSchemas',
      { dependentSchemas: { id: { required: ['a'] }, b: { required: ['id', 'c'] } } },
      { dependentSchemas: { b: { required: ['c'] } }, allOf: [{ required: ['a'] }] },
    ],
    [
      'dependencies of draft-07',
      { dependencies: { id: ['a'], b: { required: ['id', 'c'] } } },
      { dependencies: { b: { required: ['c'] } }, allOf: [{ required: ['a'] }] },
    ],
    [
      'patterns that stand for the name',
      { patternProperties: { '^id$': text, '^(id|iD)$': text, '^i': text } },
      { patternProperties: { '^i': text } },
    ],
    [
      'propertyNames',
      { propertyNames: { enum: ['id', 'a'], default: 'id' } },
      { propertyNames: { enum: ['a'] } },
    ],
    ['propertyNames that allow nothing else', { propertyNames: { const: 'id' } }, { propertyNames: false }],
    [
      'propertyNames in branches and patterns',
      { propertyNames: { anyOf: [{ pattern: '^(id|a)$' }, { not: { enum: ['id', 'x'] } }] } },
      { propertyNames: { anyOf: [{}, { not: { enum: ['x'] } }] } },
    ],
    [
      'propertyNames by reference',
      { propertyNames: { $ref: '#/$defs/N' }, $defs: { N: { enum: ['id', 'a'] } } },
      { propertyNames: { allOf: [{ enum: ['a'] }] } },
    ],
    [
      'examples, default and const',
      { default: { id: 1, a: 2 }, examples: [{ id: 1 }, { id: 2 }, 3], const: { id: 'doc_1', a: 1 } },
      { default: { a: 2 }, examples: [{}, 3], const: { a: 1 } },
    ],
    [
      'enum of whole objects',
      {
        enum: [
          { id: 'doc_1', a: 1 },
          { id: 'x', a: 2 },
        ],
      },
      { enum: [{ a: 1 }] },
    ],
    [
      'an enum that the preset contradicts',
      {
        enum: [
          { id: 'x', a: 2 },
          { id: 'y', a: 2 },
        ],
      },
      { enum: [{ a: 2 }] },
    ],
    ['counts of properties', { minProperties: 2, maxProperties: 3 }, { minProperties: 1, maxProperties: 2 }],
    ['a discriminator', { discriminator: { propertyName: 'id' } }, {}],
    [
      'a reference at the top',
      { $ref: '#/$defs/Args', $defs: { Args: { type: 'object', properties: { id: text, a: text } } } },
      { type: 'object', properties: { a: text } },
    ],
    [
      'a chain of references',
      {
        $ref: '#/definitions/A',
        definitions: { A: { $ref: '#/definitions/B' }, B: { properties: { id: text } } },
      },
      { properties: {} },
    ],
    [
      'a reference beside properties',
      { properties: { b: text }, $ref: '#/$defs/A', $defs: { A: { properties: { id: text, a: text } } } },
      { properties: { b: text }, allOf: [{ properties: { a: text } }] },
    ],
    [
      'an anchor',
      { $ref: '#args', $defs: { A: { $anchor: 'args', properties: { id: text, a: text } } } },
      { properties: { a: text } },
    ],
    [
      'a reference that says nothing of it',
      {
        allOf: [{ $ref: '#/$defs/A' }],
        $defs: { A: { properties: { a: text } }, B: { properties: { id: text } } },
      },
      { allOf: [{ $ref: '#/$defs/A' }], $defs: { A: { properties: { a: text } } } },
    ],
    [
      'a circle of references',
      {
        allOf: [{ $ref: '#/$defs/A' }],
        $defs: { A: { allOf: [{ $ref: '#/$defs/A' }, { properties: { id: text, a: text } }] } },
      },
      { allOf: [{ allOf: [{ properties: { a: text } }] }] },
    ],
    [
      'the same name further inside',
      { properties: { id: text, child: { properties: { id: text }, required: ['id'] } } },
      { properties: { child: { properties: { id: text }, required: ['id'] } } },
    ],
    [
      'a property that refers to the hidden one',
      { properties: { id: { type: 'string', maxLength: 9 }, parent: { $ref: '#/properties/id' } } },
      {
        properties: { parent: { $ref: '#/$defs/shared_1' } },
        $defs: { shared_1: { type: 'string', maxLength: 9 } },
      },
    ],
    [
      'data that looks like a schema',
      { properties: { a: { const: { $ref: '#/x', properties: { id: 1 } } }, id: text } },
      { properties: { a: { const: { $ref: '#/x', properties: { id: 1 } } } } },
    ],
    [
      'a property named like a keyword',
      { properties: { enum: { $ref: '#/$defs/T' }, id: text }, $defs: { T: text } },
      { properties: { enum: { $ref: '#/$defs/T' } }, $defs: { T: text } },
    ],
  ]
  it.each(cases)('works in %s', (_where, schema, shown) => {
    const hidden = hidePresets(schema, presets)
    expect(hidden).toEqual(shown)
    expect(speaksOf('id', hidden)).toBe(false)
    expect(compileSchema(hidden, 'proj_a').ok).toBe(true)
  })

  it('keeps a tree of nodes whole when the key is hidden at its root only', () => {
    const schema = {
      type: 'object',
      properties: { id: text, children: { type: 'array', items: { $ref: '#' } } },
      required: ['id'],
      additionalProperties: false,
    }
    const shown = hidePresets(schema, presets)
    expect(shown['properties']).toEqual({ children: { type: 'array', items: { $ref: '#/$defs/shared_1' } } })
    expect(valid(shown, { children: [{ id: 'a', children: [{ id: 'b' }] }] })).toBe(true)
    expect(valid(shown, { children: [{}] })).toBe(false)
    expect(valid(shown, { id: 'x' })).toBe(false)
  })

  it('returns a schema even when the presets contradict the whole schema', () => {
    const schema = { properties: { id: { const: 'x' }, a: text }, anyOf: [{ properties: { id: false } }] }
    expect(hidePresets(schema, presets)).toEqual({ properties: { a: text }, anyOf: [{ properties: {} }] })
    expect(hidePresets({ not: {}, maxProperties: 0 }, presets)).toEqual({ maxProperties: 0 })
  })

  it('keeps references without a target and names that are not strings', () => {
    const schema = {
      $ref: '#/$defs/None',
      properties: { id: text },
      patternProperties: { '(': text },
      required: 7,
    }
    expect(hidePresets(schema, presets)).toEqual({ ...schema, properties: {} })
    expect(
      hidePresets({ $ref: '#/%zz/0', allOf: [true], properties: { a: { $ref: '#/allOf/0' } } }, presets),
    ).toEqual({
      $ref: '#/%zz/0',
      properties: { a: { $ref: '#/$defs/shared_1' } },
      $defs: { shared_1: true },
    })
  })

  it('is safe with names from the prototype', () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{},"a":{}}}',
    ) as JsonObject
    const shown = hidePresets(schema, JSON.parse('{"__proto__":"x","constructor":1}') as JsonObject)
    expect(Object.keys(shown['properties']!)).toEqual(['a'])
    expect(Object.keys(hidePresets(schema, { a: 1 })['properties']!)).toEqual(['__proto__', 'constructor'])
  })
})

const key = fc.constantFrom('id', 'kind', 'a', 'b')
const scalar = fc.constantFrom<Json>('x', 'y', 1, true)
const leaf = fc.oneof(
  fc.constant<Json>(true),
  scalar.map((value): Json => ({ const: value })),
  fc.constant<Json>({ type: 'string' }),
  fc.constant<Json>({ type: 'object', properties: { id: { type: 'string' } } }),
)
const names = fc.uniqueArray(key, { maxLength: 3 })
const map = (of: fc.Arbitrary<Json>) =>
  fc
    .uniqueArray(fc.tuple(key, of), { maxLength: 3, selector: ([name]) => name })
    .map((all) => Object.fromEntries(all) as Json)
const { schema: anySchema } = fc.letrec<{ schema: Json }>((tie) => {
  const some = fc.array(tie('schema'), { minLength: 1, maxLength: 2 })
  const branches: [string, fc.Arbitrary<Json>][] = [
    ['properties', map(leaf)],
    ['required', names],
    ['additionalProperties', leaf],
    ['dependentRequired', map(names)],
    ['dependentSchemas', map(tie('schema'))],
    ['propertyNames', names.map((list): Json => ({ enum: ['id', ...list.filter((name) => name !== 'id')] }))],
    ['minProperties', fc.integer({ min: 0, max: 3 })],
    ['maxProperties', fc.integer({ min: 1, max: 5 })],
    ['allOf', some],
    ['anyOf', some],
    ['oneOf', some],
    ['not', tie('schema')],
    ['if', tie('schema')],
    ['then', tie('schema')],
    ['else', tie('schema')],
    ['$ref', fc.constantFrom('#/$defs/A', '#/$defs/B')],
  ]
  const keyword = fc.oneof(...branches.map(([name, of]) => fc.tuple(fc.constant(name), of)))
  const object = fc
    .uniqueArray(keyword, { maxLength: 3, selector: ([name]) => name })
    .map((all): Json => Object.fromEntries(all))
  return {
    schema: fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.constant<Json>({ required: ['id'] }), object),
  }
})
const plainSchema = fc
  .tuple(map(leaf), names)
  .map(([properties, required]): Json => ({ properties, required }))
const rootSchema = fc
  .tuple(anySchema, plainSchema, plainSchema)
  .map(([schema, A, B]) => ({ ...(schema as JsonObject), $defs: { A, B } }))
const somePresets = fc
  .uniqueArray(fc.tuple(fc.constantFrom('id', 'kind'), scalar), {
    minLength: 1,
    maxLength: 2,
    selector: ([name]) => name,
  })
  .map((all) => Object.fromEntries(all) as JsonObject)
const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
const someArgs = fc.oneof(
  map(fc.oneof(scalar, fc.constant<Json>({ id: 'inner' }))) as fc.Arbitrary<JsonObject>,
  fc.dictionary(
    fc.oneof(key, fc.constantFrom('__proto__', 'constructor', 'toString'), fc.string()),
    json,
  ) as fc.Arbitrary<JsonObject>,
)

describe('for every schema, every preset and all arguments', () => {
  it('the preset is never shown as a property of the arguments', () => {
    fc.assert(
      fc.property(rootSchema, somePresets, (schema, fixed) => {
        const shown = hidePresets(schema, fixed)
        return Object.keys(fixed).every((name) => !speaksOf(name, shown)) && compileSchema(shown, 'proj_a').ok
      }),
      { numRuns: 100 },
    )
  }, 90_000)

  it('arguments that fit the full schema with the presets fit the shown schema without them', () => {
    let fitting = 0
    fc.assert(
      fc.property(rootSchema, somePresets, map(scalar), (schema, fixed, given) => {
        const { args } = mergePresets(given as JsonObject, fixed)
        if (!valid(schema, args)) return true
        fitting += 1
        const own = Object.fromEntries(Object.entries(args).filter(([name]) => !Object.hasOwn(fixed, name)))
        return valid(hidePresets(schema, fixed), own)
      }),
      { numRuns: 100 },
    )
    expect(fitting).toBeGreaterThan(20)
  }, 90_000)

  it('no argument, nested or not, changes a preset', () => {
    fc.assert(
      fc.property(someArgs, someArgs, (given, fixed) => {
        const before = JSON.stringify([given, fixed])
        const { args, dropped } = mergePresets(given, fixed)
        for (const [name, value] of Object.entries(fixed))
          expect(Object.getOwnPropertyDescriptor(args, name)?.value).toEqual(value)
        for (const [name, value] of Object.entries(given)) {
          expect(dropped.includes(name)).toBe(Object.hasOwn(fixed, name))
          if (!Object.hasOwn(fixed, name))
            expect(Object.getOwnPropertyDescriptor(args, name)?.value).toBe(value)
        }
        expect(new Set(Object.keys(args))).toEqual(new Set([...Object.keys(given), ...Object.keys(fixed)]))
        expect(Object.getPrototypeOf(args)).toBe(Object.prototype)
        expect(JSON.stringify([given, fixed])).toBe(before)
      }),
    )
  })
})

describe('mergePresets', () => {
  it('replaces a preset as a whole, without merging nested values', () => {
    const merged = mergePresets({ filter: { a: 1, b: 2 }, q: 'x' }, { filter: { a: 9 } })
    expect(merged).toEqual({ args: { q: 'x', filter: { a: 9 } }, dropped: ['filter'] })
  })

  it('returns a copy of the preset, so that a caller cannot change it', () => {
    const fixed = { filter: { a: 1 } }
    const { args } = mergePresets({}, fixed)
    ;(args['filter'] as JsonObject)['a'] = 2
    expect(fixed).toEqual({ filter: { a: 1 } })
  })

  it('treats __proto__ as data on both sides', () => {
    const given = JSON.parse('{"__proto__":{"admin":true},"a":1}') as JsonObject
    const merged = mergePresets(given, { b: 2 })
    expect(JSON.stringify(merged.args)).toBe('{"__proto__":{"admin":true},"a":1,"b":2}')
    expect((merged.args as { admin?: boolean }).admin).toBeUndefined()
    expect(mergePresets(given, JSON.parse('{"__proto__":1}') as JsonObject).dropped).toEqual(['__proto__'])
  })
})
