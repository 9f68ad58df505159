/**
 * Thousands of runs are made and removed while a subscriber and a reader from cursors look: row counts and feeds are
 * exact, and nobody misses an event without being told. On both databases.
 */
import { expect, test } from 'vitest'
import { sql } from 'drizzle-orm'
import { query, type Database } from '../../../src/store/db/database.ts'
import { findRuns } from '../../../src/domain/retention/find-runs.ts'
import { sweepProject } from '../../../src/domain/retention/worker.ts'
import { databaseKinds } from '../../support/databases.ts'
import { openRetained, type Retained } from './deployment.ts'

const dayMs = 24 * 60 * 60 * 1000
const rounds = 4
const perRound = 750
/** QUEUED, MESSAGE_COMMITTED, COMPLETED. */
const eventsOfRun = 3

/** Finished runs in one statement, each with thread, step and events, as many as a busy day has. */
async function makeRuns(r: Retained, name: string, many: number): Promise<void> {
  const db: Database = r.h.app.services.db
  const id = sql.raw(`'gen_${name}_' || i`)
  const series = sql.raw(`generate_series(1, ${many}) as i`)
  await query(
    db,
    sql`insert into threads (id, project_id) select 'thr_' || ${id}, ${r.projectId} from ${series}`,
  )
  await query(
    db,
    sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by,
        deadline_at, finished_at, last_seq)
      select ${id}, ${r.projectId}, 'agt_1', 1, 'thr_' || ${id}, 'COMPLETED', '{}', '[]', 'key_1', now(), now(), ${eventsOfRun}::int
      from ${series}`,
  )
  await query(
    db,
    sql`insert into steps (id, project_id, generation_id, step_index, attempt, model, model_kind, parts, surface, tool_choice,
        finish_reason, usage)
      select 'step_' || ${id}, ${r.projectId}, ${id}, 1, 1, 'm', 'k', '[]', '[]', '"auto"', 'stop', '{}'
      from ${series}`,
  )
  await query(
    db,
    sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
      select ${r.projectId}, ${id}, s, 'MESSAGE_COMMITTED', '{"stepIndex": 1}', pg_current_xact_id()::text::bigint
      from ${series}, generate_series(1, ${eventsOfRun}::int) as s
      order by i, s`,
  )
  await r.touch()
}

/** The positions that the feed holds. */
const positionsOf = async (r: Retained): Promise<number[]> =>
  (
    await r.rows<{ at: number }>(
      `select position::float8 as at from events
        where position > coalesce((select position from feed_starts where project_id = '${r.projectId}'), 0)
          and project_id = '${r.projectId}' order by position`,
    )
  ).map(({ at }) => at)

test.each(databaseKinds)(
  'on %s, what was removed is gone to the last row, and every reader has all or is told',
  async (kind) => {
    const r = await openRetained(kind)
    try {
      await r.set({ runDays: 1, eventDays: 1 })
      const replicas = r.deployment.replicas
      const refused: string[] = []
      for (let round = 0; round < rounds; round++) {
        await makeRuns(r, `r${round}`, perRound)
        let stopped = false
        /** Reads the feed in pages from the beginning, without end. Each page goes on right after the one before. */
        const reading = (async () => {
          let last: string | null = null
          let seen = 0
          while (!stopped) {
            const page = await r.events(last)
            if (page.error) {
              expect(page.error['code']).toBe('CURSOR_EXPIRED')
              refused.push(page.error['oldestCursor'])
              last = null
              seen = 0
              continue
            }
            if (page.cursors.length === 0) break
            const positions = page.cursors.map(
              (cursor) => JSON.parse(Buffer.from(cursor, 'base64url').toString())[8] as number,
            )
            // Positions have no holes but for other projects, of which there is none.
            if (seen > 0) expect(positions[0]).toBe(seen + 1)
            positions.forEach((at, i) => expect(at).toBe(positions[0]! + i))
            seen = positions.at(-1)!
            last = page.cursors.at(-1)!
          }
        })()
        const now = new Date(Date.now() + 5 * dayMs)
        const held = await r.take()
        const removed = await sweepProject(
          replicas[round % replicas.length]!.app.services,
          held,
          async () => true,
          now,
        )
        stopped = true
        await reading
        expect(removed).toMatchObject({ runs: perRound })
        for (const table of ['generations', 'threads', 'steps'])
          expect([table, await r.count(table)]).toEqual([table, 0])
        // The newest event of the installation stays.
        expect(await positionsOf(r)).toHaveLength(1)
        expect(await r.count('events', 'generation_id is not null')).toBe(0)
        expect(await r.count('removed_generations')).toBe(perRound * (round + 1))
      }
      const { data } = await r.h.gql('{ retention { allRemoved { runs } } }')
      expect(data['retention'].allRemoved.runs).toBe(rounds * perRound)
      expect(
        await findRuns(
          r.h.app.services.db,
          { projectId: r.projectId, before: new Date(Date.now() + dayMs), requester: null },
          null,
          10,
        ),
      ).toEqual([])
    } finally {
      await r.deployment.close()
    }
  },
  180_000,
)

test.each(databaseKinds)(
  'on %s, a live subscriber gets every event while what is before it goes',
  async (kind) => {
    const r = await openRetained(kind)
    try {
      await r.set({ runDays: 1 })
      await makeRuns(r, 'old', 300)
      const after = await r.cursor()
      const wanted = 400
      const got = r.h.collect(
        'subscription($after: String) { projectEvents(after: $after) { cursor type } }',
        { after },
        (events) => events.filter(({ type }) => type === 'MESSAGE_COMMITTED').length >= wanted * eventsOfRun,
      )
      const sweeping = r.sweep(5)
      await makeRuns(r, 'new', wanted)
      await sweeping
      const positions = (await got).map(
        ({ cursor }) => JSON.parse(Buffer.from(cursor, 'base64url').toString())[8] as number,
      )
      positions.forEach((at, i) => expect(at).toBe(positions[0]! + i))
    } finally {
      await r.deployment.close()
    }
  },
)
