/** A database that takes no writes: what callers, readiness and metrics say, and how many connections wait in the server. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLog } from '../../src/logging.ts'
import { SessionPool } from '../../src/store/db/postgres/pool.ts'
import { openSession } from '../../src/store/db/postgres/session.ts'
import { mutationText } from '../support/ask.ts'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

describe.skipIf(!hasClusters)('a server that takes no writes', () => {
  let cluster: Cluster
  let h: Harness
  let admin: postgres.Sql
  beforeAll(async () => {
    if (!hasClusters) return
    cluster = await startCluster()
    closers.push(() => cluster.remove())
    admin = postgres(cluster.url, { max: 1, onnotice: () => {} })
    closers.push(() => admin.end({ timeout: 1 }))
    h = await openHarness({ databaseUrl: cluster.url })
    closers.push(() => h.stop())
    await admin.unsafe('set default_transaction_read_only = off; set synchronous_commit = local')
  }, 180_000)

  const set = async (setting: string) => {
    await admin.unsafe(`alter system ${setting}`)
    await admin.unsafe('select pg_reload_conf()')
  }
  const readiness = async () => (await fetch(`${h.url}/readyz`)).status
  const createAgent = (name: string) =>
    fetch(`${h.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
      body: JSON.stringify({
        query: mutationText('createAgent', 'agent { id }'),
        variables: { input: { name } },
      }),
    })
  const expectUnavailable = async (response: Response) => {
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await response.json()).errors[0].extensions.code).toBe('UNAVAILABLE')
  }
  const expectWell = async () => {
    await expect.poll(readiness).toBe(200)
    await expect.poll(async () => (await createAgent(`well ${randomUUID()}`)).status).toBe(200)
  }

  test('a full disk is UNAVAILABLE, and the replica is not ready until there is space', async () => {
    await expectWell()
    await admin.unsafe(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
    const tables = ['agents', 'idempotency_keys']
    for (const table of tables)
      await admin.unsafe(`create trigger refuse before insert on ${table} execute function refuse()`)
    expect(await readiness(), 'before a write has failed').toBe(200)
    await expectUnavailable(await createAgent('no space'))
    expect(await readiness()).toBe(503)
    for (const table of tables) await admin.unsafe(`drop trigger refuse on ${table}`)
    await expectWell()
  })

  test('a server that is read-only now is UNAVAILABLE, and the replica is not ready', async () => {
    await set('set default_transaction_read_only = on')
    await expect.poll(readiness).toBe(503)
    // Each process of the server takes the setting over by itself.
    await expect.poll(async () => (await createAgent(`refused ${randomUUID()}`)).status).toBe(503)
    await expectUnavailable(await createAgent('read-only'))
    await set('reset default_transaction_read_only')
    await expectWell()
  })

  test(
    'connections whose COMMIT hangs count against the pool after it has given them up',
    { timeout: 180_000 },
    async () => {
      const max = 4
      const pool = new SessionPool({
        open: () =>
          openSession({
            url: cluster.url,
            applicationName: 'hanging',
            settings: {},
            connectMs: 5000,
            silenceMs: 500,
          }),
        max,
        waitMs: 300,
      })
      closers.push(() => pool.end(100))
      const plain = { prepare: true, values: false }
      await pool.run('create table hanging (n int)', [], plain)
      await set(`set synchronous_standby_names = 'nobody'`)
      let stopped = false
      const write = async () => {
        while (!stopped) await pool.run('insert into hanging values (1)', [], plain).catch(() => pause(20))
      }
      closers.push(() => (stopped = true))
      const writers = Array.from({ length: 8 }, write)
      let most = 0
      const count = async () => {
        const [row] = await admin.unsafe(
          `select count(*)::int as n from pg_stat_activity where application_name = 'hanging'`,
        )
        most = Math.max(most, row!['n'])
        return pool.waiting()
      }
      await expect.poll(async () => (await count()).abandoned, { interval: 50 }).toBeGreaterThanOrEqual(max)
      await expect.poll(async () => (await count()).oldestWriteMs, { interval: 50 }).toBeGreaterThan(4000)
      // One more, over which the pool learns which are left.
      expect(most).toBeLessThanOrEqual(max + 1)
      stopped = true
      await set('reset synchronous_standby_names')
      await Promise.all(writers)
      await expect.poll(() => pool.waiting()).toEqual({ oldestWriteMs: 0, abandoned: 0, queued: 0 })
      await Promise.all(
        Array.from({ length: max }, () => pool.run('insert into hanging values (2)', [], plain)),
      )
    },
  )
})

test('equal warnings are one line a second, which says how many there were', async () => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) })
  const err = new Error('connect ECONNREFUSED')
  for (let i = 0; i < 50; i++) {
    log.warn({ err }, 'the database is away')
    log.warn({ err: new Error('another'), callId: `call_${i % 2}` }, 'the database is away')
  }
  expect(lines).toHaveLength(3)
  await expect
    .poll(() => {
      log.warn({ err }, 'the database is away')
      return lines.length
    })
    .toBe(4)
  expect(lines[3]!['repeated']).toBeGreaterThanOrEqual(49)
})
