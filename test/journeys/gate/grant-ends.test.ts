/** How grants end: by their uses, their time, a revocation or a new version of the tool. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { useGateStory, type GateStory } from '../../support/gate-story.ts'
import type { Harness } from '../../support/harness.ts'

let h: Harness
let gate: GateStory
useGateStory((opened) => ({ h, gate } = opened))

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

/** Approves a direct call with this grant and returns the grant. */
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

test('a grant ends after so many uses, each recorded on the call it let through', async () => {
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

test('a grant ends with its time', async () => {
  const tool = await newTool()
  const grant = await granted(tool, { expiresInSeconds: 600 })
  const lasts = new Date(grant['expiresAt']).getTime() - new Date(grant['createdAt']).getTime()
  expect(lasts).toBe(600_000)
  expect(await grantsOf(tool, true)).toHaveLength(1)
  await query(h.app.services.db, sql`update grants set expires_at = now() where id = ${grant['id']}`)
  expect(await passes(tool)).toBe(false)
  expect([await grantsOf(tool, true), (await grantsOf(tool)).length]).toEqual([[], 1])
})

test('a grant ends at once when it is revoked, once, with an event and an audit entry', async () => {
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

test('a grant ends when the tool is changed', async () => {
  const tool = await newTool()
  await granted(tool, {})
  expect(await passes(tool)).toBe(true)
  await h.mutate('updateTool', { id: tool.id, description: 'another' }, 'tool { version }')
  expect(await passes(tool)).toBe(false)
})
