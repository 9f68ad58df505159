import { expect, test } from 'vitest'
import { tryParseJson } from '../../src/core/json.ts'
import { compileSchema } from '../../src/core/json-schema.ts'

const issuesOf = (schema: unknown, value: unknown) => {
  const compiled = compileSchema(schema, 'proj_a', ['at'])
  if (!compiled.ok) return compiled.issue
  const judged = compiled.judge(value)
  return judged.fits === 'YES' ? [] : judged.issues
}

test('a schema that does not compile is refused with the path of the fault', () => {
  expect(
    compileSchema({ type: 'object', properties: { a: { type: 'strnig' } } }, 'proj_a', ['input']),
  ).toMatchObject({
    ok: false,
    issue: { path: ['input', 'properties', 'a', 'type'] },
  })
  expect(compileSchema({ $ref: 'https://example.com/schema' }, 'proj_a')).toMatchObject({
    ok: false,
    issue: { path: ['$ref'] },
  })
  expect(compileSchema({ $ref: '#/$defs/nowhere' }, 'proj_a')).toMatchObject({ ok: false })
  expect(compileSchema({ $schema: 'http://json-schema.org/draft-03/schema#' }, 'proj_a')).toMatchObject({
    ok: false,
    issue: { path: ['$schema'] },
  })
  expect(compileSchema('text', 'proj_a')).toMatchObject({ ok: false })
})

test('a schema that is too deep or too large is refused before it is compiled', () => {
  let deep: Record<string, unknown> = {}
  for (let i = 0; i < 100_000; i++) deep = { not: deep }
  expect(compileSchema(deep, 'proj_a')).toMatchObject({
    ok: false,
    issue: { message: expect.stringContaining('deeper') },
  })
  expect(compileSchema({ description: 'x'.repeat(200_000) }, 'proj_a')).toMatchObject({
    ok: false,
    issue: { message: expect.stringContaining('larger') },
  })
})

test('issues name path and rule, never the value', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'object', properties: { b: { type: 'integer' } }, required: ['b', 'c'] } },
    additionalProperties: false,
  }
  expect(issuesOf(schema, { a: { b: 'hunter2' }, x: 'hunter2' })).toEqual([
    { path: ['x'], message: 'is not a known property' },
    { path: ['a', 'c'], message: 'is required' },
    { path: ['a', 'b'], message: 'must be integer' },
  ])
})

test('inherited names do not count as properties', () => {
  expect(issuesOf({ type: 'object', required: ['constructor'] }, {})).toEqual([
    { path: ['constructor'], message: 'is required' },
  ])
})

test('a list of items is a tuple in draft-07 only', () => {
  const tuple = { items: [{ type: 'string' }] }
  expect(issuesOf({ $schema: 'http://json-schema.org/draft-07/schema#', ...tuple }, [1])).toHaveLength(1)
  expect(compileSchema(tuple, 'proj_a')).toMatchObject({ ok: false })
  expect(issuesOf({ prefixItems: [{ type: 'string' }] }, [1])).toHaveLength(1)
})

test('an $id of one schema never resolves a $ref of another', () => {
  const [one, two] = ['object', 'string'].map((type) =>
    compileSchema({ $id: 'urn:gatehouse:one', type }, 'proj_a'),
  )
  expect(one).toMatchObject({ ok: true })
  expect(two).toMatchObject({ ok: true })
  expect(issuesOf({ $id: 'urn:gatehouse:two', $ref: 'urn:gatehouse:one' }, 1)).toMatchObject({
    path: ['at', '$ref'],
  })
})

test('a dynamic reference leads to an anchor in the definitions', () => {
  const schema = {
    properties: { a: { $dynamicRef: '#text' } },
    $defs: { text: { $dynamicAnchor: 'text', type: 'string' } },
  }
  expect(issuesOf(schema, { a: 'x' })).toEqual([])
  expect(issuesOf(schema, { a: 1 })).toHaveLength(1)
})

test('a machine too busy to compile in time refuses no small schema, and stops a large one', () => {
  const keepBusy = (ms: number) => {
    const end = performance.now() + ms
    while (performance.now() < end);
  }
  /** A schema whose part takes this long to read, each time. */
  const slow = (more: object) => ({
    type: 'object',
    properties: {
      get amount() {
        keepBusy(200)
        return { type: 'number' }
      },
      ...more,
    },
  })
  const fields = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, i) => [`p${i}`, { type: 'string' }]))
  for (const more of [{}, fields(400)])
    expect(issuesOf(slow(more), { amount: 'many' })).toEqual([
      { path: ['amount'], message: 'must be number' },
    ])
  // Nor a value because its schema was not compiled yet: one of many parts, and one with all digits of a number.
  const values = Object.fromEntries(Object.keys(fields(400)).map((name) => [name, 'x']))
  for (const value of [values, { exact: tryParseJson('12345678901234567890') }])
    expect(issuesOf(slow(fields(400)), { amount: 'many', ...value })).toEqual([
      { path: ['amount'], message: 'must be number' },
    ])
  expect(issuesOf(slow(fields(700)), {})).toMatchObject({ message: expect.stringContaining('150 ms') })
})

test.each<[of: number, fits: number[], not: number[]]>([
  [0.01, [19.99, 1.1, 0.07, -8.03, 1e21, 0], [0.001, 19.995]],
  [0.1, [0.3, 1.1, 4.35e15], [0.35]],
  [1e-7, [0.000_012_3], [1.23e-8]],
  [1e300, [1e308], [1e299]],
])('what is a multiple of %d in digits is one, whatever doubles divide to', (of, fits, not) => {
  const dialects = ['2020-12', '2019-09', 'draft-07'].map((one) => ({ $schema: one, multipleOf: of }))
  for (const schema of dialects) {
    for (const value of fits) expect(issuesOf(schema, value), String(value)).toEqual([])
    for (const value of not) expect(issuesOf(schema, value), String(value)).toHaveLength(1)
  }
})
