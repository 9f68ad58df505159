/** A pause ends at the moment when a run begins to wait for it: the run goes on, and not at the next look of ten minutes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { adminKey } from '../support/harness.ts'
import { holdRow } from '../support/held-row.ts'

describe.runIf(hasPostgres)('on PostgreSQL', () => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await openDeployment('PostgreSQL', {}, 1)
  })
  afterAll(() => deployment?.close())

  test('a run that has read its delayed call before the end, and commits after it, goes on at once', async () => {
    const { toolId, agentId } = await deployment.payer({ autoApprove: true })
    const [h] = deployment.replicas
    await deployment.rows(`create table gates_of_test (id text primary key)`)
    await deployment.rows(`insert into gates_of_test values ('parking')`)
    await deployment.rows(`create function wait_at_gate() returns trigger language plpgsql as
      $$ begin perform 1 from gates_of_test where id = 'parking' for update; return new; end $$`)
    await deployment.rows(`create trigger parking before update on generations for each row
      when (old.status = 'RUNNING' and new.status = 'QUEUED') execute function wait_at_gate()`)
    const { pause } = await h!.mutate('pause', { toolId }, 'pause { id }', adminKey)
    const gate = await holdRow(deployment.databaseUrl!, 'gates_of_test', 'parking')
    const id = await deployment.fixtures.start(agentId, 'call pay {"n": "1"}\nthen\nsay done')
    await gate.waiting(1)
    const resuming = h!.mutate('resume', { pauseId: pause.id }, 'pause { endedAt }', adminKey)
    // It ends, or waits for the lock of the run.
    await Promise.race([resuming, gate.waiting(2)])
    await gate.release()
    expect((await resuming)['pause'].endedAt).not.toBeNull()
    await expect
      .poll(() => deployment.rows(`select status from generations where id = '${id}'`))
      .toEqual([{ status: 'COMPLETED' }])
  })
})
