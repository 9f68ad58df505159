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
