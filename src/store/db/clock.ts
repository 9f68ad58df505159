/** The clock of the database, read at times, so that all replicas have one: that of a process may be wrong. */
import type { Clock } from '../../core/clock.ts'
import { timeOf, type Database } from './database.ts'

const everyMs = 10_000

export interface DatabaseClock extends Clock {
  /** Stops reading. */
  close(): void
}

/**
 * The time of the database, a few milliseconds off. Between two reads it goes on with the monotonic clock, whatever happens to
 * the clock of this process; while the database does not answer, too. Throws when it cannot be read at first.
 */
export async function followClock(db: Database): Promise<DatabaseClock> {
  /** What the database's clock is ahead of the monotonic one, in milliseconds. */
  let offset: number | null = null
  const read = async () => {
    const sent = performance.now()
    const time = await timeOf(db)
    const [least, most] = [time - performance.now(), time - sent]
    // A slow answer says little: what is possible still holds.
    offset = offset === null ? (least + most) / 2 : Math.min(Math.max(offset, least), most)
  }
  await read()
  let reading: Promise<void> | null = null
  const timer = setInterval(() => {
    reading ??= read()
      .catch(() => {})
      .finally(() => (reading = null))
  }, everyMs).unref()
  return {
    now: () => Math.round(performance.now() + offset!),
    close: () => clearInterval(timer),
  }
}
