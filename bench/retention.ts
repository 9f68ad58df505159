/**
 * Measures retention on PostgreSQL: rounds of finished runs that are made and removed while a reader follows the feed.
 * `--runs=n`: how many in all rounds together.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sweepProject } from '../src/domain/retention/worker.ts'
import { AppError } from '../src/core/errors.ts'
import { connect } from '../src/store/db/connect.ts'
import { query, type Database } from '../src/store/db/database.ts'
import { migrate } from '../src/store/db/migrate.ts'
import { sql } from '../src/store/db/sql.ts'
import { numberAll } from '../src/store/events/numbering.ts'
import { beginning, type Position } from '../src/store/events/position.ts'
import { readFeed } from '../src/store/events/read.ts'
import { feedPosition } from '../src/store/events/resume.ts'
import { localPubSub } from '../src/store/pubsub/pubsub.ts'
import { createDatabase } from './database.ts'
import { report, type Row } from './report.ts'
import { eventsOfRun, makeFinishedRuns } from './retention-runs.ts'
import { timed, type StatementTimes } from './timed-statements.ts'

const rounds = 5
const usualRuns = 20_000
const projectId = 'proj_1'
const dayMs = 86_400_000
const pubsub = localPubSub()
const noBlobs = { remove: async () => {} } as never

/** An event of no run, which keeps the newest position. */
async function appendOne(db: Database): Promise<void> {
  await query(
    db,
    sql`insert into events (project_id, type, data, commit_order)
      values (${projectId}, 'PROJECT_UPDATED', '{}', pg_current_xact_id()::text::bigint)`,
  )
  await numberAll(db, pubsub)
}

/**
 * Reads the feed without end in pages of 200, at once after each, and begins again where a refusal says. Throws when a page
 * leaves out a position without a refusal: the positions of one project that is alone have no holes.
 */
function follow(db: Database, from: Position) {
  let stopped = false
  let read = 0
  let refused = 0
  const reading = (async () => {
    let at = from
    while (!stopped) {
      try {
        const page = await readFeed(db, projectId, at, 200)
        // A reader from the beginning begins where the feed begins.
        const first = at.at > 0 ? at.at + 1 : page.events[0]?.position
        page.events.forEach((event, i) => {
          const expected = first! + i
          if (event.position !== expected)
            throw new Error(`read position ${event.position} instead of ${expected}`)
        })
        read += page.events.length
        at = page.end
        // What is old is read again, as a reader that is behind does.
        if (!page.more) at = from
        await pause(5)
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'CURSOR_EXPIRED') throw error
        refused++
        at = from = await feedPosition(db, pubsub, error.details['oldestCursor'] as string, projectId)
      }
    }
  })()
  return {
    async stop() {
      stopped = true
      await reading
      return { read, refused, from }
    },
  }
}

interface Round {
  row: Row
  longest: string
  from: Position
}

async function measureRound(db: Database, round: number, count: number, from: Position): Promise<Round> {
  await makeFinishedRuns(db, pubsub, { projectId, name: `r${round}`, count })
  await appendOne(db)
  const [row] = await query<{ epoch: number; mb: number }>(
    db,
    sql`insert into retentions (id, project_id, run_days, event_days, wake_at, epoch)
      values (${projectId}, ${projectId}, 1, 1, now(), 1)
      on conflict (id) do update set epoch = retentions.epoch + 1, wake_at = now()
      returning epoch, pg_database_size(current_database())::float8 / 1e6 as mb`,
  )
  const times: StatementTimes = { count: 0, longestMs: 0, longest: '' }
  const reader = follow(db, from)
  const start = performance.now()
  const removed = await sweepProject(
    { db: timed(db, times), blobs: noBlobs, pubsub },
    { id: projectId, epoch: row!.epoch },
    async () => true,
    new Date(Date.now() + 10 * dayMs),
  ).catch(async (error: unknown) => {
    await reader.stop()
    throw error
  })
  const seconds = (performance.now() - start) / 1000
  const { read, refused, from: next } = await reader.stop()
  if (removed?.runs !== count) throw new Error(`removed ${removed?.runs} of ${count} runs`)
  const [left] = await query<{ events: number; runs: number }>(
    db,
    sql`select (select count(*) from events)::int as events, (select count(*) from generations)::int as runs`,
  )
  if (left!.events !== 1 || left!.runs > 0) throw new Error(`left: ${JSON.stringify(left)}`)
  await query(db, sql`vacuum events, generations, steps, threads, tool_calls, approvals, model_attempts`)
  const [size] = await query<{ mb: number }>(
    db,
    sql`select pg_database_size(current_database())::float8 / 1e6 as mb`,
  )
  return {
    row: {
      case: `round ${round + 1}, ${count} runs`,
      figures: {
        'runs/s': count / seconds,
        'statements/run': times.count / count,
        'longest ms': times.longestMs,
        'MB before': row!.mb,
        'MB after': size!.mb,
        'RSS MB': process.memoryUsage().rss / 1e6,
        'events read': read,
        refused,
      },
    },
    longest: times.longest,
    from: next,
  }
}

export async function measureRetention(given: { runs: number | null }): Promise<void> {
  const runs = given.runs ?? usualRuns
  const database = await createDatabase()
  const connection = await connect({ kind: 'postgres', url: database.url, poolSize: 6 })
  try {
    await migrate(connection)
    await appendOne(connection.db)
    const rows: Row[] = []
    let from: Position = beginning
    for (let round = 0; round < rounds; round++) {
      const done = await measureRound(connection.db, round, Math.ceil(runs / rounds), from)
      rows.push(done.row)
      from = done.from
      if (process.env['BENCH_EXPLAIN']) console.error(done.longest)
    }
    report(
      'retention',
      `${runs} runs with ${eventsOfRun} events each, made and removed in ${rounds} rounds`,
      rows,
    )
  } finally {
    await connection.close()
    await database.drop()
  }
}
