/** Leases while another transaction has locked a row or a table. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { momentNow } from '../../src/core/time.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { createHeartbeat } from '../../src/store/work/leases.ts'
import { claim } from '../../src/store/work/work.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { makeGenerations } from '../support/log-writer.ts'

let made: Awaited<ReturnType<typeof postgresDatabase>>
let connection: Connection

beforeAll(async () => {
  if (!hasPostgres) return
  made = await postgresDatabase()
  connection = await connect({ kind: 'postgres', url: made.url, poolSize: 20 })
  await migrate(connection)
})
afterAll(async () => {
  await connection?.close()
  await made?.drop()
})

test.runIf(hasPostgres)('one locked row costs a replica no lease, not even its own', async () => {
  const { db, leaseDb } = connection
  const ids = Array.from({ length: 9 }, (_, i) => `up_${i}`)
  for (const id of ids)
    await query(
      db,
      sql`insert into upstreams (id, project_id, config, wake_at) values (${id}, 'proj_x', '{}', now())`,
    )
  const leaseMs = 1500
  const since = momentNow()
  const held = await claim(leaseDb, 'upstreams', leaseMs, { limit: 9, except: [] })
  expect(held).toHaveLength(9)
  const heartbeats = createHeartbeat({ db: leaseDb, leaseMs, onError: () => {} })
  const leases = heartbeats.of('upstreams')
  const kept = held.map((row) => leases.keep(row, since))
  // Longer than a lease.
  await atomically(db, async (tx) => {
    await query(tx, sql`select 1 from upstreams where id = ${ids[0]!} for update`)
    await query(tx, sql`select pg_sleep(2.5)`)
    const others = await claim(leaseDb, 'upstreams', leaseMs, { limit: 9, except: [] })
    expect(others, 'nobody has lost anything').toEqual([])
  })
  await Promise.all(kept.map((lease) => lease.confirm()))
  expect(kept.map((lease) => lease.isSure())).toEqual(kept.map(() => true))
  heartbeats.stop()
})

test.runIf(hasPostgres)('a heartbeat that hangs on one table costs no lease on another', async () => {
  const { db, leaseDb } = connection
  await query(
    db,
    sql`insert into upstreams (id, project_id, config, wake_at) values ('up_hung', 'proj_x', '{}', now())`,
  )
  const [id] = await makeGenerations(db, 'proj_x', 1)
  await query(db, sql`update generations set wake_at = now() where id = ${id!}`)
  const leaseMs = 1500
  const heartbeats = createHeartbeat({ db: leaseDb, leaseMs, onError: () => {} })
  const keepDue = async (table: 'upstreams' | 'generations') => {
    const since = momentNow()
    const held = await claim(leaseDb, table, leaseMs, { limit: 99, except: [] })
    return held.map((row) => heartbeats.of(table).keep(row, since))
  }
  await atomically(db, async (tx) => {
    const kept = await keepDue('generations')
    expect(await keepDue('upstreams')).not.toEqual([])
    // Every heartbeat of this table waits from now on, until its lock timeout of four seconds.
    await query(tx, sql`lock table upstreams in access exclusive mode`)
    // Renewed when a whole lease had passed since: until then anybody may claim what was not renewed.
    for (let renewedMs = 0; renewedMs < leaseMs;) {
      const others = await claim(leaseDb, 'generations', leaseMs, { limit: 99, except: [] })
      expect(others, 'nobody has lost anything').toEqual([])
      const [row] = await query<{ ms: number }>(
        tx,
        sql`select (extract(epoch from wake_at - now()) * 1000)::float8 as ms from generations where id = ${id!}`,
      )
      renewedMs = row!.ms - leaseMs
    }
    expect(kept.map((lease) => lease.isSure())).toEqual([true])
  })
  heartbeats.stop()
})
