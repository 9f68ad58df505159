/** Expiry: two thousand approvals with the same deadline, and deadlines that pass while no process is running. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { openHarness } from '../support/harness.ts'
import { type Deployment, openDeployment } from '../support/deployment.ts'
import { drawn } from '../support/random.ts'

/**
 * Copies a generation that waits for an approval with all its rows, `count` times, under new ids. The copies are
 * decided, expire, run and end like any other.
 */
async function cloneWaiting(deployment: Deployment, generationId: string, count: number): Promise<void> {
  const suffix = `'_' || lpad(c::text, 6, '0')`
  const copy = async (table: string, key: string, renamed: Record<string, string>) => {
    const columns = (
      await deployment.rows<{ name: string }>(
        `select column_name as name from information_schema.columns where table_name = '${table}'
         and is_identity = 'NO'`,
      )
    ).map((row) => row.name)
    const values = columns.map((name) => renamed[name] ?? `t."${name}"`)
    await deployment.rows(`insert into ${table} (${columns.map((name) => `"${name}"`).join(', ')})
      select ${values.join(', ')} from ${table} t, generate_series(1, ${count}) c where t.${key} = '${generationId}'`)
  }
  const fresh = (name: string) => `t."${name}" || ${suffix}`
  await copy('steps', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    // The message contains the call ids.
    parts: `regexp_replace(t.parts::text, '"(call_[a-z0-9]+)"', '"\\1' || ${suffix} || '"', 'g')::jsonb`,
  })
  await copy('tool_calls', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    approval_id: fresh('approval_id'),
  })
  await copy('approvals', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    tool_call_id: fresh('tool_call_id'),
  })
  // Each position in the feed belongs to one event.
  await copy('events', 'generation_id', { generation_id: fresh('generation_id'), position: 'null' })
  await copy('generations', 'id', { id: fresh('id'), thread_id: fresh('thread_id') })
}

const together = 2000

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await openDeployment(kind)
  })
  afterAll(() => deployment?.close())

  test(
    'two thousand approvals that expire together are rejected then, once each',
    { timeout: 540_000 },
    async () => {
      const { agentId } = await deployment.payer({ autoApprove: false })
      const id = await deployment.fixtures.start(agentId, 'call pay {"n": "storm"}\nthen\nsay went on')
      const [h] = deployment.replicas
      await h!.until(id, ['AWAITING_APPROVAL'])
      await cloneWaiting(deployment, id, together - 1)
      await deployment.rows(
        `update approvals set expires_at = now() + interval '2 seconds', wake_at = now() + interval '2 seconds'`,
      )
      const pending = () => deployment.rows(`select 1 from approvals where status = 'PENDING' limit 1`)
      await expect.poll(pending, { timeout: 180_000, interval: 500 }).toEqual([])
      const [late] = await deployment.rows<{
        most: number
        mean: number
        n: number
      }>(`select count(*)::int as n,
      max(extract(epoch from settled_at - expires_at) * 1000)::float8 as most,
      avg(extract(epoch from settled_at - expires_at) * 1000)::float8 as mean from approvals where status = 'EXPIRED'`)
      console.log(`expiry storm on ${kind}, late by ms:`, late)
      expect(late!.n).toBe(together)
      // Not one by one, nor when somebody looks at them.
      expect(late!.most).toBeLessThan(10_000)
      const told =
        await deployment.rows(`select data->>'approvalId' as id, count(*) from events where type = 'APPROVAL_EXPIRED'
      group by 1 having count(*) <> 1`)
      expect(told, 'told other than once').toEqual([])
      const [all] = await deployment.rows(
        `select count(*)::int as n from events where type = 'APPROVAL_EXPIRED'`,
      )
      expect(all!['n']).toBe(together)
      const ended = async () =>
        (await deployment.rows(`select count(*)::int as n from generations where status = 'COMPLETED'`))[0]![
          'n'
        ]
      await expect.poll(ended, { timeout: 450_000, interval: 1000 }).toBe(together)
      expect(await deployment.rows(`select 1 from generations where output_text <> 'went on'`)).toEqual([])
      const gaps =
        await deployment.rows(`select generation_id from events where generation_id is not null group by 1
      having max(seq) <> count(*) or min(seq) <> 1`)
      expect(gaps).toEqual([])
      expect(deployment.fixtures.upstream.seen).toEqual([])
    },
  )

  test('a verdict after the deadline is refused although no process has expired the approval yet, and the start expires it', async () => {
    const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
    const memory = database ? undefined : await memoryDatabase()
    const config = database ? { databaseUrl: database.url } : {}
    const parts = memory ? { database: memory } : {}
    const silent = await openHarness({ ...config, role: 'api' }, parts)
    const { tool } = await silent.mutate(
      'createTool',
      {
        name: 'pay',
        gate: { autoApprove: false, timeoutSeconds: 5 },
        config: { http: { url: 'http://127.0.0.1:9/pay', inputSchema: { type: 'object' } } },
      },
      'tool { id }',
    )
    const called = await silent.mutate('callTool', { toolId: tool.id }, 'toolCall { id approval { id } }')
    const approvalId = called['toolCall'].approval.id
    const { db } = silent.app.services
    const { query } = await import('../../src/store/db/database.ts')
    const { sql } = await import('drizzle-orm')
    await query(
      db,
      sql`update approvals set expires_at = now() - interval '1 minute', wake_at = now() - interval '1 minute'`,
    )
    const refused = await silent.mutate(
      'decideApproval',
      { approvalId, verdict: 'APPROVE' },
      'approval { id }',
    )
    expect(refused).toMatchObject({ __typename: 'ApprovalExpiredError', code: 'APPROVAL_EXPIRED' })
    if (database) {
      await silent.stop()
      const woken = await openHarness(config)
      const status = async () =>
        (
          await woken.gql('query($id: ID!) { toolCall(id: $id) { status errorCode approval { status } } }', {
            id: called['toolCall'].id,
          })
        ).data['toolCall']
      await expect.poll(status).toEqual({
        status: 'EXPIRED',
        errorCode: 'approval_expired',
        approval: { status: 'EXPIRED' },
      })
      await woken.stop()
      await database.drop()
    } else await silent.stop()
  })
})
