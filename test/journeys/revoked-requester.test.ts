/** A call acts for its requester: when that key is no longer valid, nothing is sent. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { callRaw } from '../support/bridge.ts'
import { gateStory, type GateStory } from '../support/gate-story.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { makeCast, objectSchema, type Cast } from '../support/story.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

let h: Harness
let cast: Cast
let gate: GateStory
let modern: ModernServer
let count = 0

beforeAll(async () => {
  h = await openHarness({}, { mcp: { inlineHoldMs: 50 } })
  cast = await makeCast(h)
  gate = gateStory(h, cast)
  modern = await startModern()
  modern.tools.set('pay', {
    tool: { name: 'pay', inputSchema: objectSchema({ amount: { type: 'number' } }) },
    run: () => ({ content: [] }),
  })
})
afterAll(async () => {
  await Promise.all([cast?.close(), modern?.kill()])
  await h?.stop()
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
    const agentId = await cast.agent({ toolIds: [tool.id] })
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
    const agentId = await cast.agent({ toolIds: [tool.id], mcp: { enabled: true } })
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
