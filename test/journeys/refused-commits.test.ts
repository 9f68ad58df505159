/** A commit of a worker that has lost the row writes nothing at all. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { voidApprovals } from '../../src/domain/approvals/index.ts'
import { commit } from '../../src/domain/generations/transaction/commit.ts'
import { LeaseLostError } from '../../src/store/work/work.ts'
import { useGateFixtures } from '../support/gate-fixtures.ts'

const { h, gate } = await useGateFixtures()

test('the approval of a call is not voided by a worker that no longer holds its generation', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  const stale = { id, epoch: -1 }
  const change = { wakeAt: sql`now()`, also: [voidApprovals([approval!['id']], 'TOOL_CHANGED')] }
  await expect(commit(h.app.services.db, stale, change)).rejects.toThrow(LeaseLostError)
  expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'PENDING', voidReason: null })
  await gate.decide(approval!['id'], 'APPROVE')
  await h.until(id, ['COMPLETED'])
  expect(gate.paid(tool.name)).toHaveLength(1)
})
