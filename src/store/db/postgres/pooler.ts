/** What a start finds out about a pooler between Gatehouse and its database. */
import { UnusableDatabaseError } from '../storage-error.ts'
import type { Session } from './session.ts'

/** How often two sessions are compared: a pooler may have several free connections to choose from. */
const rounds = 10

/**
 * Throws UnusableDatabaseError when statements of one session run in different servers' sessions, or two sessions share one: a
 * pooler that pools transactions or statements. Prepared statements, settings, locks and LISTEN would be those of others.
 * `open` opens a session of the address that `name` is the setting of.
 */
export async function refuseSharedSessions(name: string, open: () => Promise<Session>): Promise<void> {
  const own = await open()
  try {
    await compare(own, open, name)
  } finally {
    await own.end(1000)
  }
}

async function compare(own: Session, open: () => Promise<Session>, name: string): Promise<void> {
  const other = await open()
  try {
    const [mine, theirs] = [await pidOf(own), await pidOf(other)]
    if (mine === theirs) throw shared(name)
    for (let i = 0; i < rounds; i++) {
      // While a transaction has a server's session, a pooler gives others another one.
      await other.run('begin', [], plain)
      const pids = [await pidOf(other), await pidOf(own)]
      await other.run('rollback', [], plain)
      if (pids[0] !== theirs || pids[1] !== mine) throw shared(name)
    }
  } finally {
    await other.end(1000)
  }
}

const shared = (name: string) =>
  new UnusableDatabaseError(
    `${name} leads to a pooler that shares connections between transactions. Gatehouse needs connections of its ` +
      'own: use pool_mode = session for this database, or connect to the server directly.',
  )

/**
 * Throws UnusableDatabaseError when a session of `openPooled` does not see, in its own database, the advisory lock of this
 * number that `holder` has: the addresses lead to different servers or databases.
 */
export async function refuseOtherDatabase(
  holder: Session,
  lockNumber: number,
  openPooled: () => Promise<Session>,
): Promise<void> {
  const pid = await pidOf(holder)
  const pooled = await openPooled()
  try {
    const [row] = (await pooled.run(
      `select exists (
        select from pg_locks as l join pg_database as d on d.oid = l.database
        where l.locktype = 'advisory' and l.objid = '${lockNumber}'::oid and l.pid = ${pid}
          and d.datname = current_database()
      ) as same`,
      [],
      plain,
    )) as { same: boolean }[]
    if (!row!.same)
      throw new UnusableDatabaseError(
        'DATABASE_URL and DIRECT_URL lead to different databases. DIRECT_URL is the address of the same database ' +
          'without its pooler.',
      )
  } finally {
    await pooled.end(1000)
  }
}

const plain = { prepare: false, values: false }

async function pidOf(session: Session): Promise<number> {
  const [row] = (await session.run('select pg_backend_pid() as pid', [], plain)) as { pid: number }[]
  return row!.pid
}
