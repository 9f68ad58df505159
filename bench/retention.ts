/** Measures retention on PostgreSQL: rounds of finished runs that are made and removed, with the size of the disk and the memory. */
import { connect } from '../src/store/db/connect.ts'
import { query } from '../src/store/db/database.ts'
import { migrate } from '../src/store/db/migrate.ts'
import { sql } from '../src/store/db/sql.ts'
import { numberAll } from '../src/store/events/numbering.ts'
import { sweepProject } from '../src/domain/retention/sweep.ts'
import { createDatabase } from './database.ts'
import { report, type Row } from './report.ts'

const runs = Number(process.env['BENCH_RUNS'] ?? 200_000)
const rounds = 10
const eventsOfRun = 8
const dayMs = 86_400_000

const nobody = { publish: () => {} } as never
const noBlobs = { remove: async () => {} } as never

type Db = Awaited<ReturnType<typeof connect>>['db']

/** Finished runs of one day with thread, two steps and events, in statements of 1,000. */
async function makeRuns(db: Db, round: number): Promise<void> {
  for (let from = 0; from < runs / rounds; from += 1000) {
    const id = sql.raw(`'gen_${round}_' || i`)
    const series = sql.raw(`generate_series(${from + 1}, ${from + 1000}) as i`)
    const filler = 'x'.repeat(300)
    await query(db, sql`insert into threads (id, project_id) select 'thr_' || ${id}, 'proj_1' from ${series}`)
    await query(
      db,
      sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by,
          deadline_at, finished_at, last_seq)
        select ${id}, 'proj_1', 'agt_1', 1, 'thr_' || ${id}, 'COMPLETED', '{}', jsonb_build_array(${filler}::text), 'key_1',
          now(), now(), ${eventsOfRun}::int
        from ${series}`,
    )
    await query(
      db,
      sql`insert into steps (id, project_id, generation_id, step_index, attempt, model, model_kind, parts, surface, tool_choice,
          finish_reason, usage)
        select 'step_' || s || ${id}, 'proj_1', ${id}, s, 1, 'm', 'k', jsonb_build_array(${filler}::text), '[]', '"auto"', 'stop', '{}'
        from ${series}, generate_series(1, 2) as s`,
    )
    await query(
      db,
      sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
        select 'proj_1', ${id}, s, 'MESSAGE_COMMITTED', '{"stepIndex": 1}', pg_current_xact_id()::text::bigint
        from ${series}, generate_series(1, ${eventsOfRun}::int) as s
        order by i, s`,
    )
    await numberAll(db, nobody)
  }
  await query(
    db,
    sql`insert into events (project_id, type, data, commit_order) values ('proj_1', 'PROJECT_UPDATED', '{}', 1)`,
  )
  await numberAll(db, nobody)
}

async function measureRound(db: Db, round: number): Promise<Row> {
  await makeRuns(db, round)
  const [row] = await query<{ epoch: number }>(
    db,
    sql`insert into retentions (id, project_id, run_days, event_days, wake_at, epoch) values ('proj_1', 'proj_1', 1, 1, now(), 1)
      on conflict (id) do update set epoch = retentions.epoch + 1, wake_at = now()
      returning epoch`,
  )
  const start = performance.now()
  const held = { id: 'proj_1', epoch: row!.epoch }
  const now = new Date(Date.now() + 10 * dayMs)
  const removed = await sweepProject({ db, blobs: noBlobs }, held, async () => true, now)
  const seconds = (performance.now() - start) / 1000
  if (removed!.runs !== runs / rounds) throw new Error(`removed ${removed!.runs} of ${runs / rounds} runs`)
  await query(db, sql`vacuum events, generations, steps, threads`)
  const [size] = await query<{ mb: number; left: number }>(
    db,
    sql`select pg_database_size(current_database())::float8 / 1e6 as mb, (select count(*) from events)::int as left`,
  )
  return {
    case: `round ${round + 1}, ${runs / rounds} runs`,
    figures: {
      'runs/s removed': removed!.runs / seconds,
      'database MB': size!.mb,
      'RSS MB': process.memoryUsage().rss / 1e6,
      'events left': size!.left,
    },
  }
}

export async function measureRetention(): Promise<void> {
  const database = await createDatabase()
  const connection = await connect({ kind: 'postgres', url: database.url, poolSize: 4 })
  try {
    await migrate(connection)
    const rows = []
    for (let round = 0; round < rounds; round++) rows.push(await measureRound(connection.db, round))
    report('retention', `${runs} runs made and removed in ${rounds} rounds`, rows)
  } finally {
    await connection.close()
    await database.drop()
  }
}
