/** What replicas share beside their tables: hints and rate limits. The client of Redis is loaded only where it is used. */
import type { Config } from './config.ts'
import type { Log } from './core/log.ts'
import type { Connection } from './store/db/connect.ts'
import { query } from './store/db/database.ts'
import { sql } from './store/db/sql.ts'
import { postgresPubSub } from './store/pubsub/postgres-pubsub.ts'
import { localPubSub, type PubSub } from './store/pubsub/pubsub.ts'
import { postgresBuckets } from './store/rates/postgres-buckets.ts'
import type { BucketStore } from './store/rates/shared-buckets.ts'

/** Carries hints: over Redis, over PostgreSQL, or within the process that is alone on its database. */
export async function openPubSub(
  config: Config,
  connection: Connection,
  log: Pick<Log, 'warn' | 'info'>,
): Promise<PubSub> {
  if (config.redisUrl) {
    const { redisPubSub } = await import('./store/pubsub/redis-pubsub.ts')
    return redisPubSub(config.redisUrl, { channel: await redisPrefix(connection), log })
  }
  const url = config.directUrl ?? config.databaseUrl
  return connection.kind === 'postgres' && url ? postgresPubSub(url, connection.schema) : localPubSub()
}

/** Where replicas share their rate limits; null on the embedded database, which has one process. */
export async function bucketStore(config: Config, connection: Connection): Promise<BucketStore | null> {
  if (config.redisUrl) {
    const { redisBuckets } = await import('./store/rates/redis-buckets.ts')
    return redisBuckets(config.redisUrl, await redisPrefix(connection))
  }
  return connection.kind === 'postgres' ? postgresBuckets(connection.db) : null
}

/** Of the keys of this installation, because several may share a Redis. */
async function redisPrefix(connection: Connection): Promise<string> {
  const rows = await query<{ id: string }>(
    connection.db,
    sql`select datname || ':' || oid::text as id from pg_database where datname = current_database()`,
  )
  const { schema } = connection
  return `gatehouse:${rows[0]!.id}${schema === 'public' ? '' : `:${schema}`}`
}
