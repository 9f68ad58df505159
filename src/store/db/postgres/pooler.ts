/** Finds out whether a pooler gives the connections of sessions to others between their transactions. */
import { UnusableDatabaseError } from '../storage-error.ts'
import type { Session } from './session.ts'

/** How often two sessions are compared: a pooler may have several free connections to choose from. */
const rounds = 10

/**
 * Throws UnusableDatabaseError when statements of one session run in different servers' sessions, or two sessions share one: a
 * pooler that pools transactions or statements. Prepared statements, settings, locks and LISTEN would be those of others.
 * `open` opens another session of the same kind.
 */
export async function refuseSharedSessions(own: Session, open: () => Promise<Session>): Promise<void> {
  const other = await open()
  try {
    const [mine, theirs] = [await pidOf(own), await pidOf(other)]
    if (mine === theirs) throw shared()
    for (let i = 0; i < rounds; i++) {
      // While a transaction has a server's session, a pooler gives others another one.
      await other.run('begin', [], plain)
      const pids = [await pidOf(other), await pidOf(own)]
      await other.run('rollback', [], plain)
      if (pids[0] !== theirs || pids[1] !== mine) throw shared()
    }
  } finally {
    await other.end(1000)
  }
}

const shared = () =>
  new UnusableDatabaseError(
    'DATABASE_URL leads to a pooler that shares connections between transactions. Gatehouse needs connections of its ' +
      'own: use pool_mode = session for this database, or connect to the server directly.',
  )

const plain = { prepare: false, values: false }

async function pidOf(session: Session): Promise<number> {
  const [row] = (await session.run('select pg_backend_pid() as pid', [], plain)) as { pid: number }[]
  return row!.pid
}
