/** Calls that are their own work rows: when one is due is moved by no renewal of a lease that comes late. */
import { expect, test } from 'vitest'
import { errorResult } from '../../../src/core/content.ts'
import {
  approveCall,
  askAgain,
  askCaller,
  holdBack,
  park,
  resolveCall,
  underLock,
  wakeDirectCalls,
} from '../../../src/domain/tool-calls/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { sql, type SQL } from '../../../src/store/db/sql.ts'
import { heartbeat } from '../../../src/store/work/work.ts'
import { openGateOn } from '../../support/gate-on.ts'
import { forFile } from '../../support/for-file.ts'

// Nobody claims them here.
const opened = await forFile(openGateOn('the embedded database', { role: 'api' }))

const asked = { inputRequests: {}, requestState: null, answers: {}, round: 1 }
const said = { resolution: 'RUN_AGAIN', by: 'key_ada', result: null } as const
const delayed = sql`not_before = now() + interval '1 hour'`
/** What sets when the row of a held call is due, by the status that it has before. */
const changes: [name: string, status: string, change: (id: string, projectId: string) => SQL, also?: SQL][] =
  [
    ['approved', 'AWAITING_APPROVAL', approved],
    ['stopped again', 'APPROVED', (id) => askAgain(id, { approvalId: 'a', ...unchanged }, underLock)],
    ['asked back', 'EXECUTING', (id) => askCaller(id, asked, 600_000, underLock)],
    ['to run again', 'UNKNOWN', (id) => resolveCall(id, said)],
    ['delayed by a limit', 'PROPOSED', (id) => holdBack(id, 60_000, underLock, true)],
    ['parked', 'PROPOSED', (id) => park(id, underLock, true)],
    ['free of a pause', 'PROPOSED', (_id, projectId) => wakeDirectCalls(projectId), delayed],
  ]
const unchanged = { toolVersion: 1, definitionHash: null }
function approved(id: string): SQL {
  return approveCall([id], 'APPROVED', { edit: null, waitMs: null, wake: 'due' })
}

test.each(changes)('a call that is %s', async (_name, status, change, also) => {
  const { h, gate } = opened
  const { db } = h.app.services
  const call = await gate.call((await gate.gated({ autoApprove: false })).id)
  const id = call['id'] as string
  const isSettled = status === 'UNKNOWN'
  await query(
    db,
    sql`update tool_calls set status = ${status}, wake_at = now() + interval '15 seconds', epoch = 7,
        result = ${isSettled ? JSON.stringify(errorResult('unknown', '')) : null}::jsonb,
        settled_at = case when ${isSettled} then now() end, attempts = '[{}]' ${also ? sql`, ${also}` : sql``}
      where id = ${id}`,
  )
  const row = async () => {
    const columns = sql`wake_at::text as "wakeAt", project_id as "projectId"`
    const found = sql`select ${columns} from tool_calls where id = ${id}`
    return (await query<{ wakeAt: string; projectId: string }>(db, found))[0]!
  }
  const { wakeAt, projectId } = await row()
  expect(await query(db, change(id, projectId))).toContainEqual(expect.objectContaining({ id }))
  const set = await row()
  expect(set.wakeAt).not.toBe(wakeAt)
  await heartbeat(db, 'tool_calls', 3_600_000, [{ id, epoch: 7 }])
  expect(await row()).toEqual(set)
})
