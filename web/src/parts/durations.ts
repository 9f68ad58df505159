/** Durations and ages as short text. */
import { locale, t } from '../texts/texts.tsx'

const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** A duration as its two largest units: 4 min 10 s. Negative ones count as 0. */
export function durationText(ms: number): string {
  if (ms < 1000) return t('{ms} ms', { ms: Math.max(0, Math.round(ms)) })
  if (ms < 10_000) return t('{s} s', { s: tenths.format(ms / 1000) })
  return clockText(ms)
}

/** The same in whole seconds. */
export function clockText(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return t('{s} s', { s })
  if (s < 3600) return t('{min} min {s} s', { min: Math.floor(s / 60), s: s % 60 })
  if (s < 86_400) return t('{h} h {min} min', { h: Math.floor(s / 3600), min: Math.floor((s % 3600) / 60) })
  return t('{d} d {h} h', { d: Math.floor(s / 86_400), h: Math.floor((s % 86_400) / 3600) })
}

const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })

/** How long ago a moment was, in one unit; the date after a week. */
export function agoText(at: number, now: number): string {
  const s = Math.max(0, Math.floor((now - at) / 1000))
  if (s < 5) return t('just now')
  if (s < 60) return t('{s} s ago', { s })
  if (s < 3600) return t('{min} min ago', { min: Math.floor(s / 60) })
  if (s < 86_400) return t('{h} h ago', { h: Math.floor(s / 3600) })
  return s < 7 * 86_400 ? t('{d} d ago', { d: Math.floor(s / 86_400) }) : day.format(at)
}

/** The units of a time as people write it, the largest first. */
export const units = [
  { seconds: 86_400, text: (d: number) => t('{d} d', { d }), names: /^[dt]/ },
  { seconds: 3600, text: (h: number) => t('{h} h', { h }), names: /^(?:h|st)/ },
  { seconds: 60, text: (min: number) => t('{min} min', { min }), names: /^m/ },
  { seconds: 1, text: (s: number) => t('{s} s', { s }), names: /^s/ },
]

/** Whole seconds in the largest unit that is whole: 300 are 5 min. */
export function spanText(seconds: number): string {
  const unit = units.find((one) => seconds % one.seconds === 0)
  return unit ? unit.text(seconds / unit.seconds) : ''
}

/** The seconds of a text such as `5 min`, `1 h` or `7 days`; NaN when it is none. */
export function spanFrom(text: string): number {
  const [, count = '', name = ''] = /^(\d+)\s*([a-z]+)\.?$/i.exec(text.trim()) ?? []
  const unit = units.find(({ names }) => names.test(name.toLowerCase()))
  return unit && count !== '' ? Number(count) * unit.seconds : NaN
}
