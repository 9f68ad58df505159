/** When an attempt at a model response began and was first answered, by the clock of the database. */
import type { SQL } from 'drizzle-orm'
import { nowPlus } from '../../../store/db/database.ts'

export interface AttemptTimes {
  /** Call it when a part of the response arrives; only the first call counts. */
  noteAnswer(): void
  /** When the request was sent. Build it for the statement that is sent next: it counts back from that moment. */
  startedAt(): SQL
  /** When the first part of the response arrived; null without one. */
  firstTokenAt(): SQL | null
}

/** The times of an attempt that begins now. Durations are measured here, so clocks that differ do no harm. */
export function attemptTimes(now: () => number = () => performance.now()): AttemptTimes {
  const started = now()
  let first: number | null = null
  return {
    noteAnswer: () => void (first ??= now()),
    startedAt: () => nowPlus(started - now()),
    firstTokenAt: () => (first === null ? null : nowPlus(first - now())),
  }
}
