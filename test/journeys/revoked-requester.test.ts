/** A call acts for its requester: when that key is no longer valid, nothing is sent. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { callRaw } from '../support/bridge.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

let count = 0

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 50 } }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const modern = await forFile(startModern())
modern.tools.set('pay', {
  tool: { name: 'pay', inputSchema: objectSchema({ amount: { type: 'number' } }) },
  run: () => ({ content: [] }),
})

const revoke = (id: string) => h.mutate('revokeApiKey', { id }, 'apiKey { id }')
const expire = (id: string) =>
  query(h.app.services.db, sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`)
const refused = { status: 'ERRORED', errorCode: 'forbidden', attempts: [] }

describe.each([
  ['revoked', revoke],
  ['expired', expire],
])('an approved call whose requester was %s meanwhile is not sent', (_name, end) => {
  test('when it is a direct call', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const key = await gate.key({ role: 'CALLER' })
    const { id, approval } = await gate.call(tool.id, { amount: 5 }, {}, key.secret)
    await end(key.id)
    await gate.decide(approval.id, 'APPROVE')
    expect(await gate.untilCall(id, ['SUCCEEDED', 'ERRORED'])).toMatchObject(refused)
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('when it is a call of a run', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const key = await gate.key({ role: 'CALLER' })
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const prompt = `call ${tool.name} {"amount": 5}\nthen\nsay done`
    const made = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', key.secret)
    const [approval] = await gate.pending(made['generation'].id)
    await end(key.id)
    await gate.decide(approval!['id'], 'APPROVE')
    const fields = 'toolCalls { status errorCode attempts { attempt } }'
    const ended = await h.until(made['generation'].id, ['COMPLETED', 'FAILED'], fields)
    expect(ended['toolCalls']).toEqual([refused])
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('when it came over the bridge', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const key = await gate.key({ role: 'CALLER' })
    const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
    const { body } = await callRaw(`${h.url}/mcp/${agentId}`, key.secret, tool.name, { amount: 5 })
    const { call_id: id, approval_id: approvalId } = body['result'].structuredContent
    await end(key.id)
    await gate.decide(approvalId, 'APPROVE')
    expect(await gate.untilCall(id, ['SUCCEEDED', 'ERRORED'])).toMatchObject(refused)
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('when it goes to an upstream', async () => {
    const name = `far_${++count}`
    const input = { name, config: { mcp: { url: modern.url } }, gate: { autoApprove: false } }
    const { tool } = await h.mutate('createTool', input, 'tool { id }')
    const key = await gate.key({ role: 'CALLER' })
    const { id, approval } = await gate.call(tool.id, { amount: 5 }, { action: 'pay' }, key.secret)
    await end(key.id)
    await gate.decide(approval.id, 'APPROVE')
    expect(await gate.untilCall(id, ['SUCCEEDED', 'ERRORED'])).toMatchObject(refused)
    expect(modern.seen.filter(({ method }) => method === 'tools/call')).toEqual([])
  })
})

/** A run with an approved call: of a key that the process has read, because it has committed a step for it. */
async function startApproved(key: { secret: string }) {
  const tool = await gate.gated({ autoApprove: false })
  const agentId = await fixtures.agent({ toolIds: [tool.id] })
  const prompt = `call ${tool.name} {"amount": 5}\nthen\nsay done`
  const made = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', key.secret)
  const id = made['generation'].id as string
  const [approval] = await gate.pending(id)
  return { tool, id, approvalId: approval!['id'] as string }
}
const calls = 'toolCalls { status errorCode attempts { attempt } }'

test('a key that is revoked after all that an approved call needs was read is found by the commit that starts it', async () => {
  const key = await gate.key({ role: 'CALLER' })
  const { tool, id, approvalId } = await startApproved(key)
  const { rates } = h.app.services
  const takeUse = rates.takeUse.bind(rates)
  // The rate limit is the last that is asked before the commit.
  rates.takeUse = async (...of) => {
    rates.takeUse = takeUse
    const waitMs = await takeUse(...of)
    await revoke(key.id)
    return waitMs
  }
  await gate.decide(approvalId, 'APPROVE')
  expect((await h.until(id, ['COMPLETED', 'FAILED'], calls))['toolCalls']).toEqual([refused])
  expect(gate.paid(tool.name)).toEqual([])
})

test('a direct call of a key that the process has read is not sent after its revocation', async () => {
  const key = await gate.key({ role: 'CALLER' })
  const tool = await gate.gated({ autoApprove: false })
  const approved = async () => {
    const { id, approval } = await gate.call(tool.id, { amount: 5 }, {}, key.secret)
    return { id, approve: () => gate.decide(approval.id, 'APPROVE') }
  }
  const [first, second] = [await approved(), await approved()]
  await first.approve()
  await gate.untilCall(first.id, ['SUCCEEDED'])
  await revoke(key.id)
  await second.approve()
  expect(await gate.untilCall(second.id, ['SUCCEEDED', 'ERRORED'])).toMatchObject(refused)
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('a call that its tool limits has not used it when the key was found to be revoked', async () => {
  const key = await gate.key({ role: 'CALLER' })
  const { id, approvalId } = await startApproved(key)
  const { rates } = h.app.services
  const [take, giveBack] = [rates.takeUse.bind(rates), rates.giveBackUse.bind(rates)]
  let [taken, given] = [0, 0]
  rates.takeUse = (...of) => (taken++, take(...of))
  rates.giveBackUse = (...of) => (given++, giveBack(...of))
  await revoke(key.id)
  await gate.decide(approvalId, 'APPROVE')
  await h.until(id, ['COMPLETED', 'FAILED'])
  Object.assign(rates, { takeUse: take, giveBackUse: giveBack })
  expect([taken, given]).toEqual([1, 1])
})
