/** Opens the database: embedded PGlite on a directory (or in memory), or PostgreSQL by address. */
import type { Connection, DatabaseAddress } from './connection.ts'
import { databaseOver } from './postgres/client.ts'
import { SessionPool } from './postgres/pool.ts'
import { openSession } from './postgres/session.ts'

export type { Connection, DatabaseAddress }

/**
 * Connects. For PGlite on a directory this takes the directory's lock, so that a second process fails with
 * DirectoryInUseError instead of corrupting it. A new directory is initialised in a child process, because that needs
 * over 700 MB of memory at its peak.
 */
export async function connect(address: DatabaseAddress): Promise<Connection> {
  if (address.kind === 'postgres') return connectPostgres(address)
  // A server on PostgreSQL never loads the embedded database.
  const { connectEmbedded } = await import('./pglite/connect.ts')
  return connectEmbedded(address)
}

/**
 * Server-side limits in milliseconds. A transaction of a suspended process ends, and its locks with it, before the
 * statements that wait for these locks time out.
 */
const limits = {
  statement_timeout: '15000',
  lock_timeout: '8000',
  idle_in_transaction_session_timeout: '4000',
}
/** Statements of the lease pool are short, and a late result is of no use. */
const leaseLimits = {
  statement_timeout: '6000',
  lock_timeout: '4000',
  idle_in_transaction_session_timeout: '4000',
}
/** A migration may take long to build an index, but never makes other statements wait for a lock behind it. */
const migrationLimits = { statement_timeout: '0', lock_timeout: '2000' }

/**
 * The connections of the lease pool: a fifth of all, at most four, and from a pool of six on at least two, so that one
 * statement that hangs does not hold up all others.
 */
const leaseConnections = (poolSize: number) =>
  Math.min(4, Math.max(poolSize < 6 ? 1 : 2, Math.floor(poolSize / 5)))
const connectMs = 10_000
/** How long a statement waits for a free connection, in milliseconds. */
const waitMs = 10_000
/** How long running statements may take when everything is closed, in milliseconds. */
const closingMs = 2000

function connectPostgres({ url, poolSize }: { url: string; poolSize: number }): Connection {
  const open = (settings: Record<string, string>, silenceMs: number | null, applicationName: string) => () =>
    openSession({ url, settings, silenceMs, applicationName, connectMs })
  const pool = new SessionPool({
    open: open(limits, 18_000, 'gatehouse'),
    max: Math.max(1, poolSize - leaseConnections(poolSize)),
    waitMs,
  })
  const leasePool = new SessionPool({
    open: open(leaseLimits, 8000, 'gatehouse lease'),
    max: leaseConnections(poolSize),
    waitMs: 5000,
  })
  return {
    db: databaseOver(pool),
    leaseDb: databaseOver(leasePool),
    kind: 'postgres',
    statementCount: null,
    openSession: open(migrationLimits, null, 'gatehouse migration'),
    close: async () => void (await Promise.all([pool.end(closingMs), leasePool.end(closingMs)])),
  }
}
