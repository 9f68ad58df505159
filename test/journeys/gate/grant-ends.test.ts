/** How grants end: by their uses, their time, a revocation or a new version of the tool. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { grantFields, useGrantFixtures } from '../../support/grant-fixtures.ts'

const { h, gate, grants } = await useGrantFixtures()

test('a grant ends after so many uses, each recorded on the call it let through', async () => {
  const tool = await grants.newTool()
  const grant = await grants.granted(tool, { maxUses: 2 })
  expect(grant).toMatchObject({ uses: 0, maxUses: 2, toolVersion: 1, revokedAt: null })
  const calls = [await gate.call(tool.id), await gate.call(tool.id), await gate.call(tool.id)]
  expect(calls.map((call) => [call['status'], call['grant']?.id ?? null])).toEqual([
    ['SUCCEEDED', grant['id']],
    ['SUCCEEDED', grant['id']],
    ['AWAITING_APPROVAL', null],
  ])
  expect((await grants.of(tool))[0]).toMatchObject({ uses: 2 })
  expect(await grants.of(tool, true)).toEqual([])
  expect(gate.paid(tool.name)).toHaveLength(3)
})

test('a grant ends with its time', async () => {
  const tool = await grants.newTool()
  const grant = await grants.granted(tool, { expiresInSeconds: 600 })
  const lasts = new Date(grant['expiresAt']).getTime() - new Date(grant['createdAt']).getTime()
  expect(lasts).toBe(600_000)
  expect(await grants.of(tool, true)).toHaveLength(1)
  await query(h.app.services.db, sql`update grants set expires_at = now() where id = ${grant['id']}`)
  expect(await grants.passes(tool)).toBe(false)
  expect([await grants.of(tool, true), (await grants.of(tool)).length]).toEqual([[], 1])
})

test('a grant ends at once when it is revoked, once, with an event and an audit entry', async () => {
  const tool = await grants.newTool()
  const { id, approval } = await grants.granted(tool, {})
  expect(await grants.passes(tool)).toBe(true)
  const approver = await gate.key({ role: 'APPROVER' })
  const revoke = (key?: string) => h.mutate('revokeGrant', { grantId: id }, `grant { ${grantFields} }`, key)
  const first = (await revoke(approver.secret))['grant']
  expect(first).toMatchObject({ revokedBy: approver.id, revokedAt: expect.any(String) })
  expect((await revoke())['grant']).toMatchObject({ revokedBy: approver.id, revokedAt: first.revokedAt })
  expect(await grants.passes(tool)).toBe(false)
  expect(await grants.of(tool, true)).toEqual([])
  const told = await gate.feed(
    ['GRANT_CREATED', 'GRANT_REVOKED'],
    '... on GrantEvent { name grant { id } approval { id } } ... on GrantEvent { name grant { id revokedAt } }',
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
  const tool = await grants.newTool()
  await grants.granted(tool, {})
  expect(await grants.passes(tool)).toBe(true)
  await h.mutate('updateTool', { id: tool.id, presetParameters: { to: 'bob' } }, 'tool { version }')
  expect(await grants.passes(tool)).toBe(false)
})
