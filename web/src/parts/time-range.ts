/** A stretch of time that a list is narrowed to, as the address has it. Pure. */
import { t } from '../texts/texts.tsx'

/** The periods that can be chosen: before now, with their length in milliseconds, and the whole day before this one. */
export const periods = [
  { since: '1h', name: t('Last hour'), ms: 3_600_000 },
  { since: '24h', name: t('Last 24 hours'), ms: 86_400_000 },
  { since: 'yesterday', name: t('Yesterday'), ms: null },
  { since: '7d', name: t('Last 7 days'), ms: 7 * 86_400_000 },
  { since: '30d', name: t('Last 30 days'), ms: 30 * 86_400_000 },
] as const
export type Period = (typeof periods)[number]['since']

/** A period, or two moments of which each may be open. */
export interface TimeRange {
  since: Period | null
  from: string | null
  to: string | null
}

export const anyTime: TimeRange = { since: null, from: null, to: null }

/** The range in the query of an address; what is no moment is none. */
export function rangeOf(given: URLSearchParams): TimeRange {
  const since = periods.find((one) => one.since === given.get('since'))?.since ?? null
  if (since) return { since, from: null, to: null }
  return { since, from: momentOf(given.get('from')), to: momentOf(given.get('to')) }
}

/** A moment as the API writes it; null when the text is none. */
export function momentOf(text: string | null): string | null {
  if (!text) return null
  const at = Date.parse(text)
  // Beyond these years the API knows no moments.
  return Number.isFinite(at) && Math.abs(at) < 8.64e14 && /^\d{4}-/.test(text)
    ? new Date(at).toISOString()
    : null
}

/** The members of an address that make a range; null takes one away. */
export function membersOf({ since, from, to }: TimeRange): Record<'since' | 'from' | 'to', string | null> {
  return { since, from, to }
}

/** The first moment of the day that is so many days after that of `now`, by the clock of this browser. */
function dayAt(now: number, days: number): string {
  const day = new Date(now)
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() + days)
  return day.toISOString()
}

/** The filter of the API. A period with a length begins at `now` minus it. */
export function boundsOf(
  { since, from, to }: TimeRange,
  now: number,
): { createdAfter: string | null; createdBefore: string | null } {
  const period = periods.find((one) => one.since === since)
  if (!period) return { createdAfter: from, createdBefore: to }
  return period.ms === null
    ? { createdAfter: dayAt(now, -1), createdBefore: dayAt(now, 0) }
    : { createdAfter: new Date(now - period.ms).toISOString(), createdBefore: null }
}

/** A moment as a field for date and time has it: local, to the minute. */
export function fieldOf(moment: string | null): string {
  if (moment === null) return ''
  const at = new Date(moment)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
