/** Measures lists and the idle cost with 100,000 pending approvals, against an empty inbox. */
import postgres from 'postgres'
import { report } from './report.ts'
import { cpuDuring, openServer, type BenchServer } from './server.ts'
import { pause, percentile, timed } from './statistics.ts'

const pendingRows = 100_000
const inbox =
  '{ approvals(filter: { statuses: [PENDING] }, first: 50) { nodes { id expiresAt arguments toolCall { id } } pageInfo { endCursor } } }'

async function fill(sql: postgres.Sql): Promise<void> {
  await sql`insert into approvals (id, project_id, generation_id, tool_call_id, tool_id, tool_version, runtime_name, arguments,
      digest, requested_by, requirement, on_approve, expires_at, wake_at, created_at)
    select 'apr_' || lpad(n::text, 24, '0'), (select id from projects limit 1), 'gen_' || n, 'call_' || n, 'tool_none', 1, 'pay', '{"amount":5}',
      'digest', 'key_none', '{"timeoutSeconds":3600,"quorum":1,"excludeRequester":false,"approvers":[],"escalateAfterSeconds":null}',
      'RUN', now() + interval '1 hour', now() + interval '1 hour', now() - n * interval '1 millisecond'
    from generate_series(1, ${pendingRows}) n`
  await sql`analyze approvals`
}

async function timesOf(name: string, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const times: number[] = []
  for (let i = 0; i < 220; i++) {
    const took = await timed(work)
    if (i >= 20) times.push(took)
  }
  return { [`${name} p50 ms`]: percentile(times, 0.5), [`${name} p99 ms`]: percentile(times, 0.99) }
}

async function measureInbox(server: BenchServer, sql: postgres.Sql): Promise<Record<string, number>> {
  const sweep = () =>
    sql`select id from approvals where wake_at <= now() and status = 'PENDING' order by wake_at limit 500`
  const idleMs = 3000
  const cpu = await cpuDuring(server, () => pause(idleMs))
  return {
    ...(await timesOf('list of 50', () => server.gql(inbox))),
    ...(await timesOf('counts', () =>
      server.gql('{ approvalTally { total { pending approved rejected expired } } }'),
    )),
    ...(await timesOf('sweep', sweep)),
    'idle CPU ms/s': (cpu * 1000) / idleMs,
    'RSS MB': (await server.usage()).rss / 1e6,
  }
}

export async function measureInboxes(): Promise<void> {
  const server = await openServer('postgres')
  const sql = postgres(server.databaseUrl!, { max: 1, onnotice: () => {} })
  const empty = await measureInbox(server, sql)
  await fill(sql)
  const full = await measureInbox(server, sql)
  await sql.end()
  await server.close()
  report('inbox', 'An inbox that grows', [
    { case: 'empty', figures: empty },
    { case: `${pendingRows} pending`, figures: full },
    { case: 'ratio', figures: ratios(full, empty) },
  ])
}

function ratios(full: Record<string, number>, empty: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(full).map(([name, value]) => [name, value / empty[name]!]))
}
