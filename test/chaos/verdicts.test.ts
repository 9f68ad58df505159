/** Many people at one gate: each approval has exactly one outcome, for any number of concurrent and late verdicts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import postgres from 'postgres'
import { giveVerdict } from '../../src/domain/approvals/index.ts'
import { type DatabaseKind, databaseKinds } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { drawn, randomSchedule } from '../support/random.ts'

const random = randomSchedule()

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await openDeployment(kind)
  })
  afterAll(() => deployment?.close())

  const payments = () =>
    deployment.fixtures.upstream.seen
      .filter((seen) => seen.url === '/pay')
      .map((seen) => JSON.parse(seen.body).n)

  test('fifty verdicts at the same instant: one wins, forty-nine get the error that names it, one execution', async () => {
    const { agentId } = await deployment.payer({ autoApprove: false })
    const id = await deployment.fixtures.start(agentId, 'call pay {"n": "fifty"}\nthen\nsay done')
    const [h] = deployment.replicas
    const waiting = await h!.until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    const approvalId = waiting['requiredAction'].approvals[0].id
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        deployment.replicas[i % deployment.replicas.length]!.mutate(
          'decideApproval',
          { approvalId, verdict: 'APPROVE', reason: `click ${i}` },
          'approval { status decision { reason } }',
        ),
      ),
    )
    const won = results.filter((result) => result['__typename'] === 'ApprovalPayload')
    expect(won).toHaveLength(1)
    const lost = results.filter((result) => result['__typename'] === 'ApprovalAlreadyDecidedError')
    expect(lost).toHaveLength(49)
    await h!.until(id, ['COMPLETED'])
    expect(payments().filter((n) => n === 'fifty')).toHaveLength(1)
    const decided = await deployment.rows(`select 1 from events where type = 'APPROVAL_DECIDED'`)
    expect(decided).toHaveLength(1)
  })

  test(
    'many approvals decided within 20 ms of their deadline have one outcome each, and no deadlock',
    { timeout: 540_000 },
    async () => {
      const runs = dose(40, 100)
      const each = 10
      const { agentId } = await deployment.payer({ autoApprove: false })
      const name = 'pay_2'
      const [h] = deployment.replicas
      const ids = await Promise.all(
        Array.from({ length: runs }, (_, run) => {
          const calls = Array.from({ length: each }, (_c, c) => `call ${name} {"n": "${run}/${c}"}`)
          return deployment.fixtures.start(agentId, [...calls, 'then', 'say done'].join('\n'))
        }),
      )
      await Promise.all(ids.map((id) => h!.until(id, ['AWAITING_APPROVAL'])))
      const pending = await deployment.rows<{ id: string }>(
        `select id from approvals where status = 'PENDING' order by id`,
      )
      expect(pending).toHaveLength(runs * each)
      const { data } = await h!.gql('{ viewer { id } }')
      const by = { ...operator, id: data['viewer'].id as string }
      const outcomes: string[][] = []
      // The delay of a request depends on the machine, so each round adjusts by the results of the one before.
      let travelMs = 25
      for (let first = 0; first < pending.length; first += perRound) {
        const round = pending.slice(first, first + perRound).map((one) => one.id)
        const told = await race(deployment, by, round, kind === 'PGlite' ? 800 : 400, travelMs)
        const came = told.filter((codes) => codes.includes('APPROVED')).length
        if (came === 0) travelMs *= 2
        if (came === told.length) travelMs /= 2
        outcomes.push(...told)
      }
      await Promise.all(ids.map((id) => h!.until(id, ['COMPLETED'])))
      const codes = outcomes.flat()
      expect(new Set(codes)).toEqual(new Set(['APPROVED', 'APPROVAL_ALREADY_DECIDED', 'APPROVAL_EXPIRED']))
      const rows = await deployment.rows<{
        id: string
        status: string
        told: string[]
        call: string
        n: string
      }>(`
        select a.id, a.status, t.status as call, t.arguments->>'n' as n, (select jsonb_agg(e.type) from events e
          where e.data->>'approvalId' = a.id and e.type in ('APPROVAL_DECIDED', 'APPROVAL_EXPIRED')) as told
        from approvals a join tool_calls t on t.id = a.tool_call_id where a.runtime_name = '${name}'`)
      const ran = payments()
      for (const row of rows) {
        const approved = row.status === 'APPROVED'
        expect(row).toMatchObject({
          status: approved ? 'APPROVED' : 'EXPIRED',
          call: approved ? 'SUCCEEDED' : 'EXPIRED',
          told: [approved ? 'APPROVAL_DECIDED' : 'APPROVAL_EXPIRED'],
        })
        expect(ran.filter((n) => n === row.n)).toHaveLength(approved ? 1 : 0)
      }
      const approved = rows.filter((row) => row.status === 'APPROVED').length
      console.log(`deadline race on ${kind}:`, { approved, expired: rows.length - approved })
      expect(codes.filter((code) => code === 'APPROVED')).toHaveLength(approved)
      expect(approved, 'some clicks came in time').toBeGreaterThan(0)
      expect(rows.length - approved, 'some came too late').toBeGreaterThan(0)
      expect(await deadlocks(deployment, kind)).toBe(0)
    },
  )
})

const perRound = 50

/** Spreads these deadlines over so many milliseconds, and sends verdicts around each. Returns their responses. */
async function race(
  deployment: Deployment,
  by: typeof operator,
  ids: string[],
  spreadMs: number,
  travelMs: number,
): Promise<string[][]> {
  const begun = performance.now()
  const due = await deployment.rows<{ id: string; ms: number }>(`
    with due as (select id, now() + (${300 + travelMs} + n * ${spreadMs / ids.length}::float8) * interval '1 millisecond' as at
      from unnest(array['${ids.join("','")}']) with ordinality as one (id, n))
    update approvals set expires_at = due.at, wake_at = due.at from due where approvals.id = due.id
    returning approvals.id, (extract(epoch from due.at - now()) * 1000)::float8 as ms`)
  return Promise.all(due.map((one, i) => click(deployment, by, one.id, begun + one.ms - travelMs, i)))
}

/** Three verdicts within 20 ms of a moment, on alternating replicas. Returns their responses. */
async function click(
  deployment: Deployment,
  by: typeof operator,
  approvalId: string,
  at: number,
  i: number,
): Promise<string[]> {
  const clicks = [-20, 0, 20].map(async (offset, k) => {
    const moment = at + offset + random() * 20 - 10
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, moment - performance.now())))
    const { app } = deployment.replicas[(i + k) % deployment.replicas.length]!
    const ctx = app.ctxOf(by)
    return giveVerdict(ctx, { approvalId, verdict: 'APPROVE' }).then(
      (approval) => approval.status as string,
      (error: { code?: string }) => error.code ?? String(error),
    )
  })
  return Promise.all(clicks)
}

/** Except for the id, which is that of an existing key. */
const operator = {
  id: '',
  name: 'race',
  projectId: '',
  installation: true,
  role: 'admin',
  agentId: null,
  votes: true,
  policy: { statement: [{ effect: 'Allow' as const, action: ['*'], resource: ['*'] }] },
  expiresAt: null,
}

/** The server's own count. PostgreSQL writes its counters when a connection ends, so the test asks on a new one. */
async function deadlocks(deployment: Deployment, kind: DatabaseKind): Promise<number> {
  if (kind === 'PGlite') return 0
  const sql = postgres(deployment.databaseUrl!, { max: 1, onnotice: () => {} })
  const [row] = await sql`select deadlocks::int as n from pg_stat_database where datname = current_database()`
  await sql.end()
  return row!['n']
}
