/** What one batch costs: statements, rows that are read, and the time in which the embedded database answers nobody else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOfRun, makeFinishedRuns } from '../../../bench/retention-runs.ts'
import { timed, type StatementTimes } from '../../../bench/timed-statements.ts'
import { findRuns, mostJudged } from '../../../src/domain/retention/find-runs.ts'
import { removeRuns } from '../../../src/domain/retention/remove-runs.ts'
import { sweepProject } from '../../../src/domain/retention/worker.ts'
import { connect, type Connection } from '../../../src/store/db/connect.ts'
import { query, type Database } from '../../../src/store/db/database.ts'
import { newestPositionOfAll } from '../../../src/store/db/incarnation.ts'
import { sql } from '../../../src/store/db/sql.ts'
import { hasPostgres } from '../../support/databases.ts'
import { allowedStall, longestStall } from '../../support/stall.ts'
import { openRetained, type Retained } from './deployment.ts'

const dayMs = 86_400_000
const tomorrow = () => new Date(Date.now() + dayMs)

const make = (r: Retained, name: string, count: number, db = r.h.app.services.db) =>
  makeFinishedRuns(db, r.h.app.services.pubsub, { projectId: r.projectId, name, count })

describe('on PGlite', () => {
  let r: Retained
  beforeAll(async () => {
    r = await openRetained('PGlite')
    await r.set({ runDays: 1 })
  })
  afterAll(() => r?.deployment.close())

  test('a sweep sends at most twenty statements for each batch, and stalls nobody', async () => {
    const times: StatementTimes = { count: 0, longestMs: 0, longest: '' }
    const { services } = r.h.app
    const perRound = 250
    let stall = Infinity
    for (let round = 0; round < 3 && stall >= allowedStall; round++) {
      await make(r, `p${round}`, perRound)
      await r.touch()
      times.count = 0
      const on = { ...services, db: timed(services.db, times) }
      const now = new Date(Date.now() + 5 * dayMs)
      const held = await r.take()
      const sweep = () => sweepProject(on, held, async () => true, now)
      stall = Math.min(
        stall,
        await longestStall(async () => expect(await sweep()).toMatchObject({ runs: perRound })),
      )
    }
    expect(stall).toBeLessThan(allowedStall)
    // 83 runs of twelve events are a batch; the other kinds and the row itself take some more.
    expect(times.count).toBeLessThan(Math.ceil(perRound / 83) * 20 + 20)
  })

  test('those that stay do not make a statement larger: as many runs are judged at a time', async () => {
    await make(r, 'held', 2 * mostJudged + 50)
    await r.touch()
    const put = await r.h.mutate('putLegalHold', { reason: 'a case' }, 'hold { id }')
    const which = { projectId: r.projectId, before: tomorrow(), requester: null }
    const found = await findRuns(r.h.app.services.db, which, null, mostJudged)
    expect(found.map(({ kept }) => kept)).toEqual(Array.from({ length: mostJudged }, () => 'HELD'))
    expect(await r.sweep(5)).toEqual({})
    await r.h.mutate('liftLegalHold', { holdId: put['hold'].id }, 'hold { id }')
    expect(await r.sweep(5)).toMatchObject({ runs: 2 * mostJudged + 50 })
  })
})

const tables = ['events', 'generations', 'steps', 'tool_calls', 'approvals', 'model_attempts', 'threads']

describe.skipIf(!hasPostgres)('on PostgreSQL, where statistics say that all tables are nearly empty', () => {
  let r: Retained
  // One session, so that it knows when its numbers are told.
  let own: Connection
  beforeAll(async () => {
    if (!hasPostgres) return
    r = await openRetained('PostgreSQL')
    own = await connect({ kind: 'postgres', url: r.deployment.databaseUrl!, poolSize: 1 })
    // All but the newest event go.
    await r.set({ runDays: 1, eventDays: 1 })
    await make(r, 'old', 4000, own.db)
    await r.touch()
    const services = { ...r.h.app.services, db: own.db }
    await sweepProject(services, await r.take(), async () => true, new Date(Date.now() + 5 * dayMs))
    // A reader may keep the table of events from being cut: it stays as large as it was, and has one row.
    await r.rows('vacuum (truncate off) events')
    for (const table of tables.slice(1)) await r.rows(`vacuum ${table}`)
    for (const table of tables) await r.rows(`alter table ${table} set (autovacuum_enabled = false)`)
    await make(r, 'new', 4000, own.db)
  })
  afterAll(async () => {
    await own?.close()
    await r?.deployment.close()
  })

  /** Blocks of the indexes of events that the work of one transaction reads. What the server reads meanwhile is not counted. */
  async function indexBlocksOf(work: (tx: Database) => Promise<unknown>): Promise<number> {
    // The session counts from 0 again.
    await query(own.db, sql`select pg_stat_force_next_flush()`)
    return own.db.transaction(async (session) => {
      const tx = session as unknown as Database
      await work(tx)
      const [row] = await query<{ n: number }>(
        tx,
        sql`select sum(pg_stat_get_xact_blocks_fetched(indexrelid))::int as n from pg_index
          where indrelid = 'events'::regclass`,
      )
      return row!.n
    })
  }

  test('a batch reads no table whole, and no index of events', async () => {
    await r.touch()
    const held = await r.take()
    let wholes: unknown
    const blocks = await indexBlocksOf(async (tx) => {
      const which = { projectId: r.projectId, before: tomorrow(), requester: null }
      const ids = (await findRuns(tx, which, null, 80)).map(({ id }) => id)
      expect(await removeRuns(tx, held, { ...which, ids, removalId: null })).toBe(true)
      wholes = await query<{ table: string; rows: number }>(
        tx,
        sql`select relname as table, seq_tup_read::int as rows from pg_stat_xact_user_tables
          where relname in ${tables} and seq_tup_read > 0`,
      )
    })
    expect(wholes).toEqual([])
    expect(await r.count('generations')).toBe(3920)
    // Each run is found in an index of three levels a few times, and its events are deleted where they were seen.
    expect(blocks).toBeLessThan(80 * eventsOfRun * 3)
  })

  test('events get their positions, and the newest position is read, without reading an index whole', async () => {
    const newest = await indexBlocksOf((tx) => query(tx, sql`select ${newestPositionOfAll} as at`))
    expect(newest).toBeLessThan(10)
    const count = 200
    const numbered = await indexBlocksOf(async (tx) => {
      await query(
        tx,
        sql`insert into events (project_id, type, data, commit_order)
          select ${r.projectId}, 'PROJECT_UPDATED', '{}', pg_current_xact_id()::text::bigint
          from generate_series(1, ${count}::int)`,
      )
      const [row] = await query<{ done: { count: number } }>(
        tx,
        sql`select number_waiting_events(true, 2000) as done`,
      )
      expect(row!.done.count).toBe(count)
    })
    // Each event is added to a few indexes, twice.
    expect(numbered).toBeLessThan(count * 60)
  })
})
