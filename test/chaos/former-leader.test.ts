/**
 * Several servers in DATABASE_URL: one that hangs holds up nobody, and when it wakes up as the leader that it was before,
 * nothing is read from it or written to it.
 */
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { openSession } from '../../src/store/db/postgres/session.ts'
import { openHarness, type Harness } from '../support/harness.ts'

const closers: (() => unknown)[] = []
let former: Cluster
let next: Cluster
let both: string
let h: Harness
const admin = (cluster: Cluster) => {
  const sql = postgres(cluster.url, { max: 1, onnotice: () => {} })
  closers.push(() => sql.end({ timeout: 1 }))
  return sql
}

beforeAll(async () => {
  if (!hasClusters) return
  former = await startCluster()
  closers.push(() => former.remove())
  next = await former.startStandby()
  closers.push(() => next.remove())
  both = `postgres://postgres@${new URL(former.url).host},${new URL(next.url).host}/postgres`
  h = await openHarness({ databaseUrl: both })
  closers.push(() => h.stop())
}, 360_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const createAgent = async (name: string) =>
  (await h.mutate('createAgent', { name }, 'agent { name }').catch(() => null))?.['agent']?.name as
    | string
    | undefined

const createMany = async (name: string) => {
  const made = await Promise.all(Array.from({ length: 40 }, () => createAgent(`${name} ${randomUUID()}`)))
  return made.filter((one) => one !== undefined)
}

describe.skipIf(!hasClusters)('a leader that hangs', () => {
  beforeAll(async () => {
    // As many at once as open every connection; most of them are idle when the server hangs.
    await createMany('before')
    const sql = admin(former)
    await vi.waitUntil(
      async () =>
        (await sql`select bool_and(replay_lsn >= pg_current_wal_lsn()) as same from pg_stat_replication`)[0]![
          'same'
        ],
      { timeout: 90_000 },
    )
    await former.freeze()
    await next.promote()
  }, 180_000)

  test('is not waited for: the next server is used', { timeout: 60_000 }, async () => {
    const session = await openSession({
      url: both,
      applicationName: 'second',
      settings: {},
      connectMs: 600_000,
      silenceMs: null,
    })
    closers.push(() => session.destroy())
    expect(
      await session.run('select pg_is_in_recovery() as r', [], { prepare: false, values: false }),
    ).toEqual([{ r: false }])
  })

  test(
    'is not used when it wakes up, though it is the first of the address',
    { timeout: 360_000 },
    async () => {
      await vi.waitUntil(() => createAgent(`while it hangs ${randomUUID()}`), { timeout: 180_000 })
      former.thaw()
      const sql = admin(next)
      const seen = await createMany('after')
      for (let i = 0; i < 5; i++) {
        // New connections are opened, to whichever server answers first.
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse%'`
        seen.push((await vi.waitUntil(() => createAgent(`after ${randomUUID()}`), { timeout: 90_000 }))!)
      }
      const namesOf = async (cluster: Cluster) =>
        (await admin(cluster)`select name from agents where name like 'after%'`).map((row) => row['name'])
      expect(await namesOf(former)).toEqual([])
      expect(new Set(await namesOf(next))).toEqual(new Set(seen))
    },
  )
})
