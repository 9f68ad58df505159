/**
 * A call whose first attempt was sent, by a worker that was lost. Whatever keeps the second attempt from being sent,
 * nobody is told that the call did not run.
 */
import { getTableName, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { beforeEach, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let count = 0
/** How many of the next reads of secrets fail: they come between the commit of an attempt and its request. */
let failing = 0
/** Called when the first attempt has arrived, which gets no response. */
let arrived: () => void

const h = await forFile(openHarness({ leaseMs: 3000 }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const seen = new Set<string>()
const slow = await forFile(
  startLoopback((request, response) => {
    if (seen.has(request.url)) return void response.writeHead(200).end('paid')
    seen.add(request.url)
    arrived()
  }),
)
await h.mutate('setSecret', { name: 'PIN', value: 'a secret of eight' }, 'secret { name }')
const { db } = h.app.services
const select = db.select.bind(db)
db.select = (() => {
  const start = select()
  const from = start.from.bind(start)
  start.from = ((table: Parameters<typeof from>[0]) => {
    if (failing === 0 || getTableName(table as PgTable) !== 'secrets') return from(table)
    failing -= 1
    throw new ConnectionLostError()
  }) as typeof start.from
  return start
}) as typeof db.select
beforeEach(() => {
  failing = 0
})

/** A direct call, idempotent or not, whose first attempt is under way and has lost its worker when this resolves. */
async function lostCall({ idempotent = true, key = '' } = {}): Promise<{ id: string }> {
  const name = `slow_${++count}`
  const config = {
    http: {
      url: `${slow.url}/${name}`,
      headers: { 'x-pin': '{{secret:PIN}}' },
      inputSchema: objectSchema({}),
    },
  }
  const tool = { name, idempotent, gate: { autoApprove: false }, config }
  const { tool: made } = await h.mutate('createTool', tool, 'tool { id }')
  const { id, approval } = await gate.call(made.id, {}, {}, key || undefined)
  const underWay = new Promise<void>((resolve) => (arrived = resolve))
  await gate.decide(approval.id, 'APPROVE')
  await underWay
  return { id }
}

/** The lease ends, and the worker that had it may not write any more. */
const loseWorker = (id: string) =>
  query(
    h.app.services.db,
    sql`update tool_calls set epoch = epoch + 1, wake_at = now() - interval '1 second' where id = ${id}`,
  ).then(() => h.app.services.pubsub.publish([{ kind: 'work', table: 'tool_calls' }]))

test('the second attempt fails before it is sent: the call is repeated later, and settled by what the tool says', async () => {
  const { id } = await lostCall()
  failing = 1
  await loseWorker(id)
  const call = await gate.untilCall(id, ['SUCCEEDED', 'ERRORED', 'UNKNOWN'])
  expect(failing).toBe(0)
  expect(call).toMatchObject({ status: 'SUCCEEDED', attempt: 3 })
  expect(slow.seen.filter(({ url }) => url === `/slow_${count}`)).toHaveLength(2)
})

test('the key of the requester ends meanwhile: the outcome is unknown, not refused', async () => {
  const key = await gate.key({ role: 'CALLER' })
  const { id } = await lostCall({ key: key.secret })
  await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
  await loseWorker(id)
  const call = await gate.untilCall(id, ['SUCCEEDED', 'ERRORED', 'UNKNOWN'])
  expect(call).toMatchObject({ status: 'UNKNOWN', errorCode: 'outcome_unknown', attempt: 1 })
})

test('a call that must not be repeated is unknown at once', async () => {
  const { id } = await lostCall({ idempotent: false })
  await loseWorker(id)
  const call = await gate.untilCall(id, ['SUCCEEDED', 'ERRORED', 'UNKNOWN'])
  expect(call).toMatchObject({ status: 'UNKNOWN', attempt: 1 })
})
