/** One contract, three bells: in process, over PostgreSQL, over Redis. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { describe } from 'vitest'
import { localBell } from '../../../src/store/events/bell.ts'
import { postgresBell } from '../../../src/store/events/postgres-bell.ts'
import { redisBell } from '../../../src/store/events/redis-bell.ts'
import { hasPostgres, hasRedis, postgresDatabase } from '../../support/databases.ts'
import { cutRedis, ownRedis } from '../../support/redis-cut.ts'
import { bellSuite } from '../../suites/bell.suite.ts'

bellSuite('the bell of one process', async () => {
  const bell = localBell()
  return { one: bell, other: bell, cut: null, close: () => bell.close() }
})

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  bellSuite('the bell over LISTEN and NOTIFY', async () => {
    const database = await postgresDatabase()
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    const [one, other] = await Promise.all([postgresBell(database.url), postgresBell(database.url)])
    return {
      one,
      other,
      cut: () => sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
      close: async () => {
        await Promise.all([one.close(), other.close(), sql.end({ timeout: 1 })])
        await database.drop()
      },
    }
  })
})

describe.skipIf(!hasRedis)('Redis', () => {
  bellSuite('the bell over publish and subscribe', async () => {
    const url = ownRedis()
    const redis = new Redis(url)
    const channel = `gatehouse-test:${randomUUID()}`
    const [one, other] = await Promise.all([redisBell(url, channel), redisBell(url, channel)])
    return {
      one,
      other,
      cut: () => cutRedis(redis),
      close: async () => {
        await Promise.all([one.close(), other.close()])
        redis.disconnect()
      },
    }
  })
})
