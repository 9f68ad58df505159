/**
 * A run that is created or resumed while its process has a free slot is claimed in the same statement, and what the process
 * remembers saves reads. Here are the races that this could lose.
 */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { openHarness } from '../support/harness.ts'
import { holdResponse, loseResponse, watchStatements } from '../support/held-statement.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let made = 0

const upstream = await forFile(
  startLoopback((request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end(request.url),
  ),
)
// A lease that is longer than any test: nothing here may be saved by its end.
const h = await forFile(openHarness({ leaseMs: 300_000 }))

const run = (text: ReturnType<typeof sql>) => query<Record<string, any>>(h.app.services.db, text)
const ends = ['COMPLETED', 'FAILED', 'CANCELLED']
const asking = 'call ask {"word": "x"}\nthen\nsay done'

async function agentWith(config: object, more: object = {}): Promise<{ agentId: string; toolId: string }> {
  const number = ++made
  const name = 'http' in config ? `pay_${number}` : `ask_${number}`
  const { tool } = await h.mutate('createTool', { name, config, ...more }, 'tool { id }')
  const input = { name: `agent ${number}`, toolIds: [tool.id] }
  const { agent } = await h.mutate('createAgent', input, 'agent { id }')
  return { agentId: agent.id, toolId: tool.id }
}
const asker = () => agentWith({ client: { inputSchema: objectSchema({ word: { type: 'string' } }) } })

async function start(agentId: string, prompt: string, key?: string): Promise<string> {
  const result = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id status }', key)
  expect(result).toMatchObject({ generation: { status: 'QUEUED' } })
  return result['generation'].id
}
const ask = (number = made) => asking.replace('ask', `ask_${number}`)

async function waiting(id: string): Promise<string> {
  const { requiredAction } = await h.until(id, ['REQUIRES_ACTION'])
  return requiredAction.toolCalls[0].id
}
const submit = (generationId: string, toolCallId: string, output: unknown = 'yes') =>
  h.mutate('submitToolOutputs', { generationId, outputs: [{ toolCallId, output }] }, 'outcomes { status }')

const eventsOf = async (id: string) =>
  (await run(sql`select type from events where generation_id = ${id} order by seq`)).map(({ type }) => type)

const allEvents = [
  'GENERATION_QUEUED',
  'GENERATION_STARTED',
  'MESSAGE_COMMITTED',
  'TOOL_CALL_PROPOSED',
  'REQUIRES_ACTION',
  'TOOL_CALL_SETTLED',
  'GENERATION_RESUMED',
  'MESSAGE_COMMITTED',
  'GENERATION_COMPLETED',
]

test('a run that pauses and resumes needs two statements until it waits, and three from its output to its end', async () => {
  const { agentId } = await asker()
  const first = await start(agentId, ask())
  await submit(first, await waiting(first))
  await h.until(first, ends)

  const { db } = h.app.services
  // The id is known only afterwards: the first statement is the insert of the run.
  const insert = holdResponse(db, { begins: 'with a as', contains: 'insert into generations' })
  const starting = start(agentId, ask())
  await insert.done
  const [{ id }] = (await run(sql`select id from generations order by created_at desc limit 1`)) as [
    { id: string },
  ]
  const whole = watchStatements(db, id)
  insert.release()
  await starting
  const isSettled = async (status: string) => {
    const [row] = await h.app.services.db
      .execute(sql`select status from generations where id = ${id}::text || ''`)
      .then((result: any) => result.rows ?? result)
    return row.status === status
  }
  while (!(await isSettled('WAITING'))) await new Promise(setImmediate)
  const loop = (seen: string[]) => seen.filter((text) => !text.startsWith('select status from'))
  expect(loop(whole.seen).map((text) => text.slice(0, 29))).toEqual(['with g as (update generations'])
  whole.stop()

  const callId = await waiting(id)
  const resumed = watchStatements(db, id)
  await submit(id, callId)
  while (!(await isSettled('COMPLETED'))) await new Promise(setImmediate)
  resumed.stop()
  expect(loop(resumed.seen).map((text) => text.slice(0, 12))).toEqual([
    'select id as',
    'with g as (u',
    'with g as (u',
  ])
  expect(await eventsOf(id)).toEqual(allEvents)
})

test('an agent that was changed without any hint is used as it is now', async () => {
  const { agentId } = await asker()
  await h.until(await start(agentId, 'say one'), ends)
  await run(sql`update agents set version = version + 1,
    definition = jsonb_set(definition, '{instructions}', '"be new"') where id = ${agentId}`)
  const id = await start(agentId, 'say two')
  expect(
    await run(sql`select agent_version, settings->>'instructions' as told from generations where id = ${id}`),
  ).toEqual([{ agent_version: 2, told: 'be new' }])
  await h.until(id, ends)
  await run(sql`delete from agents where id = ${agentId}`)
  expect(await h.mutate('startGeneration', { agentId, prompt: 'say' }, 'generation { id }')).toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await run(sql`select count(*)::int as n from generations where agent_id = ${agentId}`)).toEqual([
    { n: 2 },
  ])
})

test('an override that the changed agent allows is not refused because of what is remembered', async () => {
  const { agentId, toolId } = await asker()
  await h.until(await start(agentId, 'say one'), ends)
  const other = (await asker()).toolId
  await run(sql`update agents set version = version + 1,
    definition = jsonb_set(definition, '{toolIds}', ${JSON.stringify([toolId, other])}::text::jsonb)
    where id = ${agentId}`)
  const input = { agentId, prompt: 'say two', activeToolIds: [other] }
  const result = await h.mutate('startGeneration', input, 'generation { id }')
  expect(result).toMatchObject({ generation: { id: expect.stringMatching(/^gen_/) } })
})

test('a tool that was changed without any hint has its new schema in the next run', async () => {
  const { agentId, toolId } = await asker()
  const prompt = ask()
  await waiting(await start(agentId, prompt))
  const schema = JSON.stringify(objectSchema({ word: { type: 'number' } }))
  await run(sql`with t as (
      update tools set version = version + 1,
        definition = jsonb_set(definition, '{inputSchema}', ${schema}::text::jsonb)
      where id = ${toolId} returning *
    )
    insert into tool_versions (tool_id, version, project_id, definition)
    select id, version, project_id, definition from t`)
  const id = await start(agentId, prompt)
  const { toolCalls } = await h.until(id, ends, 'toolCalls { status }')
  expect(toolCalls[0]).toEqual({ status: 'INVALID' })
})

test('a key that was revoked without any hint starts no run, and the calls of its runs are refused', async () => {
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: objectSchema({}) }
  const { agentId, toolId } = await agentWith({ http })
  const client = { client: { inputSchema: objectSchema({ word: { type: 'string' } }) } }
  const { tool } = await h.mutate('createTool', { name: `first_${made}`, config: client }, 'tool { id }')
  await h.mutate('updateAgent', { id: agentId, toolIds: [toolId, tool.id] }, 'agent { id }')
  const pay = `call pay_${made} {}\nthen\nsay done`
  const created = await h.mutate('createApiKey', { name: 'caller', role: 'CALLER' }, 'secret apiKey { id }')
  const calls = 'toolCalls { status errorCode }'
  const first = await start(agentId, pay, created['secret'])
  expect((await h.until(first, ends, calls))['toolCalls']).toEqual([{ status: 'SUCCEEDED', errorCode: null }])
  const second = await start(agentId, `call first_${made} {"word":"x"}\nthen\n${pay}`, created['secret'])
  const [call] = (await h.until(second, ['REQUIRES_ACTION'], 'toolCalls { id }'))['toolCalls']
  await run(sql`update api_keys set revoked_at = now() where id = ${created['apiKey'].id}`)
  await expect(start(agentId, pay, created['secret'])).rejects.toThrow('UNAUTHENTICATED')
  const outputs = [{ toolCallId: call.id, output: 'y' }]
  await h.mutate('submitToolOutputs', { generationId: second, outputs }, 'generation { id }')
  expect((await h.until(second, ends, calls))['toolCalls'][1]).toEqual({
    status: 'ERRORED',
    errorCode: 'forbidden',
  })
  expect(upstream.seen).toHaveLength(1)
})

test('a run that is cancelled before its creator has the response is cancelled before its first step', async () => {
  const { agentId } = await asker()
  await h.until(await start(agentId, 'say one'), ends)
  const insert = holdResponse(h.app.services.db, { begins: 'with a as', contains: 'insert into generations' })
  const starting = start(agentId, 'say never')
  await insert.done
  const [{ id }] = (await run(sql`select id from generations order by created_at desc limit 1`)) as [
    { id: string },
  ]
  await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
  insert.release()
  await starting
  expect(await h.until(id, ends)).toMatchObject({ status: 'CANCELLED', stepCount: 0 })
})

test('a run whose creation got no response runs before the end of its lease', async () => {
  const { agentId } = await asker()
  await h.until(await start(agentId, 'say one'), ends)
  loseResponse(h.app.services.db, { begins: 'with a as', contains: 'insert into generations' })
  const query_ = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) { __typename } }`
  const lost = await h.gql(query_, { i: { agentId, prompt: 'say two' } })
  expect(lost.errors).toHaveLength(1)
  const [{ id }] = (await run(sql`select id from generations order by created_at desc limit 1`)) as [
    { id: string },
  ]
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED', output: { text: 'two' } })
})

test('an output whose response was lost is accepted once, and the run goes on before the end of its lease', async () => {
  const { agentId } = await asker()
  const id = await start(agentId, ask())
  const callId = await waiting(id)
  loseResponse(h.app.services.db, { begins: 'with g as', contains: 'last_seq = last_seq +', value: id })
  const query_ = `mutation($i: SubmitToolOutputsInput!) { submitToolOutputs(input: $i) { __typename } }`
  const lost = await h.gql(query_, {
    i: { generationId: id, outputs: [{ toolCallId: callId, output: 'yes' }] },
  })
  expect(lost.errors).toHaveLength(1)
  expect(await submit(id, callId)).toMatchObject({ outcomes: [{ status: 'UNCHANGED' }] })
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED', stepCount: 2 })
  expect(await submit(id, callId, 'no')).toMatchObject({ code: 'GENERATION_TERMINAL' })
  const types = await eventsOf(id)
  for (const type of ['TOOL_CALL_SETTLED', 'GENERATION_COMPLETED'])
    expect(types.filter((one) => one === type)).toHaveLength(1)
})

test('a claim of another worker is not released for an output whose statement was lost', async () => {
  const { agentId } = await asker()
  const id = await start(agentId, ask())
  const callId = await waiting(id)
  const { db, leaseDb } = h.app.services
  const lose = aroundStatements(db, async ({ text, params, execute }) => {
    if (!text.startsWith('with g as') || !params.includes(id)) return execute()
    lose()
    // The client's retry at another replica, whose worker has the run now.
    await run(sql`update generations set status = 'RUNNING', epoch = epoch + 1,
      wake_at = now() + interval '1 hour' where id = ${id}`)
    throw new ConnectionLostError()
  })
  const released = new Promise<void>((resolve) => {
    const stop = aroundStatements(leaseDb, async ({ text, params, execute }) => {
      const result = await execute()
      if (text.startsWith('with mine as') && JSON.stringify(params).includes(id)) {
        stop()
        resolve()
      }
      return result
    })
  })
  await expect(submit(id, callId)).rejects.toThrow()
  await released
  const [row] = await run(sql`select status, wake_at > now() as held from generations where id = ${id}`)
  expect(row).toEqual({ status: 'RUNNING', held: true })
})

test('of two outputs that were read at the same moment both are accepted, and the run resumes once', async () => {
  const { agentId } = await asker()
  const name = `ask_${made}`
  const id = await start(agentId, `call ${name} {"word": "x"}\ncall ${name} {"word": "y"}\nthen\nsay done`)
  const { requiredAction } = await h.until(id, ['REQUIRES_ACTION'])
  const [one, two] = requiredAction.toolCalls as [{ id: string }, { id: string }]
  const read = holdResponse(h.app.services.db, {
    begins: 'select id as',
    contains: 'from generations where id',
    value: id,
  })
  const slow = submit(id, one.id)
  await read.done
  expect(await submit(id, two.id)).toMatchObject({ outcomes: [{ status: 'ACCEPTED' }] })
  read.release()
  expect(await slow).toMatchObject({ outcomes: [{ status: 'ACCEPTED' }] })
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED', stepCount: 2 })
  const types = await eventsOf(id)
  expect(types.filter((type) => type === 'GENERATION_RESUMED')).toHaveLength(1)
  expect(types.filter((type) => type === 'TOOL_CALL_SETTLED')).toHaveLength(2)
})

test('an output that was read before the run was cancelled is not accepted after it', async () => {
  const { agentId } = await asker()
  const id = await start(agentId, ask())
  const callId = await waiting(id)
  const read = holdResponse(h.app.services.db, {
    begins: 'select id as',
    contains: 'from generations where id',
    value: id,
  })
  const slow = submit(id, callId)
  await read.done
  await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
  read.release()
  expect(await slow).toMatchObject({ code: 'GENERATION_TERMINAL' })
  expect(await h.until(id, ends, 'toolCalls { status }')).toMatchObject({
    status: 'CANCELLED',
    toolCalls: [{ status: 'CANCELLED' }],
  })
})

test('without a free slot a run is queued, and runs when one is free', async () => {
  let answer = () => {}
  const slow = await startLoopback((_request, response) => {
    answer = () => response.writeHead(200, { 'content-type': 'text/plain' }).end('paid')
  })
  const full = await openHarness({ workerSlots: 1, leaseMs: 300_000 })
  try {
    const http = { url: slow.url, method: 'POST', inputSchema: objectSchema({}) }
    const { tool } = await full.mutate('createTool', { name: 'pay', config: { http } }, 'tool { id }')
    const { agent } = await full.mutate('createAgent', { name: 'payer', toolIds: [tool.id] }, 'agent { id }')
    const begin = async (prompt: string) =>
      (await full.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }'))['generation']
        .id
    const first = await begin('call pay {}\nthen\nsay one')
    while (slow.seen.length === 0) await new Promise(setImmediate)
    const second = await begin('say two')
    const [row] = await query<{ status: string; epoch: number }>(
      full.app.services.db,
      sql`select status, epoch::int from generations where id = ${second}`,
    )
    expect(row).toEqual({ status: 'QUEUED', epoch: 0 })
    answer()
    for (const id of [first, second])
      expect(await full.until(id, ends)).toMatchObject({ status: 'COMPLETED' })
  } finally {
    await full.stop()
    await slow.close()
  }
})
