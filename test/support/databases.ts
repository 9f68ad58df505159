/**
 * Databases for tests: embedded ones from the shared dump, and PostgreSQL where it is reachable, one for each suite.
 */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import postgres from 'postgres'
import { inject } from 'vitest'
import type { DatabaseAddress } from '../../src/store/db/connect.ts'

const server = process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
export const redisUrl = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379'

/** An embedded database in memory, migrated. */
export async function memoryDatabase(): Promise<DatabaseAddress> {
  return { kind: 'memory', dump: new Blob([await readFile(inject('dump'))]) }
}

/** A fresh database on the PostgreSQL server; `drop` removes it. */
export async function postgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`
  await asServer((sql) => sql.unsafe(`create database ${name}`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => asServer((sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  }
}

async function asServer(work: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {}, connect_timeout: 3 })
  try {
    await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** Whether PostgreSQL is reachable; where it is not, suites that need it are skipped with a message. */
export const hasPostgres = await answers(() => asServer((sql) => sql`select 1`))

export const hasRedis = await answers(async () => {
  const { Redis } = await import('ioredis')
  const redis = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  redis.on('error', () => {})
  try {
    await redis.connect()
    await redis.ping()
  } finally {
    redis.disconnect()
  }
})

async function answers(probe: () => Promise<unknown>): Promise<boolean> {
  return probe().then(
    () => true,
    () => false,
  )
}

if (!hasPostgres) console.warn('SKIPPED LOUDLY: no PostgreSQL at TEST_POSTGRES_URL; its suites do not run.')
if (!hasRedis) console.warn('SKIPPED LOUDLY: no Redis at TEST_REDIS_URL; its suites do not run.')
