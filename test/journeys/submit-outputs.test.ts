/** submitToolOutputs: partial, repeated, conflicting, late, and twenty at once on two replicas. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../support/fixtures.ts'

const payload = 'generation { id status } outcomes { toolCallId status error { code message } }'
const done = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']
const twoCalls = 'call ask {"word":"a"}\ncall tell {"word":"b"}\nthen\nsay end'

interface Services {
  name: string
  open(): Promise<{ replicas: Harness[]; close(): Promise<void> }>
}

const servers: Services[] = [
  {
    name: 'PGlite',
    open: async () => {
      const one = await openHarness({ databaseUrl: null })
      return { replicas: [one], close: () => one.stop() }
    },
  },
  {
    name: 'PostgreSQL, two replicas',
    open: async () => {
      const { url, drop } = await postgresDatabase()
      const replicas = [await openHarness({ databaseUrl: url }), await openHarness({ databaseUrl: url })]
      return {
        replicas,
        close: async () => {
          await Promise.all(replicas.map((one) => one.stop()))
          await drop()
        },
      }
    },
  },
]

describe.each(servers)('on $name', ({ name, open }) => {
  const skipped = name !== 'PGlite' && !hasPostgres
  let replicas: Harness[]
  let h: Harness
  let fixtures: Fixtures
  let agentId: string
  let close: () => Promise<void>

  beforeAll(async () => {
    if (skipped) return
    ;({ replicas, close } = await open())
    h = replicas[0]!
    fixtures = await makeFixtures(h)
    agentId = await fixtures.agent()
  })
  afterAll(async () => {
    await fixtures?.close()
    await close?.()
  })

  const submit = (generationId: string, outputs: object[], more = {}, on = h) =>
    on.mutate('submitToolOutputs', { generationId, outputs, ...more }, payload)
  const waiting = async (prompt = twoCalls) => {
    const id = await fixtures.start(agentId, prompt)
    const state = await h.until(id, ['REQUIRES_ACTION'])
    return { id, calls: state['requiredAction'].toolCalls.map((call: { id: string }) => call.id) as string[] }
  }

  test.skipIf(skipped)('a partial submission settles its call and keeps waiting for the other', async () => {
    const { id, calls } = await waiting()
    const first = await submit(id, [{ toolCallId: calls[0], output: 'one' }])
    expect(first['outcomes']).toEqual([{ toolCallId: calls[0], status: 'ACCEPTED', error: null }])
    expect(first['generation'].status).toBe('REQUIRES_ACTION')
    const state = await h.until(id, ['REQUIRES_ACTION'])
    expect(state['requiredAction'].toolCalls.map((call: any) => call.id)).toEqual([calls[1]])
    await submit(id, [{ toolCallId: calls[1], output: { n: 2 } }])
    expect(await h.until(id, done, 'toolCalls { content structuredContent }')).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [
        { content: [{ type: 'text', text: 'one' }], structuredContent: null },
        { content: [{ type: 'text', text: '{"n":2}' }], structuredContent: { n: 2 } },
      ],
    })
  })

  test.skipIf(skipped)(
    'an output after its time is refused, also before the call has timed out',
    async () => {
      const { id, calls } = await waiting()
      await query(h.app.services.db, sql`update tool_calls set deadline_at = now() where id = ${calls[0]}`)
      const outputs = calls.map((toolCallId) => ({ toolCallId, output: 'late' }))
      const { outcomes } = await submit(id, outputs)
      expect(outcomes.map((one: any) => [one.status, one.error?.code ?? null])).toEqual([
        ['REFUSED', 'EXPIRED'],
        ['ACCEPTED', null],
      ])
    },
  )

  test.skipIf(skipped)(
    'an identical repeat changes nothing, a different value is a conflict, an unknown id is an error for that id',
    async () => {
      const { id, calls } = await waiting()
      await submit(id, [{ toolCallId: calls[0], output: { a: 1, b: 2 } }])
      const again = await submit(id, [
        { toolCallId: calls[0], output: { b: 2, a: 1 } },
        { toolCallId: calls[0], output: 'other' },
        { toolCallId: 'call_nobody', output: 'x' },
        { toolCallId: calls[1], output: 'fine', isError: true },
      ])
      expect(again['outcomes'].map((one: any) => [one.status, one.error?.code ?? null])).toEqual([
        ['UNCHANGED', null],
        ['REFUSED', 'CONFLICT'],
        ['REFUSED', 'NOT_FOUND'],
        ['ACCEPTED', null],
      ])
      const end = await h.until(id, done, 'toolCalls { status isError }')
      expect(end['toolCalls']).toEqual([
        { status: 'SUCCEEDED', isError: false },
        { status: 'ERRORED', isError: true },
      ])
      const late = await submit(id, [{ toolCallId: calls[0], output: { a: 1, b: 2 } }])
      expect(late['outcomes'][0].status).toBe('UNCHANGED')
      expect(await submit(id, [{ toolCallId: calls[0], output: 'new' }])).toMatchObject({
        __typename: 'GenerationTerminalError',
        code: 'GENERATION_TERMINAL',
      })
    },
  )

  test.skipIf(skipped)('an atomic submission with one refusal writes nothing', async () => {
    const { id, calls } = await waiting()
    const outputs = [
      { toolCallId: calls[0], output: 'one' },
      { toolCallId: 'call_nobody', output: 'x' },
    ]
    const refused = await submit(id, outputs, { atomic: true })
    expect(refused['outcomes'].map((one: any) => one.status)).toEqual(['REFUSED', 'REFUSED'])
    const state = await h.until(id, ['REQUIRES_ACTION'])
    expect(state['requiredAction'].toolCalls).toHaveLength(2)
  })

  test.skipIf(skipped)(
    'tool choice and active tools sent with the outputs apply to the next step only',
    async () => {
      const { id, calls } = await waiting(
        'call ask {"word":"a"}\nthen\ncall look {"word":"x"}\nthen\ncall look {"word":"y"}\nthen\nsay end',
      )
      await submit(id, [{ toolCallId: calls[0], output: 'one' }], { activeToolIds: [] })
      const end = await h.until(id, done, 'toolCalls { name status errorCode arguments }')
      expect(end['toolCalls'].slice(1)).toMatchObject([
        { name: 'look', errorCode: 'unknown_tool' },
        { name: 'look', status: 'SUCCEEDED', arguments: { word: 'y' } },
      ])
    },
  )

  test.skipIf(skipped)('twenty identical submissions at once resume the loop once', async () => {
    for (let round = 0; round < 5; round++) {
      const { id, calls } = await waiting()
      const outputs = calls.map((toolCallId) => ({ toolCallId, output: 'same' }))
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) => submit(id, outputs, {}, replicas[i % replicas.length])),
      )
      const statuses = all.flatMap((one) => one['outcomes'].map((outcome: any) => outcome.status))
      expect(statuses.filter((status) => status === 'ACCEPTED')).toHaveLength(2)
      expect(statuses.filter((status) => status === 'UNCHANGED')).toHaveLength(38)
      const end = await h.until(id, done, 'steps { index attempt } events(first: 100) { nodes { type } }')
      expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'end' } })
      expect(end['steps']).toEqual([
        { index: 1, attempt: 1 },
        { index: 2, attempt: 1 },
      ])
      const types = end['events'].nodes.map((event: any) => event.type)
      expect(types.filter((type: string) => type === 'GENERATION_RESUMED')).toHaveLength(1)
      expect(types.filter((type: string) => type === 'GENERATION_COMPLETED')).toHaveLength(1)
    }
  })

  test.skipIf(skipped)(
    'an output that does not fit the outputSchema of its tool is refused and the call stays open',
    async () => {
      const config = { client: { inputSchema: objectSchema({}) } }
      const outputSchema = objectSchema({ n: { type: 'integer' } }, ['n'])
      const { tool } = await h.mutate('createTool', { name: 'counted', config, outputSchema }, 'tool { id }')
      const counting = await fixtures.agent({ toolIds: [tool.id] })
      const id = await fixtures.start(counting, 'call counted {}\nthen\nsay end')
      const state = await h.until(id, ['REQUIRES_ACTION'])
      const toolCallId = state['requiredAction'].toolCalls[0].id
      const refused = await submit(id, [{ toolCallId, output: { n: 'secret value' } }])
      expect(refused['outcomes'][0]).toMatchObject({ status: 'REFUSED', error: { code: 'INVALID' } })
      expect(refused['outcomes'][0].error.message).toContain('output.n')
      expect(refused['outcomes'][0].error.message).not.toContain('secret value')
      await submit(id, [{ toolCallId, output: { n: 1 } }])
      expect(await h.until(id, done)).toMatchObject({ status: 'COMPLETED' })
    },
  )

  test.skipIf(skipped)('cancelling settles open calls, once, and refuses later outputs', async () => {
    const { id, calls } = await waiting()
    const cancel = () =>
      h.mutate(
        'cancelGeneration',
        { generationId: id, reason: 'changed my mind' },
        'generation { status cancelReason }',
      )
    expect(await cancel()).toMatchObject({
      generation: { status: 'CANCELLED', cancelReason: 'changed my mind' },
    })
    expect(await cancel()).toMatchObject({ generation: { status: 'CANCELLED' } })
    const end = await h.until(
      id,
      done,
      'toolCalls { status errorCode } events(first: 100) { nodes { type } }',
    )
    expect(end['toolCalls']).toEqual([
      { status: 'CANCELLED', errorCode: 'cancelled' },
      { status: 'CANCELLED', errorCode: 'cancelled' },
    ])
    expect(end['events'].nodes.filter((event: any) => event.type === 'GENERATION_CANCELLED')).toHaveLength(1)
    expect(await submit(id, [{ toolCallId: calls[0], output: 'late' }])).toMatchObject({
      __typename: 'GenerationTerminalError',
    })
  })

  test.skipIf(skipped)(
    'cancelling a running generation aborts the model response, on whichever replica it runs',
    async () => {
      const id = await fixtures.start(
        agentId,
        'slow 500ms\nsay one two three four five six seven eight nine ten eleven twelve thirteen fourteen',
      )
      const text = 'subscription($id: ID!) { generationEvents(generationId: $id) { type } }'
      await h.collect(text, { id }, (events) => events.some((event) => event.type === 'TEXT_DELTA'))
      for (const replica of replicas)
        await replica.mutate('cancelGeneration', { generationId: id }, 'generation { status }')
      expect(await h.until(id, done)).toMatchObject({ status: 'CANCELLED', stepCount: 0 })
    },
  )

  test.skipIf(skipped)(
    'startGeneration with the same key returns the first generation; another request with it is a conflict',
    async () => {
      const input = { agentId, prompt: 'say once', idempotencyKey: `start ${name}` }
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          replicas[i % replicas.length]!.mutate('startGeneration', input, 'generation { id }'),
        ),
      )
      expect(new Set(all.map((one) => one['generation'].id)).size).toBe(1)
      expect(
        await h.mutate('startGeneration', { ...input, prompt: 'say twice' }, 'generation { id }'),
      ).toMatchObject({
        __typename: 'IdempotencyConflictError',
      })
    },
  )
})
