/** A long list: of more rows than a page can hold with ease, only those near the screen are in the document. */
import { useEffect, useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode } from 'react'

/** Lists of at most this many rows are in the document as a whole, each row as high as it is. */
const mostWhole = 200
/** How many rows are drawn beyond each edge of the screen. */
const around = 12

const placed = { position: 'absolute', insetInline: 0, overflow: 'hidden' } as const

/** What a row tells of its place; it goes on its `<li>`. */
export interface Place {
  style?: CSSProperties
  'aria-setsize': number
  'aria-posinset': number
}

interface Props {
  label: string
  className: string
  count: number
  /** The height of each row of a long list, in pixels. */
  height: number
  /** The row that is drawn wherever it stands, because it may have the focus; -1: none. */
  current?: number
  renderRow(at: number, place: Place): ReactNode
}

export function LongList({ label, className, count, height, current = -1, renderRow }: Props) {
  const list = useRef<HTMLUListElement>(null)
  const [shown, setShown] = useState({ from: 0, to: 2 * around })
  const isLong = count > mostWhole
  const look = () => {
    const top = -(list.current?.getBoundingClientRect().top ?? 0)
    const from = Math.floor(top / height) - around
    const to = Math.ceil((top + window.innerHeight) / height) + around
    setShown((before) => (before.from === from && before.to === to ? before : { from, to }))
  }
  useLayoutEffect(() => {
    if (isLong) look()
    // The place of the list is measured when its length has changed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isLong, count])
  useEffect(() => {
    if (!isLong) return
    // Whatever scrolls around it: events of scrolling are heard on their way down.
    document.addEventListener('scroll', look, { capture: true, passive: true })
    window.addEventListener('resize', look)
    return () => {
      document.removeEventListener('scroll', look, { capture: true })
      window.removeEventListener('resize', look)
    }
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isLong, height])
  const drawn: number[] = []
  for (let at = 0; at < count; at++)
    if (!isLong || at === current || (at >= shown.from && at < shown.to)) drawn.push(at)
  return (
    <ul
      ref={list}
      className={className}
      aria-label={label}
      style={isLong ? { position: 'relative', height: count * height } : undefined}
    >
      {drawn.map((at) =>
        renderRow(at, {
          'aria-setsize': count,
          'aria-posinset': at + 1,
          ...(isLong ? { style: { ...placed, insetBlockStart: at * height, height } } : {}),
        }),
      )}
    </ul>
  )
}
