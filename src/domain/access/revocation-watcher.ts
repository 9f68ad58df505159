/** What stays open on somebody's behalf, as streams and sockets do: it ends with the key or token that opened it. */
import { and, inArray, isNotNull } from 'drizzle-orm'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import { AppError } from '../../core/errors.ts'
import type { Services, RevocationWatcher } from './context.ts'

/** How often the keys are looked at when no bell rings, in milliseconds: as long as an authenticated key is believed. */
const lookMs = 5000
const lookBatch = 2000
/** What a timer can hold, in milliseconds: some 24 days. */
const longestTimerMs = 2 ** 31 - 1

interface Stay {
  projectId: string
  end(): void
  timer: NodeJS.Timeout | null
}

type Limits = Pick<Services['limits'], 'maxStreamsPerKey' | 'maxStreamsPerProject'>

/** One for each process. */
export function createRevocationWatcher({
  db,
  pubsub,
  clock,
  log,
  limits,
}: Pick<Services, 'db' | 'pubsub' | 'clock' | 'log'> & { limits: Limits }): RevocationWatcher {
  const open = createOpenStays(clock, limits)
  const look = oneAtATime(async () => {
    const ids = open.ids()
    for (let i = 0; i < ids.length; i += lookBatch) {
      const batch = ids.slice(i, i + lookBatch)
      const revoked = await db
        .select({ id: apiKeys.id })
        .from(apiKeys)
        .where(and(inArray(apiKeys.id, batch), isNotNull(apiKeys.revokedAt)))
      for (const { id } of revoked) open.endAll(id)
    }
  })
  const lookQuietly = () =>
    void look().catch((error: unknown) =>
      log.debug({ err: error }, 'keys could not be looked at; it is tried again'),
    )
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'revoked') open.endAll(hint.id)
    else if (hint.kind === 'reconnected') lookQuietly()
  })
  const timer = setInterval(lookQuietly, lookMs).unref()
  return {
    onRevoked({ id, projectId, expiresAt }, end) {
      const stay = open.add(id, projectId, end)
      if (expiresAt) open.endAt(id, stay, expiresAt.getTime())
      return () => void open.forget(id, stay)
    },
    close() {
      unsubscribe()
      clearInterval(timer)
      open.clear()
    },
  }
}

/** What is open, by key, and how much of it belongs to each project. */
function createOpenStays(clock: Services['clock'], limits: Limits) {
  const open = new Map<string, Set<Stay>>()
  const ofProject = new Map<string, number>()
  const count = (projectId: string, more: 1 | -1) => {
    const now = (ofProject.get(projectId) ?? 0) + more
    if (now > 0) ofProject.set(projectId, now)
    else ofProject.delete(projectId)
  }
  const forget = (id: string, stay: Stay): boolean => {
    if (stay.timer) clearTimeout(stay.timer)
    const all = open.get(id)
    const known = all?.delete(stay) ?? false
    if (known) count(stay.projectId, -1)
    if (all?.size === 0) open.delete(id)
    return known
  }
  const endAt = (id: string, stay: Stay, time: number): void => {
    const left = time - clock.now()
    const next = () => {
      if (left > longestTimerMs) endAt(id, stay, time)
      else if (forget(id, stay)) stay.end()
    }
    stay.timer = setTimeout(next, Math.min(left, longestTimerMs)).unref()
  }
  return {
    ids: () => [...open.keys()],
    forget,
    endAt,
    endAll(id: string) {
      for (const stay of open.get(id) ?? []) if (forget(id, stay)) stay.end()
    },
    /** LIMITED when the key or its project has as many as it may. */
    add(id: string, projectId: string, end: () => void): Stay {
      const { maxStreamsPerKey: perKey, maxStreamsPerProject: perProject } = limits
      if ((open.get(id)?.size ?? 0) >= perKey) throw tooMany('This key', perKey)
      if ((ofProject.get(projectId) ?? 0) >= perProject) throw tooMany('The project of this key', perProject)
      const stay: Stay = { projectId, end, timer: null }
      count(projectId, 1)
      open.set(id, (open.get(id) ?? new Set()).add(stay))
      return stay
    },
    clear() {
      for (const all of open.values()) for (const stay of all) if (stay.timer) clearTimeout(stay.timer)
      open.clear()
      ofProject.clear()
    },
  }
}

function tooMany(who: string, most: number): AppError {
  const message = `${who} has ${most} streams and sockets open on this server, which is the most. Close some.`
  return new AppError('LIMITED', message, { retryAfterMs: 1000 })
}
