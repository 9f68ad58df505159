/** Moments and durations: relative, with the exact time in the title; countdowns on the server's clock. */
import { useNow } from '../api/clock.ts'
import { agoText, clockText } from './durations.ts'
import { t, locale } from '../texts/texts.tsx'

const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' })
/** A moment in the past. */
export function Ago({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {agoText(Date.parse(at), now)}
    </time>
  )
}

/** The exact moment. */
export function Moment({ at }: { at: string }) {
  return <time dateTime={at}>{exact.format(new Date(at))}</time>
}

const time = { hour: '2-digit', minute: '2-digit' } as const
const today = new Intl.DateTimeFormat(locale, time)
const otherDay = new Intl.DateTimeFormat(locale, {
  ...time,
  weekday: 'short',
  day: 'numeric',
  month: 'short',
})

/** A moment on the clock of whoever reads it, with the day unless it is today. */
export function ClockTime({ at }: { at: string }) {
  const moment = new Date(at)
  const isToday = moment.toDateString() === new Date(useNow()).toDateString()
  return <time dateTime={at}>{(isToday ? today : otherDay).format(moment)}</time>
}

/** How long it is until a moment; red in its last minute. */
export function Countdown({ until }: { until: string }) {
  const left = Date.parse(until) - useNow()
  return (
    <time
      dateTime={until}
      title={exact.format(new Date(until))}
      className={left < 60_000 ? 'countdown soon' : 'countdown'}
    >
      {left <= 0 ? t('expired') : clockText(left)}
    </time>
  )
}
