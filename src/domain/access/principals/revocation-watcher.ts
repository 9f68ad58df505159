/**
 * Ends streams, sockets and held requests when the key, token or session that opened them is revoked, ended or
 * expires.
 */
import { and, inArray, isNull } from 'drizzle-orm'
import { kindOfId } from '../../../core/ids.ts'
import { oneAtATime } from '../../../core/async-work.ts'
import type { Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { apiKeys, sessions } from '../../../store/db/tables/access.ts'
import { AppError } from '../../../core/errors.ts'
import type { Services, Ctx, RevocationWatcher } from '../context/context.ts'
import { isSession } from './sessions.ts'
import { isSubject } from './subjects.ts'
import { unauthenticatedError } from './keys.ts'

/**
 * How often the keys are checked without a hint, in milliseconds: as long as an authenticated key is cached.
 */
const checkMs = 5000
const checkBatch = 2000
/** The longest timer, in milliseconds: about 24 days. */
const longestTimerMs = 2 ** 31 - 1

interface OpenStream {
  projectId: string
  /** What it ends with: the id of its principal, and that of its session. */
  ids: readonly string[]
  end(): void
  timer: NodeJS.Timeout | null
}

type Limits = Pick<Services['limits'], 'maxStreamsPerKey' | 'maxStreamsPerProject'>

/** Create one for each process. */
export function createRevocationWatcher({
  db,
  pubsub,
  clock,
  log,
  limits,
}: Pick<Services, 'db' | 'pubsub' | 'clock' | 'log'> & { limits: Limits }): RevocationWatcher {
  const open = createOpenStreams(clock, limits)
  const check = oneAtATime(async () => {
    const ids = open.ids()
    for (let i = 0; i < ids.length; i += checkBatch) {
      const batch = ids.slice(i, i + checkBatch)
      for (const id of await endedOf(db, batch)) open.endAll(id)
    }
  })
  const checkQuietly = () =>
    void check().catch((error: unknown) =>
      log.debug({ err: error }, 'revoked keys could not be read; retrying'),
    )
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'revoked') open.endAll(hint.id)
    else if (hint.kind === 'reconnected') checkQuietly()
  })
  const timer = setInterval(checkQuietly, checkMs).unref()
  return {
    onRevoked({ id, projectId, expiresAt, sessionId }, end) {
      const stream = open.add(sessionId === undefined ? [id] : [id, sessionId], projectId, end)
      // The session of a person may be extended meanwhile: only its row tells when it ends.
      if (expiresAt && !(sessionId !== undefined && isSubject(id))) open.endAt(stream, expiresAt.getTime())
      return () => void open.forget(stream)
    },
    close() {
      unsubscribe()
      clearInterval(timer)
      open.clear()
    },
  }
}

/** Those of the keys that were revoked or are not there, and of the sessions that have ended. */
async function endedOf(db: Database, ids: readonly string[]): Promise<string[]> {
  const [ofSessions, ofKeys] = [ids.filter(isSession), ids.filter((id) => kindOfId(id) === 'apiKey')]
  const valid = ofKeys.length
    ? await db
        .select({ id: apiKeys.id })
        .from(apiKeys)
        .where(and(inArray(apiKeys.id, ofKeys), isNull(apiKeys.revokedAt)))
    : []
  const live = ofSessions.length
    ? await db
        .select({ id: sessions.id })
        .from(sessions)
        .where(and(inArray(sessions.id, ofSessions), sql`${sessions.expiresAt} > clock_timestamp()`))
    : []
  const known = new Set([...valid, ...live].map(({ id }) => id))
  return [...ofKeys, ...ofSessions].filter((id) => !known.has(id))
}

/** The open streams by key and session, and their number by project. */
function createOpenStreams(clock: Services['clock'], limits: Limits) {
  const open = new Map<string, Set<OpenStream>>()
  const ofProject = new Map<string, number>()
  const count = (projectId: string, more: 1 | -1) => {
    const now = (ofProject.get(projectId) ?? 0) + more
    if (now > 0) ofProject.set(projectId, now)
    else ofProject.delete(projectId)
  }
  const forget = (stream: OpenStream): boolean => {
    if (stream.timer) clearTimeout(stream.timer)
    let known = false
    for (const id of stream.ids) {
      const all = open.get(id)
      if (all?.delete(stream)) known = true
      if (all?.size === 0) open.delete(id)
    }
    if (known) count(stream.projectId, -1)
    return known
  }
  const endAt = (stream: OpenStream, time: number): void => {
    const left = time - clock.now()
    const next = () => {
      if (left > longestTimerMs) endAt(stream, time)
      else if (forget(stream)) stream.end()
    }
    stream.timer = setTimeout(next, Math.min(left, longestTimerMs)).unref()
  }
  return {
    ids: () => [...open.keys()],
    forget,
    endAt,
    endAll(id: string) {
      for (const stream of open.get(id) ?? []) if (forget(stream)) stream.end()
    },
    /** Throws LIMITED when the key or its project already has the most streams. */
    add(ids: readonly [string, ...string[]], projectId: string, end: () => void): OpenStream {
      const { maxStreamsPerKey: perKey, maxStreamsPerProject: perProject } = limits
      if ((open.get(ids[0])?.size ?? 0) >= perKey) throw tooMany('This key', perKey)
      if ((ofProject.get(projectId) ?? 0) >= perProject) throw tooMany('The project of this key', perProject)
      const stream: OpenStream = { projectId, ids, end, timer: null }
      count(projectId, 1)
      for (const id of ids) open.set(id, (open.get(id) ?? new Set()).add(stream))
      return stream
    },
    clear() {
      for (const all of open.values()) for (const stream of all) if (stream.timer) clearTimeout(stream.timer)
      open.clear()
      ofProject.clear()
    },
  }
}

function tooMany(who: string, most: number): AppError {
  const message = `${who} has ${most} streams, sockets and held requests open on this server, the most that are allowed. Close some.`
  return new AppError('LIMITED', message, { retryAfterMs: 1000 })
}

/** The stream, until the caller's key is revoked or expires: then it throws UNAUTHENTICATED. */
export function untilRevoked<T>(
  ctx: Pick<Ctx, 'principal' | 'revocations'>,
  stream: AsyncIterableIterator<T>,
): AsyncIterableIterator<T> {
  let revoked = false
  const forget = ctx.revocations.onRevoked(ctx.principal, () => {
    revoked = true
    void stream.return?.()
  })
  return {
    async next() {
      try {
        const item = await stream.next()
        if (revoked) throw unauthenticatedError()
        if (item.done) forget()
        return item
      } catch (error) {
        // A consumer does not call return() after an error, and one that reads on would read behind a gap.
        forget()
        await stream.return?.()
        throw error
      }
    },
    async return() {
      forget()
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      forget()
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
