/**
 * Server, client and gated calls in one step: none waits for another, and the end of the generation voids open
 * approvals.
 */
import { sql } from 'drizzle-orm'
import { afterAll, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { makeFixtures, objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const held: (() => void)[] = []
/** Releases the pending responses of the upstream. */
const release = () => held.splice(0).forEach((answer) => answer())
const slow = await forFile(startLoopback((_request, response) => void held.push(() => response.end('late'))))
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
afterAll(() => release())

const stopped = { autoApprove: false }
let made = 0

async function slowTool(): Promise<{ id: string; name: string }> {
  const name = `slow_${++made}`
  const config = { http: { url: `${slow.url}/${name}`, inputSchema: objectSchema({}) } }
  return { id: (await h.mutate('createTool', { name, config }, 'tool { id }'))['tool'].id, name }
}

/** Events of a generation until there is one of this kind (about this tool), with their approvals. */
const events = (id: string, enough: (all: any[]) => boolean) =>
  h.collect(
    `subscription($id: ID!) { generationEvents(generationId: $id) { type
      ... on ToolCallSettledEvent { name status } ... on ToolCallStartedEvent { name }
      ... on ApprovalRequestedEvent { approval { id } } ... on ApprovalVoidedEvent { reason approval { id } } } }`,
    { id },
    enough,
  )
const has = (type: string, name?: string) => (all: any[]) =>
  all.some((event) => event.type === type && (!name || event.name === name))
const askedIn = (all: any[]): string => all.find((event) => event.type === 'APPROVAL_REQUESTED').approval.id

test('an approved call runs while a slow sibling still runs, and so does a client call', async () => {
  const [paid, late] = [await gate.gated(stopped), await slowTool()]
  const agentId = await fixtures.agent({ toolIds: [paid.id, late.id, fixtures.tools.ask] })
  const id = await fixtures.start(
    agentId,
    `call ${late.name} {}\ncall ${paid.name} {"amount": 1}\ncall ask {"word": "x"}\nthen\nsay done`,
  )
  const approvalId = askedIn(await events(id, has('REQUIRES_ACTION')))
  const running = await h.until(id, ['RUNNING'], 'requiredAction { toolCalls { id } approvals { id } }')
  expect(running['requiredAction']).toMatchObject({ toolCalls: [{}], approvals: [{ id: approvalId }] })
  await gate.decide(approvalId, 'APPROVE')
  const told = await events(id, has('TOOL_CALL_SETTLED', paid.name))
  expect(has('TOOL_CALL_SETTLED', late.name)(told)).toBe(false)
  expect(gate.paid(paid.name)).toHaveLength(1)
  const toolCallId = running['requiredAction'].toolCalls[0].id
  const outputs = [{ toolCallId, output: 'answered' }]
  await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'generation { id }')
  release()
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { name status }')
  expect(end['toolCalls']).toEqual([
    { name: late.name, status: 'SUCCEEDED' },
    { name: paid.name, status: 'SUCCEEDED' },
    { name: 'ask', status: 'SUCCEEDED' },
  ])
})

test('without parallelToolCalls an approved call takes its turn behind the one that runs', async () => {
  const [paid, late] = [await gate.gated(stopped), await slowTool()]
  const agentId = await fixtures.agent({ toolIds: [paid.id, late.id], parallelToolCalls: false })
  const id = await fixtures.start(
    agentId,
    `call ${late.name} {}\ncall ${paid.name} {"amount": 1}\nthen\nsay done`,
  )
  const approvalId = askedIn(await events(id, has('APPROVAL_REQUESTED')))
  const arrived = slow.seen.length
  await gate.decide(approvalId, 'APPROVE')
  await events(id, has('APPROVAL_DECIDED'))
  while (slow.seen.length < Math.max(arrived, 1)) await new Promise((resolve) => setImmediate(resolve))
  expect(gate.paid(paid.name)).toHaveLength(0)
  release()
  await h.until(id, ['COMPLETED'])
  const order = (await events(id, has('GENERATION_COMPLETED'))).filter((event) =>
    ['TOOL_CALL_STARTED', 'TOOL_CALL_SETTLED'].includes(event.type),
  )
  expect(order.map((event) => `${event.type} ${event.name}`)).toEqual([
    `TOOL_CALL_STARTED ${late.name}`,
    `TOOL_CALL_SETTLED ${late.name}`,
    `TOOL_CALL_STARTED ${paid.name}`,
    `TOOL_CALL_SETTLED ${paid.name}`,
  ])
})

test('a cancelled generation voids its approvals, and a later verdict is refused', async () => {
  const tool = await gate.gated(stopped)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
  const told = await events(id, has('GENERATION_CANCELLED'))
  expect(told).toContainEqual({
    type: 'APPROVAL_VOIDED',
    reason: 'GENERATION_ENDED',
    approval: { id: approval!['id'] },
  })
  expect(await gate.approval(approval!['id'])).toMatchObject({
    status: 'VOIDED',
    voidReason: 'GENERATION_ENDED',
    toolCall: { status: 'CANCELLED' },
    settledAt: expect.any(String),
  })
  const late = await gate.decide(approval!['id'], 'APPROVE')
  expect(late).toMatchObject({ __typename: 'ConflictError', code: 'CONFLICT' })
  expect(gate.paid(tool.name)).toEqual([])
})

test('a generation that is cancelled while a sibling runs does so too, and the sibling is allowed to finish', async () => {
  const [paid, late] = [await gate.gated(stopped), await slowTool()]
  const agentId = await fixtures.agent({ toolIds: [paid.id, late.id] })
  const id = await fixtures.start(agentId, `call ${late.name} {}\ncall ${paid.name} {"amount": 1}`)
  const approvalId = askedIn(await events(id, has('APPROVAL_REQUESTED')))
  await slow.nextRequest()
  while (!slow.seen.some((seen) => seen.url === `/${late.name}`))
    await new Promise((resolve) => setImmediate(resolve))
  await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
  release()
  const end = await h.until(id, ['CANCELLED'], 'toolCalls { name status }')
  expect(end['toolCalls']).toEqual([
    { name: late.name, status: 'SUCCEEDED' },
    { name: paid.name, status: 'CANCELLED' },
  ])
  expect(await gate.approval(approvalId)).toMatchObject({ status: 'VOIDED' })
})

test('a generation whose deadline has passed voids its approvals', async () => {
  const tool = await gate.gated(stopped)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  // The time that it waits for a person does not count, so the deadline must have passed before.
  await query(
    h.app.services.db,
    sql`update generations set deadline_at = now() - interval '1 minute', wake_at = now()
      where id = ${id} and status = 'WAITING'`,
  )
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  await h.until(id, ['EXPIRED'])
  expect(has('APPROVAL_VOIDED')(await events(id, has('GENERATION_EXPIRED')))).toBe(true)
  expect(await gate.approval(approval!['id'])).toMatchObject({
    status: 'VOIDED',
    voidReason: 'GENERATION_ENDED',
  })
  expect(await gate.decide(approval!['id'], 'APPROVE')).toMatchObject({ code: 'CONFLICT' })
})

test('an approval expires while a sibling still runs', async () => {
  const [paid, late] = [await gate.gated(stopped), await slowTool()]
  const agentId = await fixtures.agent({ toolIds: [paid.id, late.id] })
  const id = await fixtures.start(
    agentId,
    `call ${late.name} {}\ncall ${paid.name} {"amount": 1}\nthen\nsay done`,
  )
  const approvalId = askedIn(await events(id, has('APPROVAL_REQUESTED')))
  await gate.bringForward(approvalId, 'expiry')
  const told = await events(id, has('APPROVAL_EXPIRED'))
  expect(has('TOOL_CALL_SETTLED', late.name)(told)).toBe(false)
  while (!slow.seen.some((seen) => seen.url === `/${late.name}`))
    await new Promise((resolve) => setImmediate(resolve))
  release()
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { name status }')
  expect(end['toolCalls']).toEqual([
    { name: late.name, status: 'SUCCEEDED' },
    { name: paid.name, status: 'EXPIRED' },
  ])
})

test('a late client may end the run, and then the open approval is void', async () => {
  const paid = await gate.gated(stopped)
  const settings = { clientTimeoutMs: 1000, onClientTimeout: 'EXPIRE' }
  const agentId = await fixtures.agent({ toolIds: [paid.id, fixtures.tools.ask], ...settings })
  const id = await fixtures.start(agentId, `call ask {"word": "x"}\ncall ${paid.name} {"amount": 1}`)
  const [approval] = await gate.pending(id)
  await h.until(id, ['EXPIRED'])
  expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'VOIDED' })
})
