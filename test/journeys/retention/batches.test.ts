/** What one batch costs: statements, rows that are read, and the time in which the embedded database answers nobody else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeFinishedRuns } from '../../../bench/retention-runs.ts'
import { timed, type StatementTimes } from '../../../bench/timed-statements.ts'
import { findRuns, mostJudged } from '../../../src/domain/retention/find-runs.ts'
import { removeRuns } from '../../../src/domain/retention/remove-runs.ts'
import { sweepProject } from '../../../src/domain/retention/sweep.ts'
import { query, type Database } from '../../../src/store/db/database.ts'
import { sql } from '../../../src/store/db/sql.ts'
import { hasPostgres } from '../../support/databases.ts'
import { allowedStallMs, longestStall } from '../../support/stall.ts'
import { openRetained, type Retained } from './deployment.ts'

const dayMs = 86_400_000
const tomorrow = () => new Date(Date.now() + dayMs)

const make = (r: Retained, name: string, count: number) =>
  makeFinishedRuns(r.h.app.services.db, r.h.app.services.pubsub, { projectId: r.projectId, name, count })

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
    for (let round = 0; round < 3 && stall >= allowedStallMs; round++) {
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
    expect(stall).toBeLessThan(allowedStallMs)
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

test.skipIf(!hasPostgres)(
  'on PostgreSQL, a batch reads no table whole, also where statistics say that all are nearly empty',
  async () => {
    const r = await openRetained('PostgreSQL')
    try {
      await r.set({ runDays: 1 })
      const { db } = r.h.app.services
      const tables = [
        'events',
        'generations',
        'steps',
        'tool_calls',
        'approvals',
        'model_attempts',
        'threads',
      ]
      await make(r, 'old', 500)
      await r.sweep(5)
      for (const table of tables) await r.rows(`vacuum ${table}`)
      for (const table of tables) await r.rows(`alter table ${table} set (autovacuum_enabled = false)`)
      await make(r, 'new', 4000)
      await r.touch()
      const held = await r.take()
      const read = await db.transaction(async (own) => {
        const tx = own as unknown as Database
        const which = { projectId: r.projectId, before: tomorrow(), requester: null }
        const ids = (await findRuns(tx, which, null, 80)).map(({ id }) => id)
        expect(await removeRuns(tx, held, { ...which, ids, removalId: null })).toBe(true)
        return query<{ table: string; rows: number }>(
          tx,
          sql`select relname as table, seq_tup_read::int as rows from pg_stat_xact_user_tables
            where relname in ${tables} and seq_tup_read > 0`,
        )
      })
      expect(read).toEqual([])
      expect(await r.count('generations')).toBe(3920)
    } finally {
      await r.deployment.close()
    }
  },
)
