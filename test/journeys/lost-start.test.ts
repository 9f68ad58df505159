/**
 * A worker tries to begin an attempt, and loses the row before the database has its statement. Another worker begins the
 * attempt of the same number and sends it: the first one, which has sent nothing, says nothing about it.
 */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { holdResponse, holdStatement } from '../support/held-statement.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

/** Called with the response of the next request, which gets none until the test gives it. */
let arrived: (answer: () => void) => void

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const upstream = await forFile(
  startLoopback((_request, response) => arrived(() => response.writeHead(200).end('paid'))),
)

/** Ends the lease: the row is due again and the next claim raises the epoch. */
async function takeAway(generationId: string): Promise<void> {
  await query(h.app.services.db, sql`update generations set wake_at = now() where id = ${generationId}`)
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
}

/** The second call of a run that sends one after the other; the statement that begins it is held back. */
async function secondCall(name: string) {
  const config = { http: { url: `${upstream.url}/${name}`, inputSchema: objectSchema({}) } }
  const { tool } = await h.mutate('createTool', { name, config }, 'tool { id }')
  const agent = await fixtures.agent({ toolIds: [tool.id], parallelToolCalls: false })
  arrived = (answer) => answer()
  const held = holdStatement(h.app.services.leaseDb, { begins: 'with', contains: 'attempt = t.attempt + 1' })
  const id = await fixtures.start(agent, `call ${name} {}\ncall ${name} {}\nthen\nsay done`)
  await held.arrived
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { toolCalls { id status } } }', { id })
  const [first, second] = data['generation'].toolCalls
  expect([first.status, second.status]).toEqual(['SUCCEEDED', 'PROPOSED'])
  return { id, callId: second.id as string, held }
}

/** Lets the first worker fail to begin the call; resolves when it has looked whether it may settle its attempt. */
async function loseStart(callId: string, held: { release(): void }): Promise<void> {
  const looked = holdResponse(h.app.services.leaseDb, {
    begins: 'select',
    contains: 'from "tool_calls" where id =',
    value: callId,
  })
  held.release()
  await looked.done
  looked.release()
  await new Promise((resolve) => setImmediate(resolve))
}

const settled = (callId: string) => gate.untilCall(callId, ['UNKNOWN', 'ERRORED', 'SUCCEEDED'])

test('another worker sent it and was lost: the outcome stays unknown, and its own late outcome counts', async () => {
  const { id, callId, held } = await secondCall('sent_by_another')
  const sent = new Promise<() => void>((resolve) => (arrived = resolve))
  await takeAway(id)
  const answer = await sent
  await takeAway(id)
  expect(await settled(callId)).toMatchObject({ status: 'UNKNOWN', attempt: 1 })
  await loseStart(callId, held)
  expect(await gate.toolCall(callId)).toMatchObject({ status: 'UNKNOWN', errorCode: 'outcome_unknown' })
  const late = h.collect(
    `subscription { projectEvents(after: "0", types: [UNKNOWN_CALL_RESOLVED]) {
      ... on UnknownCallResolvedEvent { toolCall { id status errorCode } } } }`,
    {},
    (events) => events.length === 1,
  )
  answer()
  expect(await late).toEqual([{ toolCall: { id: callId, status: 'SUCCEEDED', errorCode: null } }])
  expect(upstream.seen.filter(({ url }) => url === '/sent_by_another')).toHaveLength(2)
})
