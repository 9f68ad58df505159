/** Opens the database: embedded PGlite on a directory (or in memory), or PostgreSQL by address. */
import { silentLog, type Log } from '../../core/log.ts'
import { adoptHistory, readHistory } from './incarnation.ts'
import type { Connection, DatabaseAddress } from './connection.ts'
import { isPrimary, saysDiskFull, watchSpace, type Waiting } from './health.ts'
import { databaseOn, databaseOver } from './postgres/client.ts'
import { SessionPool } from './postgres/pool.ts'
import { openSession, type Session } from './postgres/session.ts'
import { NoConnectionError } from './storage-error.ts'

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
const connectMs = 10_000
/** How long a statement waits for a free connection, in milliseconds. */
const waitMs = 10_000
/** How long running statements may take when everything is closed, in milliseconds. */
const closingMs = 2000

function connectPostgres(
  { url, poolSize }: { url: string; poolSize: number },
  log: Pick<Log, 'warn'>,
): Connection {
  const onError = (error: unknown) => void (saysDiskFull(error) && space.failed())
  const open = (settings: Record<string, string>, silenceMs: number | null, applicationName: string) => () =>
    openSession({ url, settings, silenceMs, applicationName, connectMs, onError })
  const openPatient = open(migrationLimits, null, 'gatehouse migration')
  const ours: Ours = { installation: null }
  const pool = new SessionPool({
    open: inThisHistory(open(limits, 18_000, 'gatehouse'), openPatient, ours, log),
    max: Math.max(1, poolSize - leaseConnections(poolSize)),
    waitMs,
  })
  const leasePool = new SessionPool({
    open: inThisHistory(open(leaseLimits, 8000, 'gatehouse lease'), openPatient, ours, log),
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
    statementCount: null,
    openSession: openPatient,
    close: async () => void (await Promise.all([pool.end(closingMs), leasePool.end(closingMs)])),
  }
}

const bothWaiting = (one: Waiting, other: Waiting): Waiting => ({
  oldestWriteMs: Math.max(one.oldestWriteMs, other.oldestWriteMs),
  abandoned: one.abandoned + other.abandoned,
  queued: one.queued + other.queued,
})

/** The installation on which this process has begun; null before the first migration. */
interface Ours {
  installation: string | null
}

/**
 * Nothing is written over a connection before the log knows the cluster and timeline that it leads to: a failover may
 * have lost what this process and others have written. One that leads to another installation is refused: what this process
 * holds in memory is not of it. `openPatient` opens a connection without limits of time, because
 * ending all leases may take long; who meets the same change meanwhile tries again.
 */
function inThisHistory(
  open: () => Promise<Session>,
  openPatient: () => Promise<Session>,
  ours: Ours,
  log: Pick<Log, 'warn'>,
): () => Promise<Session> {
  const adopt = async () => {
    const session = await openPatient()
    try {
      if (await adoptHistory(databaseOn(session))) log.warn({}, otherHistory)
    } finally {
      await session.end(2000)
    }
  }
  return async () => {
    const session = await open()
    try {
      const { installation, isKnown } = await readHistory(databaseOn(session))
      if (ours.installation !== null && installation !== ours.installation) throw new Error(otherInstallation)
      if (!isKnown) await adopt()
      ours.installation = installation
      return session
    } catch (error) {
      session.destroy()
      throw new NoConnectionError('The history of the database could not be compared with the log.', error)
    }
  }
}

const otherInstallation =
  'the database is that of another installation than the one on which this process has begun: correct DATABASE_URL or the ' +
  'database behind it, or start the process again'
const otherHistory =
  'the database is another cluster or on another timeline, after a failover or a restore: the event log has a new ' +
  'incarnation, and all leases have ended. What was committed last may be lost; see the guide on operations'
