/**
 * Databases for tests: embedded ones from the shared dump, and PostgreSQL where it is reachable, one for each suite. Both
 * are copies of what the global setup has migrated.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { answersPostgres, createDatabase, type TestDatabase } from './postgres-server.ts'

export const redisUrl = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379'

/** An embedded database in memory, migrated. */
export async function memoryDatabase() {
  return { kind: 'memory', dump: new Bytes(await readFile(inject('dump'))) } as const
}

/** A Blob would hand them out in small pieces. */
class Bytes extends Blob {
  readonly #bytes: Buffer
  constructor(bytes: Buffer) {
    super()
    this.#bytes = bytes
  }
  override async arrayBuffer() {
    return new Uint8Array(this.#bytes).buffer
  }
}

/** Puts an embedded database, migrated, into the data directory of a server that is started next. */
export async function embeddedDatabase(dataDir: string): Promise<void> {
  const directory = join(dataDir, 'db')
  await mkdir(directory, { recursive: true })
  await promisify(execFile)('tar', ['-xf', inject('dump'), '-C', directory])
}

/** A database on the PostgreSQL server, migrated. */
export const postgresDatabase = (): Promise<TestDatabase> => createDatabase(inject('template'))

/** A database on the PostgreSQL server without tables, for migrations and for the release before. */
export const emptyPostgresDatabase = (): Promise<TestDatabase> => createDatabase(null)

/** Whether PostgreSQL is reachable; where it is not, suites that need it are skipped with a message. */
export const hasPostgres = await answersPostgres()

export type DatabaseKind = 'PGlite' | 'PostgreSQL'

/** The databases that are here. */
export const databaseKinds: readonly DatabaseKind[] = hasPostgres ? ['PGlite', 'PostgreSQL'] : ['PGlite']

export const hasRedis = await answersRedis()

async function answersRedis(): Promise<boolean> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  redis.on('error', () => {})
  try {
    await redis.connect()
    await redis.ping()
    return true
  } catch {
    return false
  } finally {
    redis.disconnect()
  }
}

if (!hasPostgres) console.warn('SKIPPED LOUDLY: no PostgreSQL at TEST_POSTGRES_URL; its suites do not run.')
if (!hasRedis) console.warn('SKIPPED LOUDLY: no Redis at TEST_REDIS_URL; its suites do not run.')
