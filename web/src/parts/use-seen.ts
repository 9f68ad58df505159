/** What has been on the screen: of each element every part of its height, one after the other. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { readForeignJson, writeJson } from '../../../src/core/exact-json.ts'

/** What of an element was seen, as distances from its top in pixels. */
type Span = readonly [from: number, to: number]

/** The spans with one more, sorted and joined where they touch. Pure. */
export function withSpan(spans: readonly Span[], more: Span): Span[] {
  const joined: [number, number][] = []
  for (const [from, to] of [...spans, more].toSorted((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined
}

/** Whether the spans are the whole height, but for a pixel at each end. Pure. */
export function isWhole(spans: readonly Span[], height: number): boolean {
  const [first] = spans
  return first !== undefined && first[0] <= 1 && first[1] >= height - 1
}

/** Whether there is more in the element than it shows; by its height, because a fold may not be drawn as one yet. */
function isFolded(element: Element): boolean {
  if (element.querySelector('[data-folded]')) return true
  return [...element.querySelectorAll('.folded')].some((one) => one.scrollHeight > one.clientHeight + 1)
}

/** What the verdict covers at the end of the window, and on a phone the tabs below it, in pixels. */
const covered = { wide: 96, narrow: 208 }
const narrow = '(max-width: 719px)'

interface Seen {
  /** The names of the elements that were seen whole. */
  seen: ReadonlySet<string>
  /** The ref of the element of this name. */
  refOf(name: string): (element: HTMLElement | null) => void
}

/**
 * Which of these elements have been on the screen, each from top to bottom. One with a fold in it (`data-folded`) has
 * not, until it is opened. A name that was seen stays so.
 */
export function useSeen(names: readonly string[]): Seen {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const elements = useRef(new Map<string, HTMLElement>())
  const key = writeJson(names)
  useEffect(() => {
    const spans = new Map<Element, { width: number; spans: Span[] }>()
    const look = (entries: IntersectionObserverEntry[]) => {
      const whole = entries.flatMap(({ target, boundingClientRect: box, intersectionRect: shown }) => {
        if (shown.height === 0 && box.height > 0) return []
        const known = spans.get(target)
        // Text that wraps in another width is somewhere else.
        const before = known?.width === box.width ? known.spans : []
        const after = withSpan(before, [shown.top - box.top, shown.bottom - box.top])
        spans.set(target, { width: box.width, spans: after })
        return isWhole(after, box.height) && !isFolded(target)
          ? [(target as HTMLElement).dataset['seen']!]
          : []
      })
      if (whole.length > 0)
        setSeen((now) => (whole.every((name) => now.has(name)) ? now : new Set([...now, ...whole])))
    }
    const threshold = Array.from({ length: 101 }, (_, at) => at / 100)
    const media = window.matchMedia(narrow)
    let stop = () => {}
    const start = () => {
      stop()
      const below = media.matches ? covered.narrow : covered.wide
      const observer = new IntersectionObserver(look, { threshold, rootMargin: `0px 0px -${below}px 0px` })
      // A fold that is opened changes the height, not always what is seen of it.
      const resized = new ResizeObserver((entries) => {
        for (const { target } of entries) {
          observer.unobserve(target)
          observer.observe(target)
        }
      })
      for (const name of readForeignJson(key) as string[]) {
        const element = elements.current.get(name)
        if (!element) continue
        observer.observe(element)
        resized.observe(element)
      }
      stop = () => {
        observer.disconnect()
        resized.disconnect()
      }
    }
    start()
    media.addEventListener('change', start)
    return () => {
      media.removeEventListener('change', start)
      stop()
    }
  }, [key])
  const refOf = useCallback(
    (name: string) => (element: HTMLElement | null) => {
      if (!element) return void elements.current.delete(name)
      element.dataset['seen'] = name
      elements.current.set(name, element)
    },
    [],
  )
  return useMemo(() => ({ seen, refOf }), [seen, refOf])
}
