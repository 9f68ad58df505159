/** A rejection that also refuses later calls: a grant that says no, for a time. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { callRaw } from '../../support/bridge.ts'
import { plainGrant, useGrantFixtures, type GatedTool } from '../../support/grant-fixtures.ts'
import { adminKey } from '../../support/harness.ts'

const { h, fixtures, gate, grants } = await useGrantFixtures()

const { maxUses: _maxUses, ...plainRefusal } = plainGrant

/** Rejects a call with a refusal for later ones; returns its grant. */
async function refused(tool: GatedTool, more: object = {}, args: object = { amount: 5 }) {
  const call = await gate.call(tool.id, args)
  const grant = { ...plainRefusal, ...more }
  const decided = await gate.decide(call['approval'].id, 'REJECT', { reason: 'never on Sundays', grant })
  expect(decided['approval']).toMatchObject({ status: 'REJECTED' })
  const { data } = await h.gql(
    'query($id: ID) { grants(toolId: $id, active: true) { nodes { id refuses maxUses uses scope } } }',
    { id: tool.id },
  )
  return data['grants'].nodes[0]
}

/** The status of a call: a question exists only where it waits for one. */
async function statusOf(tool: GatedTool, args?: object, key?: string): Promise<string> {
  const { status, approval } = await gate.call(tool.id, args, {}, key)
  expect(approval !== null).toBe(status === 'AWAITING_APPROVAL')
  return status
}

test('it refuses at once what it covers, asks nobody, and says why', async () => {
  const tool = await grants.newTool()
  const grant = await refused(tool)
  expect(grant).toMatchObject({ refuses: true, maxUses: 0, uses: 0, scope: 'TOOL' })
  const call = await gate.call(tool.id, { amount: 7 })
  expect(call).toMatchObject({
    status: 'REJECTED',
    isError: true,
    errorCode: 'approval_rejected',
    approval: null,
    grant: { id: grant.id },
    attempt: 0,
  })
  expect(JSON.stringify(call['content'])).toMatch(/calls like this one until .* never on Sundays/)
  expect(gate.paid(tool.name)).toEqual([])
  const events = await gate.feed(
    ['TOOL_CALL_SETTLED'],
    '... on ToolCallSettledEvent { status toolCall { id } }',
    (all) => all.some(({ toolCall }) => toolCall?.id === call['id']),
  )
  expect(events.find(({ toolCall }) => toolCall?.id === call['id'])).toMatchObject({ status: 'REJECTED' })
})

test('EXACT and SCHEMA cover what they say; the rest is asked about', async () => {
  const exact = await grants.newTool()
  await refused(exact, { scope: 'EXACT' })
  expect([await statusOf(exact), await statusOf(exact, { amount: 6 })]).toEqual([
    'REJECTED',
    'AWAITING_APPROVAL',
  ])
  const large = await grants.newTool()
  await refused(large, { scope: 'SCHEMA', schema: { properties: { amount: { minimum: 5 } } } })
  expect([await statusOf(large, { amount: 9 }), await statusOf(large, { amount: 4 })]).toEqual([
    'REJECTED',
    'AWAITING_APPROVAL',
  ])
})

test('no grant lets pass what is refused, and no use of it is taken', async () => {
  const tool = await grants.newTool()
  const waiting = await gate.call(tool.id, { amount: 1 })
  await refused(tool, { scope: 'EXACT' })
  await gate.decide(waiting['approval'].id, 'APPROVE', { grant: plainGrant })
  expect([await statusOf(tool), await statusOf(tool, { amount: 2 })]).toEqual(['REJECTED', 'SUCCEEDED'])
  const uses = (await grants.of(tool, true)).map((grant) => grant['uses'])
  expect(uses.toSorted()).toEqual([0, 1])
})

test('where it cannot be told whether a refusal covers a call, a person is asked, whatever a grant lets pass', async () => {
  const tool = await grants.newTool()
  const waiting = await gate.call(tool.id, { amount: 1 })
  // A regular expression that takes for ever.
  await refused(tool, {
    scope: 'SCHEMA',
    schema: { properties: { to: { pattern: '^(a+)+$' } } },
    holder: 'CALLER',
  })
  await gate.decide(waiting['approval'].id, 'APPROVE', { grant: plainGrant })
  const doubtful = { amount: 1, to: `${'a'.repeat(40)}!` }
  expect(await statusOf(tool, doubtful)).toBe('AWAITING_APPROVAL')
  await expect.poll(() => gate.paid(tool.name).length).toBe(1)
})

describe('it ends', () => {
  test('when it is revoked', async () => {
    const tool = await grants.newTool()
    const { id } = await refused(tool)
    await h.mutate('revokeGrant', { grantId: id }, 'grant { id }')
    expect(await statusOf(tool)).toBe('AWAITING_APPROVAL')
  })

  test('with its time', async () => {
    const tool = await grants.newTool()
    const { id } = await refused(tool)
    await query(h.app.services.db, sql`update grants set expires_at = now() where id = ${id}`)
    expect(await statusOf(tool)).toBe('AWAITING_APPROVAL')
    expect(await grants.of(tool, true)).toEqual([])
  })

  test('when what is judged of the tool changes: that is asked about', async () => {
    const tool = await grants.newTool()
    await refused(tool)
    await h.mutate('updateTool', { id: tool.id, presetParameters: { to: 'home' } }, 'tool { id }')
    expect(await statusOf(tool)).toBe('AWAITING_APPROVAL')
  })
})

test('it counts for the requester of the rejected call alone', async () => {
  const tool = await grants.newTool()
  await refused(tool)
  const other = await gate.key({ name: 'other', role: 'CALLER' })
  expect(await statusOf(tool, { amount: 5 }, other.secret)).toBe('AWAITING_APPROVAL')
})

test('held by an agent it refuses the calls of its runs, which go on, and no direct call', async () => {
  const tool = await grants.newTool()
  const agentId = await fixtures.agent({ toolIds: [tool.id] })
  const prompt = `call ${tool.name} {"amount": 1}\nthen\nsay done`
  const first = await fixtures.start(agentId, prompt)
  const [{ id }] = (await gate.pending(first)) as [{ id: string }]
  await gate.decide(id, 'REJECT', { grant: { ...plainRefusal, holder: 'AGENT' } })
  const second = await fixtures.start(agentId, prompt)
  const done = await h.until(
    second,
    ['COMPLETED'],
    'toolCalls { status errorCode approval { id } grant { id } }',
  )
  expect(done['toolCalls']).toEqual([
    { status: 'REJECTED', errorCode: 'approval_rejected', approval: null, grant: { id: expect.any(String) } },
  ])
  expect(await statusOf(tool)).toBe('AWAITING_APPROVAL')
  expect(gate.paid(tool.name)).toEqual([])
})

test('a caller over MCP gets the refusal, however often it asks', async () => {
  const tool = await grants.newTool()
  const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
  await refused(tool)
  const ask = async () =>
    (await callRaw(`${h.url}/mcp/${agentId}`, adminKey, tool.name, { amount: 5 })).body['result']
  for (const result of [await ask(), await ask()])
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'approval_rejected', reason: 'never on Sundays' } },
    })
})

test('evaluateGate says that the call would not run, and by which grant', async () => {
  const tool = await grants.newTool()
  const { id } = await refused(tool)
  const { data } = await h.gql(
    'query($id: ID!) { evaluateGate(toolId: $id, arguments: {amount: 5}) { stops grant { id refuses } } }',
    { id: tool.id },
  )
  expect(data['evaluateGate']).toEqual({ stops: true, grant: { id, refuses: true } })
})

test('uses go with an approval, and only with it', async () => {
  const tool = await grants.newTool()
  const { approval } = await gate.call(tool.id)
  const wrong = [
    await gate.decide(approval.id, 'APPROVE', { grant: plainRefusal }),
    await gate.decide(approval.id, 'REJECT', { grant: plainGrant }),
  ]
  for (const { code, issues } of wrong)
    expect([code, issues[0].path.join('.')]).toEqual(['INVALID', 'input.grant.maxUses'])
  expect((await gate.approval(approval.id))['status']).toBe('PENDING')
})

test('a release that knows no refusals finds no grant to use in it', async () => {
  const tool = await grants.newTool()
  const { id } = await refused(tool)
  // The condition of that release.
  const usable = sql`select id from grants where id = ${id} and uses < max_uses`
  expect(await query(h.app.services.db, usable)).toEqual([])
})
