/**
 * Refreshes an upstream after it reported that its lists changed, and the component of this process that listens for
 * that.
 */
import { sql } from '../../store/db/sql.ts'
import type { Services } from '../access/index.ts'
import { wakeUpstreams } from './save.ts'

/** The shortest interval between two refreshes, however often the upstream reports a change. Milliseconds. */
const shortestMs = 500
/** The longest one: more than a refresh takes, which the next one would end. Milliseconds. */
const longestMs = 60_000

/** The returned function schedules a refresh: at once, or, within an interval, once at its end. */
export function noticeChange(services: Services, id: string): () => void {
  return paceWakes(async () => {
    try {
      const [row] = await wakeUpstreams(services, sql`id = ${id}`)
      return row?.catalogHash
    } catch (error) {
      services.log.warn(
        { err: error, id },
        'could not schedule the refresh of an upstream; it is refreshed later',
      )
      return undefined
    }
  })
}

/**
 * The returned function calls `wake` at once, or, within an interval, once at its end. `wake` returns what is known then: the
 * interval doubles while that stays the same, so that a server which reports a change whenever it is read is not read for
 * ever, and one that reports them all the time is read to the end. After a quiet time it is short again.
 */
export function paceWakes(wake: () => Promise<unknown>): () => void {
  let next = 0
  let waitMs = shortestMs
  let known: unknown
  let timer: NodeJS.Timeout | null = null
  const act = async () => {
    timer = null
    const now = Date.now()
    next = now + waitMs
    const found = await wake()
    waitMs = found === known ? Math.min(waitMs * 2, longestMs) : shortestMs
    next = now + waitMs
    known = found
  }
  return () => {
    if (timer) return
    const leftMs = next - Date.now()
    if (leftMs < -longestMs) waitMs = shortestMs
    if (leftMs <= 0) return void act()
    timer = setTimeout(() => void act(), leftMs)
    timer.unref()
  }
}

/** The component of this process that listens to notifications of upstreams; only worker processes have one. */
export interface Follower {
  /** The name of this process in `upstreams.listener`. */
  name: string
  /** Starts to listen to the upstream; does nothing when it already listens. */
  follow(id: string): Promise<void>
}

/** By the services' connection pool, since one test process runs several servers. */
const followers = new WeakMap<Services['connections'], Follower>()

export function followerOf(services: Services): Follower | null {
  return followers.get(services.connections) ?? null
}

/** Null: the follower has stopped. */
export function setFollower(services: Services, follower: Follower | null): void {
  if (follower) followers.set(services.connections, follower)
  else followers.delete(services.connections)
}
