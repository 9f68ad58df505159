/** One contract for PubSub in this process, over PostgreSQL and over Redis. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { describe } from 'vitest'
import { localPubSub } from '../../../src/store/events/pubsub.ts'
import { postgresPubSub } from '../../../src/store/events/postgres-pubsub.ts'
import { redisPubSub } from '../../../src/store/events/redis-pubsub.ts'
import { hasPostgres, hasRedis, postgresDatabase } from '../../support/databases.ts'
import { cutRedis, ownRedis } from '../../support/redis-cut.ts'
import { bellSuite } from '../../suites/pubsub.suite.ts'

bellSuite('PubSub in one process', async () => {
  const pubsub = localPubSub()
  return { one: pubsub, other: pubsub, cut: null, close: () => pubsub.close() }
})

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  bellSuite('PubSub over LISTEN and NOTIFY', async () => {
    const database = await postgresDatabase()
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    const [one, other] = await Promise.all([postgresPubSub(database.url), postgresPubSub(database.url)])
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
  bellSuite('PubSub over publish and subscribe', async () => {
    const url = ownRedis()
    const redis = new Redis(url)
    const channel = `gatehouse-test:${randomUUID()}`
    const [one, other] = await Promise.all([redisPubSub(url, channel), redisPubSub(url, channel)])
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
