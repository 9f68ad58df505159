/** Figures of a stretch of time, from its buckets. Pure. */
import { durationText } from '../../parts/durations.ts'
import { moneyText } from '../../parts/money.ts'
import { locale, t } from '../../texts/texts.tsx'

/** What the figures need of a bucket. */
export interface Bucket {
  start: string
  completed: number
  failed: number
  expired: number
  cancelled: number
  open: number
  inputTokens: number
  outputTokens: number
  cost: number
  unpricedTokens: number
  approvals: number
  approvalsExpired: number
  verdictP50: number | null
  verdictP90: number | null
}

export const runKinds = ['completed', 'failed', 'expired', 'cancelled', 'open'] as const

export const runWords: Record<(typeof runKinds)[number], string> = {
  completed: t('completed'),
  failed: t('failed'),
  expired: t('expired'),
  cancelled: t('cancelled'),
  open: t('open'),
}

/** The runs of a bucket, however they ended. */
export const runsOf = (bucket: Bucket): number => runKinds.reduce((sum, kind) => sum + bucket[kind], 0)

/** The runs that have ended: shares are of them, as nobody knows how the others end. */
export const finishedOf = (bucket: Bucket): number => runsOf(bucket) - bucket.open

/** Whether anything began in a bucket. */
export const isBusy = (bucket: Bucket): boolean => runsOf(bucket) > 0 || bucket.approvals > 0

/** The sum of a field. */
export const sumOf = (
  buckets: readonly Bucket[],
  field: keyof Omit<Bucket, 'start' | 'verdictP50' | 'verdictP90'>,
) => buckets.reduce((sum, bucket) => sum + bucket[field], 0)

/** A share in words: none of nothing, and never 0 % or 100 % of something that is not. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return t('none')
  const percent = (100 * part) / whole
  if (part > 0 && percent < 1) return t('under 1 %')
  if (part < whole && percent > 99) return t('over 99 %')
  return `${Math.round(percent)} %`
}

/** Seconds as a duration; none without a verdict. */
export const secondsText = (value: number | null): string =>
  value === null ? t('none') : durationText(value * 1000)

/** What is known of the cost, where tokens of some models have no price. */
export function costText(cost: number, unpricedTokens: number): string {
  if (unpricedTokens === 0) return moneyText(cost)
  return cost === 0 ? t('unknown') : t('{cost} and more', { cost: moneyText(cost) })
}

/** The stretches that can be chosen; each begins with a whole hour or day of this browser. */
export const stretches = [
  { key: '24h', name: t('Last 24 hours'), bucket: 'HOUR', count: 24 },
  { key: '7d', name: t('Last 7 days'), bucket: 'DAY', count: 7 },
  { key: '30d', name: t('Last 30 days'), bucket: 'DAY', count: 30 },
] as const
export type Stretch = (typeof stretches)[number]

/** Where a stretch begins that ends now. */
export function beginOf({ bucket, count }: Pick<Stretch, 'bucket' | 'count'>, now: number): string {
  const at = new Date(now)
  at.setMinutes(0, 0, 0)
  if (bucket === 'HOUR') return new Date(at.getTime() - (count - 1) * 3_600_000).toISOString()
  at.setHours(0)
  at.setDate(at.getDate() - (count - 1))
  return at.toISOString()
}

/** The longest range that the API counts by hours and by days: 400 buckets. */
const mostBuckets = 400

/** A range of any dates, by hours while that is a picture; what is open ends now, and begins 30 days before its end. */
export function stretchBetween(
  from: string | null,
  to: string | null,
  now: number,
): { from: string; to: string | null; bucket: Stretch['bucket'] } {
  const end = to === null ? now : Date.parse(to)
  const least = end - (mostBuckets - 1) * 86_400_000
  const start = Math.max(least, from === null ? end - 30 * 86_400_000 : Date.parse(from))
  // A range that ends before it begins is empty, not a fault of the server.
  const begin = Math.min(start, end - 3_600_000)
  return {
    from: new Date(begin).toISOString(),
    to,
    bucket: end - begin <= 3 * 86_400_000 ? 'HOUR' : 'DAY',
  }
}

const time = { hour: '2-digit', minute: '2-digit' } as const
const date = { day: 'numeric', month: 'short' } as const
const hour = new Intl.DateTimeFormat(locale, time)
const hourOfDay = new Intl.DateTimeFormat(locale, { ...date, ...time })
const day = new Intl.DateTimeFormat(locale, date)

/** What the buckets that begin at these moments are called; hours of several days have their day. */
export function labelsOf(starts: readonly string[], bucket: Stretch['bucket']): string[] {
  const format = bucket === 'DAY' ? day : starts.length > 24 ? hourOfDay : hour
  return starts.map((start) => format.format(new Date(start)))
}

/** The labels that stand below a chart: the first, the one in the middle and the last, none beside its like. */
export function marksOf(labels: readonly string[]): string[] {
  const marks = [0, Math.floor(labels.length / 2), labels.length - 1].flatMap((at) => labels[at] ?? [])
  return marks.filter((label, at) => label !== marks[at - 1])
}

const rounds = [1, 2, 5, 10]

/** The next round number: the top of an axis. */
export function topOf(most: number): number {
  if (most <= 0) return 1
  const unit = 10 ** Math.floor(Math.log10(most))
  return (rounds.find((one) => one * unit >= most) ?? 10) * unit
}
