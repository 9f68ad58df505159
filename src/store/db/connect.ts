/** Opens the database: embedded PGlite on a directory (or in memory), or PostgreSQL by address. */
import { silentLog, type Log } from '../../core/log.ts'
import {
  type Connection,
  type DatabaseAddress,
  isPrimary,
  saysDiskFull,
  watchSpace,
  type PendingWork,
} from './connection.ts'
import { historyGuard } from './history-guard.ts'
import { databaseOver } from './postgres/client.ts'
import { SessionPool } from './postgres/pool.ts'
import { openSession, type SessionOptions } from './postgres/session.ts'

export type { Connection, DatabaseAddress }

/**
 * Connects. For PGlite on a directory this takes the directory's lock, so that a second process fails with
 * DirectoryInUseError instead of corrupting it. A new directory is initialised in a child process, because that needs
 * over 700 MB of memory at its peak.
 */
export async function connect(
  address: DatabaseAddress,
  log: Pick<Log, 'warn'> = silentLog,
): Promise<Connection> {
  if (address.kind === 'postgres') return connectPostgres(address, log)
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
/** Names of tables are looked for in the schema, and nowhere else: `public` has those of others. */
const inSchema = (schema: string) => ({ search_path: `"${schema}", pg_temp` })
const connectMs = 10_000
/** How long a statement waits for a free connection, in milliseconds. */
const waitMs = 10_000
/** How long running statements may take when everything is closed, in milliseconds. */
const closingMs = 2000

function connectPostgres(
  { url, directUrl = url, schema = 'public', poolSize }: Extract<DatabaseAddress, { kind: 'postgres' }>,
  log: Pick<Log, 'warn'>,
): Connection {
  const onError = (error: unknown) => void (saysDiskFull(error) && space.failed())
  const open =
    (settings: Record<string, string>, silenceMs: number | null, applicationName: string, at = url) =>
    (admit?: SessionOptions['admit']) =>
      openSession({
        url: at,
        setting: at === url ? 'DATABASE_URL' : 'DIRECT_URL',
        settings: { ...settings, ...inSchema(schema) },
        silenceMs,
        applicationName,
        connectMs,
        onError,
        admit,
      })
  const openPatient = () => open(migrationLimits, null, 'gatehouse migration', directUrl)()
  const openPooled = directUrl === url ? openPatient : () => open(migrationLimits, null, 'gatehouse start')()
  const admit = historyGuard(openPatient, () => [pool, leasePool].forEach((one) => one.renew()), log)
  const openOurs = open(limits, 18_000, 'gatehouse')
  const pool = new SessionPool({
    open: () => openOurs(admit),
    max: Math.max(1, poolSize - leaseConnections(poolSize)),
    waitMs,
  })
  const openLease = open(leaseLimits, 8000, 'gatehouse lease')
  const leasePool = new SessionPool({
    open: () => openLease(admit),
    max: leaseConnections(poolSize),
    waitMs: 5000,
  })
  const [db, leaseDb] = [databaseOver(pool), databaseOver(leasePool)]
  const space = watchSpace(db)
  return {
    db,
    leaseDb,
    health: {
      waiting: () => bothWaiting(pool.waiting(), leasePool.waiting()),
      canWrite: async () => (await isPrimary(leaseDb)) && (await space.isThere()),
    },
    kind: 'postgres',
    schema,
    statementCount: null,
    openSession: openPatient,
    openPooled,
    answerProcesses: null,
    close: async () => void (await Promise.all([pool.end(closingMs), leasePool.end(closingMs)])),
  }
}

const bothWaiting = (one: PendingWork, other: PendingWork): PendingWork => ({
  oldestWriteMs: Math.max(one.oldestWriteMs, other.oldestWriteMs),
  abandoned: one.abandoned + other.abandoned,
  queued: one.queued + other.queued,
})
