/** Untrusted schemas and patterns that take for ever: each is refused or checked in time, and nothing stalls. */
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { allowedStall as mostStall, leastStall, longestStall } from '../support/stall.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

let made = 0
const save = (inputSchema: JsonObject, more: object = {}) =>
  h.mutate(
    'createTool',
    {
      name: `bomb_${++made}`,
      config: { http: { url: `${fixtures.upstream.url}/echo`, inputSchema } },
      ...more,
    },
    'tool { id }',
  )

/** Each definition refers to the next one twice: 2^depth paths to the last. */
function fan(keyword: 'allOf' | 'anyOf', depth: number, last: JsonObject): JsonObject {
  const twice = (i: number) => ({ [keyword]: [{ $ref: `#/$defs/d${i}` }, { $ref: `#/$defs/d${i}` }] })
  const names = Array.from({ length: depth }, (_, i) => [`d${i}`, i === depth - 1 ? last : twice(i + 1)])
  return { $defs: Object.fromEntries(names) as JsonObject }
}

const text = { type: 'string' }
const field = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { value: schema },
  ...more,
})
const toD0 = { $ref: '#/$defs/d0' }

const bombs: [string, JsonObject][] = [
  ['references that fan out in allOf', field(toD0, fan('allOf', 30, text))],
  ['references that fan out in anyOf', field(toD0, fan('anyOf', 200, { ...text, minLength: 1 }))],
  ['a reference to itself', field({ $ref: '#/properties/value' })],
  [
    'a chain of a thousand references',
    field(
      { $ref: '#/$defs/d0' },
      {
        $defs: Object.fromEntries(
          Array.from({ length: 900 }, (_, i) => [`d${i}`, { items: { $ref: `#/$defs/d${(i + 1) % 900}` } }]),
        ),
      },
    ),
  ],
  ['950 patterns', { patternProperties: Object.fromEntries(wide('^(a+)+', text)) }],
  ['950 properties', { properties: Object.fromEntries(wide('p', { ...text, minLength: 1 })) }],
  [
    '10,000 objects',
    { allOf: Array.from({ length: 10_000 }, () => ({ not: false })) as unknown as JsonObject[] },
  ],
  ['12,000 names', { required: wide('r', text, 9000).map(([name]) => name) }],
  ['950 equal items', { enum: wide('e', text).map(([name]) => ({ name })) }],
]

function wide(prefix: string, schema: JsonObject, count = 950): [string, JsonObject][] {
  return Array.from({ length: count }, (_, i) => [`${prefix}${i}`, schema])
}

test.each(bombs)('a tool whose schema is %s is saved or refused in time', async (_name, schema) => {
  let saved: Record<string, any> = {}
  const stall = await longestStall(async () => {
    saved = await save({ type: 'object', ...schema })
  })
  expect(['ToolPayload', 'ValidationError']).toContain(saved['__typename'])
  expect(stall).toBeLessThan(mostStall)
})

test('a schema whose presets cannot be computed in time is refused with its path', async () => {
  const last = { properties: { secret: text, kind: text } }
  const schema = { type: 'object', ...fan('anyOf', 40, last), ...toD0 }
  let saved: Record<string, any> = {}
  const stall = await longestStall(async () => {
    saved = await save(schema, { presetParameters: { secret: 'x' } })
  })
  expect(saved).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'config', 'http', 'inputSchema'], message: expect.any(String) }],
  })
  expect(stall).toBeLessThan(mostStall)
})

const values: [string, JsonObject, unknown][] = [
  ['a pattern that backtracks', field({ ...text, pattern: '^(a+)+$' }), `${'a'.repeat(60)}!`],
  ['a pattern that looks ahead', field({ ...text, pattern: '^(?=(a+)+$)a' }), `${'a'.repeat(60)}!`],
  ['the format url', field({ ...text, format: 'url' }), `http://${':'.repeat(150_000)}`],
  [
    'uniqueItems',
    field({ type: 'array', uniqueItems: true }),
    Array.from({ length: 10_000 }, (_, i) => ({ i })),
  ],
  [
    'items that are all wrong',
    field({ type: 'array', items: text }),
    Array.from({ length: 60_000 }, (_, i) => i),
  ],
  ['anyOf that fans out', field(toD0, fan('anyOf', 40, text)), 1],
  [
    'anyOf that fans out below an $id of its own, beside harmless definitions of the same names',
    field(
      { $id: 'http://inner.test/', type: 'object', properties: { w: toD0 }, ...fan('anyOf', 30, text) },
      { $defs: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`d${i}`, text])) },
    ),
    { w: 1 },
  ],
  ['a reference without end', field({ allOf: [{ $ref: '#/properties/value' }] }), 1],
]

test.each(values)('a call against %s ends in time', async (name, schema, value) => {
  let tries = 0
  /** A schema and a project of its own each time: what others have cost would shorten the time to compile this one. */
  const saved = async () => {
    const { project } = await h.mutate('createProject', { name: `${name} ${++tries}` }, 'project { id }')
    const own = { type: 'object', description: `Try ${tries}.`, ...schema }
    return (await save(own, { projectId: project.id }))['tool'] as { id: string } | undefined
  }
  const stallOfCall = async () => {
    // A machine that gives this process no CPU may leave too little time to compile it.
    const tool = (await saved()) ?? (await saved()) ?? (await saved())
    if (!tool) throw new Error('The schema is refused.')
    let answer: Record<string, any> = {}
    const stall = await longestStall(async () => {
      answer = await h.mutate(
        'callTool',
        { toolId: tool.id, arguments: { value } },
        'toolCall { status errorCode }',
      )
    })
    expect(answer['__typename']).toMatch(/^(ToolCallPayload|ValidationError|InvalidArgumentsError)$/)
    return stall
  }
  expect(await leastStall(stallOfCall)).toBeLessThan(mostStall)
})

test('argument names that make a marked pattern backtrack are masked, all of them', async () => {
  const { tool } = await save({
    type: 'object',
    patternProperties: { '^(a+)+$': { ...text, writeOnly: true } },
  })
  const name = `${'a'.repeat(60)}!`
  let answer: Record<string, any> = {}
  const stall = await longestStall(async () => {
    answer = await h.mutate(
      'callTool',
      { toolId: tool.id, arguments: { [name]: 'x' } },
      'toolCall { status arguments }',
    )
  })
  expect(JSON.stringify(answer)).not.toContain('"x"')
  expect(stall).toBeLessThan(mostStall)
})

test('an upstream that lists such schemas keeps the rest of its list, and each one has a note', async () => {
  const server = await startModern()
  try {
    const give = (name: string, inputSchema?: JsonObject) =>
      server.tools.set(name, {
        tool: { name, ...(inputSchema ? { inputSchema } : {}) },
        run: () => ({ content: [] }),
      } as never)
    give('honest')
    give('patterns', { type: 'object', patternProperties: Object.fromEntries(wide('^(a+)+', text, 1200)) })
    for (let i = 0; i < 20; i++)
      give(`fan_${i}`, { type: 'object', title: `${i}`, ...field(toD0, fan('allOf', 30, text)) })
    let tool: Record<string, any> = {}
    const stall = await longestStall(async () => {
      const input = { name: 'bombs', config: { mcp: { url: server.url } } }
      const fields = 'tool { id ... on McpTool { upstream { status notes tools { name } } } }'
      tool = (await h.mutate('createTool', input, fields))['tool']
    })
    const names = tool['upstream'].tools.map((one: { name: string }) => one.name)
    expect(names).toContain('honest')
    expect(names).not.toContain('patterns')
    expect(tool['upstream'].notes.join('\n')).toContain('"patterns" has an inputSchema that')
    expect(stall).toBeLessThan(mostStall)
  } finally {
    await server.kill()
  }
})
