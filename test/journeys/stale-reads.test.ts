/** A worker reads its rows while its own calls end: what it reads may be older than what it has done. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { inGeneration, startCall } from '../../src/domain/tool-calls/index.ts'
import { commit } from '../../src/domain/generations/transaction/commit.ts'
import { query } from '../../src/store/db/database.ts'
import { LeaseLostError } from '../../src/store/work/work.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { openHarness } from '../support/harness.ts'
import { holdResponse } from '../support/held-statement.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { oneLine } from '../support/one-line.ts'
import { forFile } from '../support/for-file.ts'

let answerPay: (() => void) | null = null

const upstream = await forFile(
  startLoopback((_request, response) => {
    answerPay = () => response.writeHead(200, { 'content-type': 'text/plain' }).end('paid')
  }),
)
const h = await forFile(openHarness({ databaseUrl: null }))

/** Delays the next statement with this text and value before the database gets it. */
function delayNext(text: string, value: string): { reached: Promise<void>; release(): void } {
  const { db } = h.app.services
  let reach = () => {}
  let release = () => {}
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const released = new Promise<void>((resolve) => (release = resolve))
  const stop = aroundStatements(db, async (sent) => {
    if (sent.text.startsWith('select') && sent.text.includes(oneLine(text)) && sent.params.includes(value)) {
      stop()
      reach()
      await released
    }
    return sent.execute()
  })
  return { reached, release: () => release() }
}

const makeTool = async (name: string, config: object, more = {}) =>
  (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id as string

const settled = (id: string) =>
  query<{ data: { name: string; status: string } }>(
    h.app.services.db,
    sql`select data from events where generation_id = ${id} and type = 'TOOL_CALL_SETTLED' order by seq`,
  )

test('a call that ends while the worker reads is neither sent again nor reported as unknown', async () => {
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: objectSchema({}) }
  const pay = await makeTool('pay', { http })
  const ask = await makeTool('ask', { client: { inputSchema: objectSchema({}) } })
  const { agent } = await h.mutate('createAgent', { name: 'payer', toolIds: [pay, ask] }, 'agent { id }')
  const prompt = 'call pay {}\ncall ask {}\nthen\nsay both done'
  const { generation } = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
  const id: string = generation.id
  const until = (n: number, type: string) =>
    h.collect(
      'subscription($id: ID!) { generationEvents(generationId: $id) { type } }',
      { id },
      (events) => events.filter((event) => event.type === type).length >= n,
    )
  while (!answerPay) await new Promise((resolve) => setImmediate(resolve))

  // The worker reads again, since a client's output may have arrived; the result of this read is delayed.
  const look = holdResponse(h.app.services.db, { begins: 'select', contains: 'from tool_calls', value: id })
  await look.done
  answerPay()
  await until(1, 'TOOL_CALL_SETTLED')
  look.release()

  const [{ id: callId }] = await query<{ id: string }>(
    h.app.services.db,
    sql`select id from tool_calls where generation_id = ${id} and runtime_name = 'ask'`,
  ).then((rows) => rows as [{ id: string }])
  await h.mutate(
    'submitToolOutputs',
    { generationId: id, outputs: [{ toolCallId: callId, output: 'yes' }] },
    'outcomes { status }',
  )
  const end = await h.until(id, ['COMPLETED', 'FAILED'], 'toolCalls { name status attempt }')
  expect(end).toMatchObject({
    status: 'COMPLETED',
    toolCalls: [
      { name: 'pay', status: 'SUCCEEDED', attempt: 1 },
      { name: 'ask', status: 'SUCCEEDED' },
    ],
  })
  expect(upstream.seen).toHaveLength(1)
  expect((await settled(id)).map(({ data }) => [data.name, data.status])).toEqual([
    ['pay', 'SUCCEEDED'],
    ['ask', 'SUCCEEDED'],
  ])
})

test('a toolChoice that comes with the last output applies, although it arrives during a read', async () => {
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: objectSchema({}) }
  const pay = await makeTool('pay_then', { http })
  const ask = await makeTool('ask_then', { client: { inputSchema: objectSchema({}) } })
  const { agent } = await h.mutate('createAgent', { name: 'chooser', toolIds: [pay, ask] }, 'agent { id }')
  answerPay = null
  const prompt = 'call pay_then {}\ncall ask_then {}\nthen\nsay done'
  const { generation } = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
  const id: string = generation.id
  while (!answerPay) await new Promise((resolve) => setImmediate(resolve))
  const [asked] = await query<{ id: string }>(
    h.app.services.db,
    sql`select id from tool_calls where generation_id = ${id} and runtime_name = 'ask_then'`,
  )
  // The worker reads as soon as its own call is settled; the row may have been read before the calls.
  const update = { begins: 'with g as', contains: 'update generations', value: id }
  const paid = holdResponse(h.app.services.db, update)
  ;(answerPay as () => void)()
  await paid.done
  const look = delayNext('from "tool_calls"', id)
  paid.release()
  await look.reached
  const events_ = 'subscription($id: ID!) { generationEvents(generationId: $id) { type } }'
  await h.collect(events_, { id }, (events) => events.some((event) => event.type === 'TOOL_CALL_SETTLED'))
  const outputs = [{ toolCallId: asked!.id, output: 'yes' }]
  await h.mutate(
    'submitToolOutputs',
    { generationId: id, outputs, toolChoice: { mode: 'NONE' } },
    'outcomes { status }',
  )
  look.release()
  await h.until(id, ['COMPLETED', 'FAILED'])
  const steps = await query<{ choice: unknown }>(
    h.app.services.db,
    sql`select tool_choice as choice from steps where generation_id = ${id} order by step_index`,
  )
  expect(steps.map((step) => step.choice)).toEqual([{ type: 'auto' }, { type: 'none' }])
})

test('no commit starts a settled call, whatever its worker has read', async () => {
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: objectSchema({}) }
  const pay = await makeTool('pay_once', { http })
  const ask = await makeTool('ask_late', { client: { inputSchema: objectSchema({}) } })
  const { agent } = await h.mutate('createAgent', { name: 'once', toolIds: [pay, ask] }, 'agent { id }')
  const started = { agentId: agent.id, prompt: 'call pay_once {}\ncall ask_late {}\nthen\nsay done' }
  answerPay = null
  const { generation } = await h.mutate('startGeneration', started, 'generation { id }')
  while (!answerPay) await new Promise((resolve) => setImmediate(resolve))
  ;(answerPay as () => void)()
  await h.until(generation.id, ['REQUIRES_ACTION'])
  const row = async () =>
    (
      await query<{ epoch: number; lastSeq: number; callId: string; status: string; attempt: number }>(
        h.app.services.db,
        sql`select g.epoch::int, g.last_seq::int as "lastSeq", t.id as "callId", t.status, t.attempt
          from generations g join tool_calls t on t.generation_id = g.id and t.runtime_name = 'pay_once'
          where g.id = ${generation.id} and g.status = 'WAITING' and t.settled_at is not null`,
      )
    )[0]
  let before = await row()
  while (!before) before = await row()
  const again = commit(
    h.app.services.db,
    { id: generation.id, epoch: before.epoch },
    { wakeAt: null, starting: [before.callId], calls: [startCall(before.callId, inGeneration)] },
  )
  await expect(again).rejects.toThrow(LeaseLostError)
  expect(await row()).toEqual(before)
})
