/** Which servers this process may use: those whose history of the log it knows, or makes known. */
import type { Log } from '../../core/log.ts'
import { adoptHistory, readHistory } from './incarnation.ts'
import { databaseOn } from './postgres/client.ts'
import type { Session } from './postgres/session.ts'
import { NoConnectionError } from './storage-error.ts'

/** What this process has seen of the log. */
interface KnownHistory {
  /** The incarnation on whose connections it works; null before the first migration. */
  current: string | null
  /** The first one of the installation. */
  installation: string | null
  /** Incarnations that another one has followed. */
  past: Set<string>
}

/**
 * Admits a connection when nothing speaks against its history, and throws NoConnectionError otherwise:
 *
 * - Nothing is written over it before the log knows the cluster and timeline that it leads to: a failover may have lost what
 *   this process and others have written.
 * - One to a former leader that has not noticed yet is refused: the log there is one that another has followed. A server on
 *   another timeline is none, also when it has lost the newer incarnation. When this process first sees a newer one,
 *   `onChange` is called, so that no older connection is used any more.
 * - One to another installation is refused: what this process holds in memory is not of it.
 *
 * `openPatient` opens a connection without limits of time, because ending all leases may take long; who meets the same
 * change meanwhile tries again.
 */
export function historyGuard(
  openPatient: () => Promise<Session>,
  onChange: () => void,
  log: Pick<Log, 'warn'>,
): (session: Session) => Promise<void> {
  const seen: KnownHistory = { current: null, installation: null, past: new Set() }
  const adopt = async () => {
    const session = await openPatient()
    try {
      if (await adoptHistory(databaseOn(session))) log.warn({}, otherHistory)
    } finally {
      await session.end(2000)
    }
  }
  return async (session) => {
    const db = databaseOn(session)
    try {
      let history = await readHistory(db)
      assertSameInstallation(seen, history.incarnations)
      if (!history.isKnown) {
        await adopt()
        history = await readHistory(db)
        if (!history.isKnown) throw new Error('the server changed while its history was compared')
      }
      if (seen.past.has(history.incarnations.at(-1) ?? '')) throw new Error(formerLeader)
      if (follow(seen, history.incarnations)) onChange()
    } catch (error) {
      throw new NoConnectionError('The history of the database could not be compared with the log.', error)
    }
  }
}

function assertSameInstallation({ installation }: KnownHistory, incarnations: readonly string[]): void {
  if (installation !== null && incarnations[0] !== installation) throw new Error(otherInstallation)
}

/** Remembers what a connection has shown. Returns whether older connections are of the past now. */
function follow(seen: KnownHistory, incarnations: readonly string[]): boolean {
  const current = incarnations.at(-1) ?? null
  if (current === seen.current) return false
  const isFirst = seen.current === null
  if (seen.current !== null) seen.past.add(seen.current)
  for (const name of incarnations.slice(0, -1)) seen.past.add(name)
  seen.current = current
  seen.installation = incarnations[0] ?? null
  return !isFirst
}

const otherInstallation =
  'the database is that of another installation than the one on which this process has begun: correct DATABASE_URL or the ' +
  'database behind it, or start the process again'
const formerLeader =
  'the server is a former leader: this process has seen a later incarnation of the event log on another one. Stop it, or ' +
  'start the process again if it shall lead'
const otherHistory =
  'the database is another cluster or on another timeline, after a failover or a restore: the event log has a new ' +
  'incarnation, and all leases have ended. What was committed last may be lost; see the guide on operations'
