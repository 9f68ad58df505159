/** Cost limits: lists cost their maximum size, JSON fields have a weight, and every list has a maximum. */
import { sql } from 'drizzle-orm'
import {
  getNamedType,
  getNullableType,
  isInterfaceType,
  isListType,
  isObjectType,
  type GraphQLField,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonCost, listMaxima } from '../../src/api/graphql/builder/list-bounds.ts'
import { schemaOf } from '../../src/api/graphql/types/schema.ts'
import { query } from '../../src/store/db/database.ts'
import { openHarness, type Harness } from '../support/harness.ts'

const fields = Object.values(schemaOf().getTypeMap())
  .filter((type) => (isObjectType(type) || isInterfaceType(type)) && !type.name.startsWith('__'))
  .flatMap((type) =>
    Object.values(
      (type as never as { getFields(): Record<string, GraphQLField<unknown, unknown>> }).getFields(),
    ).map((field) => ({ name: `${type.name}.${field.name}`, field })),
  )
const isConnection = (name: string) => /Connection\.(nodes|edges)$/.test(name)

describe('the schema', () => {
  const lists = fields.filter(({ field }) => isListType(getNullableType(field.type)))

  test('has lists, so that the checks do not pass on nothing', () => {
    expect(lists.length).toBeGreaterThan(50)
    expect(fields.filter(({ field }) => field.name === 'nodes').length).toBeGreaterThan(10)
  })

  test.each(lists.filter(({ name }) => !isConnection(name)))(
    '$name states its maximum, in words and as its cost',
    ({ name, field }) => {
      const max = listMaxima[name]
      expect(max).toBeGreaterThan(0)
      const words = [field.description, ...field.args.map((arg) => arg.description)].join(' ')
      expect(words).toMatch(/at most/i)
      const cost = field.extensions['complexity'] as any
      const counted = typeof cost === 'function' ? cost({ ids: Array(max) }, {}, field) : cost
      if (name === 'GenerationEventPage.nodes') expect(counted).toEqual({ field: 0, multiplier: 1 })
      // They are pieces of one value of bounded length, which is read and cut as a whole.
      else if (['CallSummary.parts', 'WebhookAnswer.headers'].includes(name))
        expect(counted).toEqual({ field: 5, multiplier: 1 })
      else expect(counted.multiplier).toBe(max)
    },
  )

  test('no maximum is stated for a list that no longer exists', () => {
    const names = new Set(lists.map(({ name }) => name))
    expect(Object.keys(listMaxima).filter((name) => !names.has(name))).toEqual([])
  })

  test('every field that returns a page counts its entries by its arguments', () => {
    const leading = fields.filter(({ field }) => /Connection$|EventPage$/.test(getNamedType(field.type).name))
    for (const { name, field } of leading) {
      const cost = field.extensions['complexity'] as any
      expect(cost({ first: 7 }, {}, field), name).toEqual({ field: 1, multiplier: 7 })
      expect(cost({}, {}, field).multiplier, name).toBe(20)
      expect(cost({ first: 100_000 }, {}, field).multiplier, name).toBe(100)
    }
  })

  test('every JSON field has a weight', () => {
    const json = fields.filter(({ field }) => getNamedType(field.type).name.startsWith('JSON'))
    expect(json.length).toBeGreaterThan(20)
    for (const { name, field } of json) expect(field.extensions['complexity'], name).toBe(jsonCost)
  })
})

describe('operations', () => {
  let h: Harness
  beforeAll(async () => {
    h = await openHarness()
  })
  afterAll(() => h.stop())
  const fault = async (text: string) => (await h.gql(text)).errors?.[0]?.message ?? null

  test.each([
    '{generations(first:90){nodes{steps{toolCalls{content}}}}}',
    '{ generations { nodes { toolCalls { content structuredContent arguments } } } }',
    '{ agents(first: 100) { nodes { tools { inputSchema outputSchema presetParameters } } } }',
    'query($n: Int = 100) { generations(first: $n) { nodes { steps(first: 100) { toolCalls(first: 20) { id } } } } }',
    '{ agents { nodes { agents { agents { tools { id } } } } } }',
    '{ tools(first: 100) { nodes { ... on McpTool { actions { inputSchema } } } } }',
  ])('%s is refused for what it can hold', async (text) => {
    expect(await fault(text)).toMatch(/complexity of \d+; at most 150000/)
  })

  test.each([
    '{ generation(id: "gen_x") { steps { index text toolCalls { id name status content } } toolCalls { id content } } }',
    '{ generations(first: 90) { nodes { id status steps(first: 5) { text toolCalls(first: 5) { id name } } } } }',
    '{ agents(first: 50) { nodes { id name toolIds tools { id name } } } }',
    '{ tools(first: 100) { nodes { id name inputSchema presetParameters } } }',
  ])('%s is answered', async (text) => {
    expect(await fault(text)).toBeNull()
  })

  test('calls and steps of a run are paged', async () => {
    const inputSchema = { type: 'object', properties: { n: { type: 'integer' } } }
    const { tool } = (await h.mutate(
      'createTool',
      { name: 'ask', config: { client: { inputSchema } } },
      'tool { id }',
    )) as any
    const { agent } = (await h.mutate(
      'createAgent',
      { name: 'paged', toolIds: [tool.id] },
      'agent { id }',
    )) as any
    const lines = [1, 2, 3, 4, 5].map((n) => `call ask {"n":${n}}`).join('\n')
    const started = await h.mutate(
      'startGeneration',
      { agentId: agent.id, prompt: lines },
      'generation { id }',
    )
    const id = started['generation'].id
    await h.until(id, ['REQUIRES_ACTION'])
    const read = async (args: string) => {
      const result = await h.gql(
        `{ generation(id: "${id}") { toolCalls${args} { id arguments } steps { toolCalls${args} { id } } } }`,
      )
      if (result.errors) return result.errors[0]!.extensions!['code']
      expect(result.data['generation'].steps[0].toolCalls.map((call: any) => call.id)).toEqual(
        result.data['generation'].toolCalls.map((call: any) => call.id),
      )
      return result.data['generation'].toolCalls
    }
    const all = await read('')
    expect(all.map((call: any) => call.arguments.n)).toEqual([1, 2, 3, 4, 5])
    expect(await read('(first: 2)')).toEqual(all.slice(0, 2))
    expect(await read(`(first: 2, after: "${all[1].id}")`)).toEqual(all.slice(2, 4))
    expect(await read(`(after: "${all[4].id}")`)).toEqual([])
    expect(await read('(after: "call_other")')).toBe('INVALID')
    expect(await read('(first: -1)')).toBe('INVALID')
  })

  test('rows that are too large together are not loaded from the database', async () => {
    const { db } = h.app.services
    const { tool } = (await h.mutate(
      'createTool',
      { name: 'fat', config: { client: { inputSchema: {} } } },
      'tool { id }',
    )) as any
    // Compressed values are weighed by their uncompressed size.
    await query(
      db,
      sql`update tools set definition = jsonb_set(definition, '{description}', to_jsonb(repeat('x', 5000000))) where id = ${tool.id}`,
    )
    await query(
      db,
      sql`insert into tools select (jsonb_populate_record(t, jsonb_build_object('id', t.id || n, 'name', t.name || n))).*
        from tools as t, generate_series(1, 3) as n where t.id = ${tool.id}`,
    )
    const read = (args: string) => h.gql(`{ tools${args} { nodes { id } } }`)
    expect((await read('')).errors).toMatchObject([{ extensions: { code: 'RESPONSE_TOO_LARGE' } }])
    expect((await read('(first: 1)')).errors).toBeUndefined()
  })
})
