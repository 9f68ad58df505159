/**
 * What replicas share beside their tables: hints, rate limits and the bytes of files. The client of Redis is loaded
 * only where it is used.
 */
import { type Config, ConfigError } from './config.ts'
import type { Log } from './core/log.ts'
import type { Connection } from './store/db/connect.ts'
import { query } from './store/db/database.ts'
import { sql } from './store/db/sql.ts'
import { postgresPubSub } from './store/pubsub/postgres-pubsub.ts'
import { localPubSub, type PubSub } from './store/pubsub/pubsub.ts'
import { postgresBuckets } from './store/rates/postgres-buckets.ts'
import type { BucketStore } from './store/rates/shared-buckets.ts'
import { resolve } from 'node:path'
import { BucketFaultError, type BlobStore, type Bucket, storeOf } from './store/blobs/blobs.ts'
import { diskBlobs, dropAbandoned } from './store/blobs/disk.ts'
import { s3Bucket, probeBucket } from './store/blobs/s3/bucket.ts'

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

/** How often the folder is searched for what lost processes have left, in milliseconds. */
const tidyMs = 3_600_000

/**
 * Tries the bucket first. Throws ConfigError when its settings, its rights or the clock must be changed. While it does not
 * answer the server starts all the same, and what needs the bytes of files is UNAVAILABLE.
 */
export async function openBlobs(
  { blobDir, s3 }: Pick<Config, 'blobDir' | 's3'>,
  log: Log,
  closers: (() => Promise<unknown>)[],
): Promise<BlobStore> {
  const folder = resolve(blobDir)
  const onDiskFault = (error: unknown) =>
    log.error({ err: error }, 'the disk of files takes no bytes; uploads are refused')
  const disk = diskBlobs(folder, onDiskFault)
  const tidy = setInterval(() => void dropAbandoned(folder), tidyMs).unref()
  closers.push(async () => clearInterval(tidy))
  void dropAbandoned(folder)
  if (!s3) return storeOf(disk, null)
  const bucket = s3Bucket(s3, { draftFolder: folder, onDiskFault })
  closers.push(() => bucket.close())
  await tryBucket(bucket, log)
  return storeOf(disk, bucket)
}

async function tryBucket(bucket: Bucket, log: Log): Promise<void> {
  try {
    await probeBucket(bucket)
  } catch (error) {
    if (!(error instanceof BucketFaultError)) throw error
    if (error.isLasting) throw new ConfigError([error.message])
    log.error({ err: error }, 'the bucket of files does not answer; files are unavailable until it does')
  }
}
