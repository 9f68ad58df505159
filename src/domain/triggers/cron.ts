/** When a schedule fires: a cron line of five fields, read in a time zone. Pure. */
import { Cron } from 'croner'

/** The shortest time between two ticks, in minutes: each is a run, with all that a model costs. */
export const leastGapMinutes = 5
/** So many missed ticks are counted at most. */
export const mostMissed = 100

const timed = (line: string, timeZone: string) =>
  new Cron(line, { timezone: timeZone, mode: '5-part', paused: true, fixedTimeRule: 'no-wildcard' })

/** A year without changes of the clock, in UTC, in which the gaps of a line are measured. */
const measuredFrom = new Date('2028-01-01T00:00:00Z')
/** As many as a day can have. */
const measuredTicks = (24 * 60) / leastGapMinutes + 1

/** Why no schedule can have this line, as a message that follows a path; null: it can. */
export function faultOfLine(line: string): string | null {
  if (!/^\S+( +\S+){4}$/.test(line))
    return 'must have five fields: minute, hour, day of month, month, day of week'
  let ticks: Date[]
  try {
    ticks = timed(line, 'UTC').nextRuns(measuredTicks, measuredFrom)
  } catch {
    return 'is not a cron line, such as 30 9 * * MON-FRI'
  }
  if (ticks.length === 0) return 'never fires: no such day comes'
  const often = ticks.some((tick, at) => at > 0 && +tick - +ticks[at - 1]! < leastGapMinutes * 60_000)
  return often ? `fires more often than every ${leastGapMinutes} minutes` : null
}

/** Why this is no time zone, as a message that follows a path; null: it is one. */
export function faultOfZone(timeZone: string): string | null {
  try {
    return Intl.DateTimeFormat('en', { timeZone }) && null
  } catch {
    return 'is not an IANA time zone, such as Europe/Berlin'
  }
}

/**
 * The next ticks after a moment. A time that the clock leaves out comes at the end of the gap; one that it shows twice
 * comes once, and a line with a wildcard or a step in hour or minute goes on through both hours.
 */
export function ticksAfter(line: string, timeZone: string, after: Date, count: number): Date[] {
  return timed(line, timeZone).nextRuns(count, after)
}

/** What a schedule that was to fire at `first`, which is not after `now`, does now. */
export interface DueTick {
  /** The newest tick until now: it starts a run. */
  tick: Date
  /** How many ticks before it are left out, at most `mostMissed`. */
  missed: number
  /** The tick after now; null when none comes. */
  next: Date | null
}

export function dueTick(line: string, timeZone: string, first: Date, now: Date): DueTick {
  const cron = timed(line, timeZone)
  // The reference itself does not count.
  const [before] = cron.previousRuns(1, new Date(now.getTime() + 1))
  const tick = before && before > first ? before : first
  const missed = tick > first ? 1 + cron.nextRuns(mostMissed - 1, first).filter((at) => at < tick).length : 0
  return { tick, missed, next: cron.nextRun(now) }
}
