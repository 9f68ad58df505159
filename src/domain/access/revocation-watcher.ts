/** Ends streams and sockets when the key or token that opened them is revoked or expires. */
import { and, inArray, isNotNull } from 'drizzle-orm'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import { AppError } from '../../core/errors.ts'
import type { Services, RevocationWatcher } from './context.ts'

/**
 * How often the keys are checked without a hint, in milliseconds: as long as an authenticated key is cached.
 */
const checkMs = 5000
const checkBatch = 2000
/** The longest timer, in milliseconds: about 24 days. */
const longestTimerMs = 2 ** 31 - 1

interface OpenStream {
  projectId: string
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
      const revoked = await db
        .select({ id: apiKeys.id })
        .from(apiKeys)
        .where(and(inArray(apiKeys.id, batch), isNotNull(apiKeys.revokedAt)))
      for (const { id } of revoked) open.endAll(id)
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
    onRevoked({ id, projectId, expiresAt }, end) {
      const stream = open.add(id, projectId, end)
      if (expiresAt) open.endAt(id, stream, expiresAt.getTime())
      return () => void open.forget(id, stream)
    },
    close() {
      unsubscribe()
      clearInterval(timer)
      open.clear()
    },
  }
}

/** The open streams by key, and their number by project. */
function createOpenStreams(clock: Services['clock'], limits: Limits) {
  const open = new Map<string, Set<OpenStream>>()
  const ofProject = new Map<string, number>()
  const count = (projectId: string, more: 1 | -1) => {
    const now = (ofProject.get(projectId) ?? 0) + more
    if (now > 0) ofProject.set(projectId, now)
    else ofProject.delete(projectId)
  }
  const forget = (id: string, stream: OpenStream): boolean => {
    if (stream.timer) clearTimeout(stream.timer)
    const all = open.get(id)
    const known = all?.delete(stream) ?? false
    if (known) count(stream.projectId, -1)
    if (all?.size === 0) open.delete(id)
    return known
  }
  const endAt = (id: string, stream: OpenStream, time: number): void => {
    const left = time - clock.now()
    const next = () => {
      if (left > longestTimerMs) endAt(id, stream, time)
      else if (forget(id, stream)) stream.end()
    }
    stream.timer = setTimeout(next, Math.min(left, longestTimerMs)).unref()
  }
  return {
    ids: () => [...open.keys()],
    forget,
    endAt,
    endAll(id: string) {
      for (const stream of open.get(id) ?? []) if (forget(id, stream)) stream.end()
    },
    /** Throws LIMITED when the key or its project already has the most streams. */
    add(id: string, projectId: string, end: () => void): OpenStream {
      const { maxStreamsPerKey: perKey, maxStreamsPerProject: perProject } = limits
      if ((open.get(id)?.size ?? 0) >= perKey) throw tooMany('This key', perKey)
      if ((ofProject.get(projectId) ?? 0) >= perProject) throw tooMany('The project of this key', perProject)
      const stream: OpenStream = { projectId, end, timer: null }
      count(projectId, 1)
      open.set(id, (open.get(id) ?? new Set()).add(stream))
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
  const message = `${who} has ${most} streams and sockets open on this server, the most that are allowed. Close some.`
  return new AppError('LIMITED', message, { retryAfterMs: 1000 })
}
