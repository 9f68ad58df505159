/**
 * A base backup and the archived write-ahead log, recovered to a moment in between: the servers notice the other timeline by
 * themselves, what was written until that moment is there, and cursors of what came later are refused.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasClusters, startCluster } from '../support/cluster.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const page = 'query($after: String) { projectEvents(after: $after, first: 100) { nodes { cursor } } }'
const cursorsAfter = async (h: Harness, after: string) =>
  ((await h.gql(page, { after })).data['projectEvents'].nodes as { cursor: string }[]).map(
    ({ cursor }) => cursor,
  )

test.skipIf(!hasClusters)(
  'a recovery to a point in time begins another incarnation of the log',
  { timeout: 360_000 },
  async () => {
    const archive = await mkdtemp(join(tmpdir(), 'gatehouse-archive-'))
    closers.push(() => rm(archive, { recursive: true, force: true }))
    await chmod(archive, 0o777)
    const cluster = await startCluster({ archive_mode: 'on', archive_command: `'cp %p ${archive}/%f'` })
    closers.push(() => cluster.remove())
    const open = () => openHarness({ role: 'api', databaseUrl: cluster.url, databasePool: 4 })

    const first = await open()
    const { db } = first.app.services
    const projectId = (await first.gql('{ viewer { project { id } } }')).data['viewer'].project.id as string
    const [id] = (await makeGenerations(db, projectId, 1)) as [string]
    const write = (h: Harness, count: number) => append(h.app.services, projectId, id, someEvents(count))
    await write(first, 3)
    const backup = await cluster.baseBackup()
    await write(first, 4)
    await expect.poll(async () => (await cursorsAfter(first, '0')).length).toBe(7)
    const kept = await cursorsAfter(first, '0')
    const [target] = await query<{ lsn: string }>(db, sql`select pg_current_wal_lsn()::text as lsn`)
    await write(first, 5)
    await expect.poll(async () => (await cursorsAfter(first, '0')).length).toBe(12)
    const lost = (await cursorsAfter(first, '0')).slice(7)
    const [last] = await query<{ name: string }>(db, sql`select pg_walfile_name(pg_switch_wal()) as name`)
    const archived = sql`select coalesce(last_archived_wal >= ${last!.name}, false) as done from pg_stat_archiver`
    await expect.poll(async () => (await query<{ done: boolean }>(db, archived))[0]!.done).toBe(true)
    await first.stop()

    await cluster.stop('immediate')
    await cluster.restore(backup, {
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_lsn: target!.lsn,
      recovery_target_action: 'promote',
    })
    // It accepts connections before it has reached the target and is a primary.
    const again = await vi.waitFor(open, { timeout: 90_000 })
    closers.push(() => again.stop())
    const [log] = await query<{ earlier: object[] }>(
      again.app.services.db,
      sql`select earlier from installation`,
    )
    expect(log!.earlier).toHaveLength(1)
    expect(await cursorsAfter(again, '0')).toEqual(kept)
    await write(again, 1)
    await expect.poll(async () => (await cursorsAfter(again, kept.at(-1)!)).length).toBe(1)
    for (const after of lost) {
      const { errors } = await again.gql(page, { after })
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'CURSOR_EXPIRED', oldestCursor: '0' })
    }
  },
)
