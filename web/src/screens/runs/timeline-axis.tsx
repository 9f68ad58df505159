/** The time above the bars, the gaps of folded pauses, and the brush that zooms. */
import { useRef, useState, type PointerEvent } from 'react'
import { useNow } from '../../api/clock.ts'
import { durationText } from '../../parts/durations.ts'
import { KeyHint } from '../../parts/key-hint.tsx'
import {
  exactText,
  viewOfStretch,
  inView,
  leastView,
  ticksOf,
  whole,
  type Scale,
  type Segment,
  type View,
} from './scale.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  scale: Scale
  view: View
  onZoom(view: View): void
}

/** Ticks on a plot of default width. */
const mostTicks = 6

export function TimelineAxis({ scale, view, onZoom }: Props) {
  const [brush, setBrush] = useState<{ a: number; b: number } | null>(null)
  const plot = useRef<HTMLDivElement>(null)
  const place = (event: PointerEvent) => {
    const box = plot.current!.getBoundingClientRect()
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width))
  }
  const isZoomed = view !== whole
  const zoomBy = (factor: number) => {
    const middle = (view.from + view.to) / 2
    const half = Math.max(leastView, (view.to - view.from) * factor) / 2
    const from = Math.max(0, middle - half)
    const to = Math.min(1, middle + half)
    onZoom(to - from >= 1 ? whole : { from, to })
  }
  return (
    <div className="timeline-head">
      <div className="timeline-tools" role="group" aria-label={t('Zoom')}>
        <button type="button" className="quiet" aria-label={t('Zoom in')} onClick={() => zoomBy(0.5)}>
          +
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={t('Zoom out')}
          disabled={!isZoomed}
          onClick={() => zoomBy(2)}
        >
          −
        </button>
        <button type="button" className="quiet" disabled={!isZoomed} onClick={() => onZoom(whole)}>
          {t('All|time')} <KeyHint keys="0" />
        </button>
      </div>
      <div
        ref={plot}
        className="timeline-plot"
        title={t('Drag to zoom')}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          setBrush({ a: place(event), b: place(event) })
        }}
        onPointerMove={(event) => brush && setBrush({ a: brush.a, b: place(event) })}
        onPointerUp={(event) => {
          if (brush) onZoom(viewOfStretch(view, brush.a, place(event)))
          setBrush(null)
        }}
        onPointerCancel={() => setBrush(null)}
      >
        {ticksOf(scale, view, mostTicks).map(({ x, after }) => (
          <span key={after} className="timeline-tick" style={{ insetInlineStart: `${x * 100}%` }}>
            <span>{after === 0 ? '0' : exactText(after)}</span>
          </span>
        ))}
        {gapsOf(scale, view).map(({ gap, hasLabel }) => (
          <Gap key={gap.from} gap={gap} view={view} hasLabel={hasLabel} />
        ))}
        {brush && (
          <span
            className="timeline-brush"
            style={{
              insetInlineStart: `${Math.min(brush.a, brush.b) * 100}%`,
              width: `${Math.abs(brush.b - brush.a) * 100}%`,
            }}
          />
        )}
      </div>
    </div>
  )
}

/** Labels of gaps stand at least so far apart, as a share of the axis. */
const leastApart = 0.17

/** The gaps, of which those that follow closely have no label. */
function gapsOf({ segments }: Scale, view: View): { gap: Segment; hasLabel: boolean }[] {
  let last = -1
  return segments
    .filter(({ isFolded }) => isFolded)
    .map((gap) => {
      const x = inView(view, (gap.x0 + gap.x1) / 2)
      const hasLabel = x - last >= leastApart || last < 0
      if (hasLabel && x >= 0) last = x
      return { gap, hasLabel }
    })
}

/** A pause in which nothing worked, drawn narrow, with its length. */
function Gap({ gap, view, hasLabel }: { gap: Segment; view: View; hasLabel: boolean }) {
  const now = useNow()
  const [x0, x1] = [inView(view, gap.x0), inView(view, gap.x1)]
  if (x1 < 0 || x0 > 1) return null
  // The gap of a run that waits ends later than now.
  const length = Math.min(gap.to, Math.max(now, gap.from)) - gap.from
  const style = {
    insetInlineStart: `${Math.max(0, x0) * 100}%`,
    width: `${(Math.min(1, x1) - Math.max(0, x0)) * 100}%`,
  }
  return (
    <span
      className="timeline-gap"
      style={style}
      title={t('A pause of {time}, collapsed', { time: durationText(length) })}
    >
      {hasLabel && <span>{durationText(length)}</span>}
    </span>
  )
}
