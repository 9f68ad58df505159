/** The time axis: moments to places between 0 and 1, with long pauses folded to marked gaps. Pure. */
import { units } from '../../parts/durations.ts'
import { t } from '../../texts/texts.tsx'
import type { Bar, BarKind } from './bar.ts'

interface Span {
  from: number
  to: number
}

/** A stretch of time on the axis. */
export interface Segment extends Span {
  /** Places between 0 and 1. */
  x0: number
  x1: number
  /** Whether nothing worked in it, and it is drawn as a gap. */
  isFolded: boolean
}

export interface Scale {
  segments: readonly Segment[]
  /** The beginning of the axis, in milliseconds since 1970. */
  start: number
}

/** During these something works; the others wait. */
const active: ReadonlySet<BarKind> = new Set<BarKind>(['model', 'work', 'child'])

/** A pause is folded when it is longer than this share of all activity. */
const foldShare = 1 / 3
/** Shorter ones are never folded, in milliseconds. */
const leastFoldMs = 1_000
/** How wide a gap is, as a share of what is drawn; all together take at most 40 %. */
const gapShare = 0.07

/** The stretches in which at least one bar is, joined. */
export function unionOf(spans: readonly Span[]): Span[] {
  const found: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = found.at(-1)
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else found.push({ ...span })
  }
  return found
}

const lengthOf = (spans: readonly Span[]) => spans.reduce((sum, { from, to }) => sum + to - from, 0)

/** The pauses that are folded: between activities, before the first and after the last one. */
export function foldsOf(bars: readonly Bar[], { from: start, to: end }: Span, now: number): Span[] {
  const busy = unionOf(
    bars.filter(({ kind }) => active.has(kind)).map(({ from, to }) => ({ from, to: to ?? now })),
  )
  if (busy.length === 0) return []
  const least = Math.max(leastFoldMs, lengthOf(busy) * foldShare)
  const edges = [start, ...busy.flatMap(({ from, to }) => [from, to]), end]
  const pauses = Array.from({ length: edges.length / 2 }, (_, at) => ({
    from: edges[2 * at]!,
    to: edges[2 * at + 1]!,
  }))
  return pauses.filter(({ from, to }) => to - from > least)
}

/**
 * The axis of these bars. While the run lives it, or the folded pause in which it waits, ends at a round length behind now,
 * so that it does not move with every second.
 */
export function scaleOf(bars: readonly Bar[], now: number, isLive: boolean): Scale {
  const start = bars.length === 0 ? now : Math.min(...bars.map(({ from }) => from))
  const lastEnd = Math.max(...bars.map(({ to }) => to ?? now), start)
  const end = isLive ? Math.max(lastEnd, now) : lastEnd
  const folds = foldsOf(bars, { from: start, to: end }, now)
  const drawn = Math.max(1, end - start - lengthOf(folds))
  const last = folds.at(-1)
  if (!isLive || last?.to !== end) {
    const spare = isLive ? roundUp(drawn) - drawn : 0
    return { start, segments: placed(cut(start, end + spare, folds), folds.length, drawn + spare) }
  }
  last.to = last.from + roundUp(end - last.from)
  return { start, segments: placed(cut(start, last.to, folds), folds.length, drawn) }
}

/** The stretches between and in the folds. */
function cut(start: number, end: number, folds: readonly Span[]): (Span & { isFolded: boolean })[] {
  const pieces: (Span & { isFolded: boolean })[] = []
  let at = start
  for (const fold of folds) {
    if (fold.from > at) pieces.push({ from: at, to: fold.from, isFolded: false })
    pieces.push({ ...fold, isFolded: true })
    at = fold.to
  }
  if (end > at || pieces.length === 0) pieces.push({ from: at, to: Math.max(end, at + 1), isFolded: false })
  return pieces
}

function placed(pieces: readonly (Span & { isFolded: boolean })[], gaps: number, drawnMs: number): Segment[] {
  const gap = gaps === 0 ? 0 : Math.min(gapShare, 0.4 / gaps)
  const rest = 1 - gaps * gap
  let x = 0
  return pieces.map((piece) => {
    const width = piece.isFolded ? gap : ((piece.to - piece.from) / drawnMs) * rest
    const segment = { ...piece, x0: x, x1: Math.min(1, x + width) }
    x = segment.x1
    return segment
  })
}

const round = [1, 1.5, 2, 3, 5, 7.5, 10]

/** The next round length. */
export function roundUp(length: number): number {
  const unit = 10 ** Math.floor(Math.log10(length))
  return (round.find((one) => one * unit >= length) ?? 10) * unit
}

/** The place of a moment. */
export function placeOf({ segments }: Scale, at: number): number {
  const segment = segments.find(({ to }) => at <= to) ?? segments.at(-1)!
  const share = (at - segment.from) / Math.max(1, segment.to - segment.from)
  return segment.x0 + Math.min(1, Math.max(0, share)) * (segment.x1 - segment.x0)
}

/** A part of the axis, as places between 0 and 1. */
export interface View {
  from: number
  to: number
}
export const whole: View = { from: 0, to: 1 }

/** The least that can be shown, as a share of the axis. */
export const leastView = 0.001

/** The view of a stretch that was drawn over with the pointer, from either side; the old one when it is too short. */
export function viewOfStretch(view: View, a: number, b: number): View {
  const width = view.to - view.from
  const from = view.from + Math.max(0, Math.min(a, b)) * width
  const to = view.from + Math.min(1, Math.max(a, b)) * width
  return to - from < leastView ? view : { from, to }
}

/** The place of a place in a view. It may lie outside of 0 to 1. */
export const inView = (view: View, x: number): number => (x - view.from) / (view.to - view.from)

export interface Tick {
  /** Where it stands in the view, between 0 and 1. */
  x: number
  /** Milliseconds since the beginning of the axis. */
  after: number
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]
/** Round lengths, in milliseconds: short to write as times are written. */
const tickSteps = [
  [1, 2, 5, 10, 20, 50, 100, 200, 500],
  [1, 2, 5, 10, 20, 30].map((s) => s * second),
  [1, 2, 5, 10, 20, 30].map((min) => min * minute),
  [1, 2, 3, 6, 12].map((h) => h * hour),
].flat()

/** About `most` round moments in the view, none in a gap, and none that touches another. */
export function ticksOf(scale: Scale, view: View, most: number): Tick[] {
  const drawn = scale.segments.filter(({ isFolded }) => !isFolded)
  const total = lengthOf(drawn)
  const share = view.to - view.from
  const want = Math.max(1, (total * share) / most)
  const step = tickSteps.find((one) => one >= want) ?? Math.ceil(want / day) * day
  const ticks: Tick[] = []
  let last = -1
  for (const { from, to } of drawn) {
    const first = Math.ceil((from - scale.start) / step)
    // A long run that is zoomed far has many steps outside of the view: only those in it are walked.
    const begin = Math.max(first, Math.floor((timeAt(scale, view.from) - scale.start) / step))
    for (let n = begin; n * step + scale.start <= to && ticks.length < 2 * most; n++) {
      const x = inView(view, placeOf(scale, n * step + scale.start))
      if (x > 1) break
      if (x < 0 || (last >= 0 && x - last < 0.6 / most)) continue
      ticks.push({ x, after: n * step })
      last = x
    }
  }
  return ticks
}

/** The moment at a place. */
export function timeAt({ segments }: Scale, x: number): number {
  const segment = segments.find(({ x1 }) => x <= x1) ?? segments.at(-1)!
  const share = (x - segment.x0) / Math.max(1e-9, segment.x1 - segment.x0)
  return segment.from + Math.min(1, Math.max(0, share)) * (segment.to - segment.from)
}

/** A duration to the millisecond, in as many units as that takes: two that differ never read the same. */
export function exactText(ms: number): string {
  if (ms < 1000) return t('{ms} ms', { ms })
  let left = ms / 1000
  return units
    .flatMap(({ seconds, text }) => {
      const count = seconds === 1 ? Math.round(left * 1000) / 1000 : Math.floor(left / seconds)
      left -= count * seconds
      return count === 0 ? [] : [text(count)]
    })
    .join(' ')
}
