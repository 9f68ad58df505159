/** Grants: a verdict that lets some next calls pass, never without an end and a number. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { gateStory, type GateStory } from '../support/gate-story.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { makeCast, type Cast } from '../support/story.ts'

let h: Harness
let cast: Cast
let gate: GateStory

beforeAll(async () => {
  h = await openHarness()
  cast = await makeCast(h)
  gate = gateStory(h, cast)
})
afterAll(async () => {
  await cast?.close()
  await h?.stop()
})

type Tool = { id: string; name: string }
const plain = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 3600, maxUses: 100 }
const grantFields = `id toolName toolVersion scope schema agentId threadId requestedBy maxUses uses expiresAt
  approval { id } grantedBy revokedAt revokedBy createdAt`

/** Grants of the tool, newest first. */
async function grantsOf(tool: Tool, active?: boolean): Promise<Record<string, any>[]> {
  const { data } = await h.gql(
    `query($id: ID, $active: Boolean) { grants(toolId: $id, active: $active) { nodes { ${grantFields} } } }`,
    { id: tool.id, active },
  )
  return data['grants'].nodes
}

/** Approves a direct call with this grant; answers the grant. */
async function granted(tool: Tool, grant: object, args: object = { amount: 5 }, key?: string) {
  const call = await gate.call(tool.id, args, {}, key)
  const decided = await gate.decide(call['approval'].id, 'APPROVE', { grant: { ...plain, ...grant } })
  if (!decided['approval']) return decided
  await gate.untilCall(call['id'], ['SUCCEEDED'])
  return (await grantsOf(tool))[0]!
}

const passes = async (tool: Tool, args: object = { amount: 5 }, key?: string): Promise<boolean> =>
  (await gate.call(tool.id, args, {}, key))['status'] === 'SUCCEEDED'

const newTool = (more: object = {}) => gate.gated({ autoApprove: false }, more)

describe('the scope', () => {
  test('EXACT covers the same arguments only, in whatever order they are written', async () => {
    const tool = await newTool()
    await granted(tool, { scope: 'EXACT' }, { amount: 5, to: 'a' })
    expect(await passes(tool, { to: 'a', amount: 5 })).toBe(true)
    expect(await passes(tool, { amount: 6, to: 'a' })).toBe(false)
    expect(await passes(tool, { amount: 5 })).toBe(false)
  })

  test('SCHEMA covers what fits, presets merged in', async () => {
    const tool = await newTool({ presetParameters: { to: 'home' } })
    const schema = {
      properties: { amount: { maximum: 10 }, to: { const: 'home' } },
      required: ['amount', 'to'],
    }
    const grant = await granted(tool, { scope: 'SCHEMA', schema })
    expect(grant).toMatchObject({ scope: 'SCHEMA', schema })
    expect(await passes(tool, { amount: 10 })).toBe(true)
    expect(await passes(tool, { amount: 11 })).toBe(false)
  })

  test('TOOL covers every call of the tool, and of no other', async () => {
    const [tool, other] = [await newTool(), await newTool()]
    await granted(tool, {})
    expect([await passes(tool, { amount: 9000 }), await passes(other)]).toEqual([true, false])
  })

  test('EXACT of an edited call covers what ran, not what was asked', async () => {
    const tool = await newTool()
    const call = await gate.call(tool.id, { amount: 500 })
    const grant = { ...plain, scope: 'EXACT' }
    await gate.decide(call['approval'].id, 'APPROVE', { arguments: { amount: 50 }, grant })
    expect([await passes(tool, { amount: 50 }), await passes(tool, { amount: 500 })]).toEqual([true, false])
  })
})

describe('the holder', () => {
  const run = async (tool: Tool, agentId: string, more: object = {}) => {
    const id = await cast.start(agentId, `call ${tool.name} {"amount": 1}\nthen\nsay done`, more)
    return h.until(
      id,
      ['COMPLETED', 'AWAITING_APPROVAL'],
      'threadId requiredAction { approvals { id } } toolCalls { status grant { id } approval { id } }',
    )
  }
  const approveWith = async (waiting: Record<string, any>, holder: string) => {
    const [{ id }] = waiting['requiredAction'].approvals
    await gate.decide(id, 'APPROVE', { grant: { ...plain, holder } })
    return h.until(waiting['id'], ['COMPLETED'], 'threadId')
  }

  test('AGENT covers all runs of the agent, not those of another, and no direct call', async () => {
    const tool = await newTool()
    const [one, two] = [await cast.agent({ toolIds: [tool.id] }), await cast.agent({ toolIds: [tool.id] })]
    await approveWith(await run(tool, one), 'AGENT')
    const [grant] = await grantsOf(tool)
    expect(grant).toMatchObject({ agentId: one, threadId: null, requestedBy: null, toolName: tool.name })
    const passed = await run(tool, one)
    expect(passed).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [{ status: 'SUCCEEDED', grant: { id: grant!['id'] }, approval: null }],
    })
    expect((await run(tool, two))['status']).toBe('AWAITING_APPROVAL')
    expect(await passes(tool)).toBe(false)
  })

  test('THREAD covers later runs of the thread and nothing else', async () => {
    const tool = await newTool()
    const agentId = await cast.agent({ toolIds: [tool.id] })
    const { threadId } = await approveWith(await run(tool, agentId), 'THREAD')
    expect((await grantsOf(tool))[0]).toMatchObject({ threadId, agentId: null, requestedBy: null })
    expect((await run(tool, agentId, { threadId }))['status']).toBe('COMPLETED')
    expect((await run(tool, agentId))['status']).toBe('AWAITING_APPROVAL')
  })

  test('CALLER covers the key that asked, in direct calls and its runs, and no other key', async () => {
    const tool = await newTool()
    const [mine, theirs] = [await gate.key({ role: 'DEVELOPER' }), await gate.key({ role: 'DEVELOPER' })]
    await granted(tool, {}, { amount: 1 }, mine.secret)
    expect((await grantsOf(tool))[0]).toMatchObject({ requestedBy: mine.id, agentId: null, threadId: null })
    expect(await passes(tool, { amount: 2 }, mine.secret)).toBe(true)
    expect(await passes(tool, { amount: 2 }, theirs.secret)).toBe(false)
    const agentId = await cast.agent({ toolIds: [tool.id] })
    const input = { agentId, prompt: `call ${tool.name} {"amount": 1}\nthen\nsay done` }
    const { generation } = await h.mutate('startGeneration', input, 'generation { id }', mine.secret)
    expect((await h.until(generation.id, ['COMPLETED', 'AWAITING_APPROVAL']))['status']).toBe('COMPLETED')
  })

  test.each(['AGENT', 'THREAD'])('%s is refused for a direct call, which stays pending', async (holder) => {
    const tool = await newTool()
    expect(await granted(tool, { holder })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'grant', 'holder'] }],
    })
    expect(await grantsOf(tool)).toEqual([])
  })
})

describe('the end', () => {
  test('comes after so many uses, each recorded on the call it let through', async () => {
    const tool = await newTool()
    const grant = await granted(tool, { maxUses: 2 })
    expect(grant).toMatchObject({ uses: 0, maxUses: 2, toolVersion: 1, revokedAt: null })
    const calls = [await gate.call(tool.id), await gate.call(tool.id), await gate.call(tool.id)]
    expect(calls.map((call) => [call['status'], call['grant']?.id ?? null])).toEqual([
      ['SUCCEEDED', grant['id']],
      ['SUCCEEDED', grant['id']],
      ['AWAITING_APPROVAL', null],
    ])
    expect((await grantsOf(tool))[0]).toMatchObject({ uses: 2 })
    expect(await grantsOf(tool, true)).toEqual([])
    expect(gate.paid(tool.name)).toHaveLength(3)
  })

  test('comes with its time', async () => {
    const tool = await newTool()
    const grant = await granted(tool, { expiresInSeconds: 600 })
    const lasts = new Date(grant['expiresAt']).getTime() - new Date(grant['createdAt']).getTime()
    expect(lasts).toBe(600_000)
    expect(await grantsOf(tool, true)).toHaveLength(1)
    await query(h.app.house.db, sql`update grants set expires_at = now() where id = ${grant['id']}`)
    expect(await passes(tool)).toBe(false)
    expect([await grantsOf(tool, true), (await grantsOf(tool)).length]).toEqual([[], 1])
  })

  test('comes at once when it is revoked, once, with an event and an audit entry', async () => {
    const tool = await newTool()
    const { id, approval } = await granted(tool, {})
    expect(await passes(tool)).toBe(true)
    const approver = await gate.key({ role: 'APPROVER' })
    const revoke = (key?: string) => h.mutate('revokeGrant', { grantId: id }, `grant { ${grantFields} }`, key)
    const first = (await revoke(approver.secret))['grant']
    expect(first).toMatchObject({ revokedBy: approver.id, revokedAt: expect.any(String) })
    expect((await revoke())['grant']).toMatchObject({ revokedBy: approver.id, revokedAt: first.revokedAt })
    expect(await passes(tool)).toBe(false)
    expect(await grantsOf(tool, true)).toEqual([])
    const told = await gate.feed(
      ['GRANT_CREATED', 'GRANT_REVOKED'],
      '... on GrantCreatedEvent { name grant { id } approval { id } } ... on GrantRevokedEvent { name grant { id revokedAt } }',
      (events) => events.some((event) => event['type'] === 'GRANT_REVOKED' && event['grant'].id === id),
    )
    expect(told.filter((event) => event['grant'].id === id)).toMatchObject([
      { type: 'GRANT_CREATED', name: tool.name, approval },
      { type: 'GRANT_REVOKED', name: tool.name },
    ])
    const { data } = await h.gql('{ auditEntries(first: 5) { nodes { action resource principalId } } }')
    expect(data['auditEntries'].nodes).toContainEqual({
      action: 'grants:Revoke',
      resource: `grant/${id}`,
      principalId: approver.id,
    })
  })

  test('comes when the tool is changed', async () => {
    const tool = await newTool()
    await granted(tool, {})
    expect(await passes(tool)).toBe(true)
    await h.mutate('updateTool', { id: tool.id, description: 'another' }, 'tool { version }')
    expect(await passes(tool)).toBe(false)
  })
})

test.each([
  ['SCHEMA without a schema', { scope: 'SCHEMA' }, 'schema'],
  ['EXACT with a schema', { scope: 'EXACT', schema: {} }, 'schema'],
  ['a schema that does not compile', { scope: 'SCHEMA', schema: { type: 'x' } }, 'schema.type'],
  ['a schema that forbids this very call', { scope: 'SCHEMA', schema: { required: ['bonus'] } }, 'schema'],
  ['no time', { expiresInSeconds: 0 }, 'expiresInSeconds'],
  ['more than thirty days', { expiresInSeconds: 2_592_001 }, 'expiresInSeconds'],
  ['no uses', { maxUses: 0 }, 'maxUses'],
  ['more than a thousand uses', { maxUses: 1001 }, 'maxUses'],
])('%s is refused with its path, and nothing is decided', async (_what, grant, where) => {
  const tool = await newTool()
  const call = await gate.call(tool.id)
  const answer = await gate.decide(call['approval'].id, 'APPROVE', { grant: { ...plain, ...grant } })
  expect(answer).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'grant', ...where.split('.')] }],
  })
  expect(await gate.approval(call['approval'].id)).toMatchObject({ status: 'PENDING', votes: [] })
  expect([await grantsOf(tool), gate.paid(tool.name)]).toEqual([[], []])
})

test('a grant goes with the vote that reaches the quorum', async () => {
  const tool = await gate.gated({ quorum: 2 })
  const { approval } = await gate.call(tool.id)
  const early = await gate.decide(approval.id, 'APPROVE', { grant: plain })
  expect(early).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'grant'] }] })
  expect(await gate.approval(approval.id)).toMatchObject({ votes: [] })
  const { secret } = await gate.key({ role: 'APPROVER' })
  await gate.decide(approval.id, 'APPROVE')
  await gate.decide(approval.id, 'APPROVE', { grant: plain }, secret)
  expect(await grantsOf(tool)).toHaveLength(1)
})
