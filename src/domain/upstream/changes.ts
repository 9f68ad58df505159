/** Refreshes an upstream after it reported that its lists changed; the refresh runs in whichever worker claims it. */
import { sql } from '../../store/db/sql.ts'
import type { Services } from '../access/index.ts'
import { wakeUpstreams } from './save.ts'

/** The shortest interval between two refreshes, however often the upstream reports a change. Milliseconds. */
const shortestMs = 500
/** The longest one: more than a refresh takes, which the next one would end. Milliseconds. */
const longestMs = 60_000

/** The returned function schedules a refresh: at once, or, within an interval, once at its end. */
export function noticeChange(services: Services, id: string): () => void {
  return paced(async () => {
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
export function paced(wake: () => Promise<unknown>): () => void {
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
