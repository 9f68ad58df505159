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

/** How long something must stand on the screen to be read, in milliseconds. */
export const readMs = 500

/** What of an element was shown, and since when. */
interface Shown {
  span: Span
  since: number
}

/**
 * What of an element has stood on the screen for `readMs` until `now`: in every span that it had meanwhile. The spans before
 * the last that is older are dropped. Pure.
 */
export function readSpan(history: readonly Shown[], now: number): { span: Span | null; history: Shown[] } {
  const first = history.findLastIndex(({ since }) => since <= now - readMs)
  if (first < 0) return { span: null, history: [...history] }
  const standing = history.slice(first)
  const from = Math.max(...standing.map(({ span }) => span[0]))
  const to = Math.min(...standing.map(({ span }) => span[1]))
  return { span: to > from ? [from, to] : null, history: standing }
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

/** Says which elements have been read whole, as they are. Returns what stops it. */
function watch(elements: readonly HTMLElement[], onSeen: (names: string[]) => void): () => void {
  const known = new Map<Element, { width: number; history: Shown[]; spans: Span[] }>()
  const timers = new Set<number>()
  const checkSoon = () => {
    const timer = window.setTimeout(() => {
      timers.delete(timer)
      check()
    }, readMs)
    timers.add(timer)
  }
  const look = (entries: IntersectionObserverEntry[]) => {
    const since = performance.now()
    for (const { target, boundingClientRect: box, intersectionRect: shown } of entries) {
      const before = known.get(target)
      // Text that wraps in another width is somewhere else.
      const { history, spans } = before?.width === box.width ? before : { history: [], spans: [] }
      const isShown = shown.height > 0 || box.height === 0
      const span: Span = isShown ? [shown.top - box.top, shown.bottom - box.top] : [0, 0]
      known.set(target, { width: box.width, spans, history: [...history, { span, since }] })
    }
    checkSoon()
  }
  const check = () => {
    if (document.visibilityState !== 'visible') return
    const now = performance.now()
    const whole: string[] = []
    for (const [target, one] of known) {
      const { span, history } = readSpan(one.history, now)
      one.history = history
      if (!span) continue
      one.spans = withSpan(one.spans, span)
      if (isWhole(one.spans, target.getBoundingClientRect().height) && !isFolded(target))
        whole.push((target as HTMLElement).dataset['seen']!)
    }
    if (whole.length > 0) onSeen(whole)
  }
  // What stands there while nobody looks at the page is not read.
  const lookAgain = () => {
    const since = performance.now()
    for (const one of known.values()) one.history = one.history.slice(-1).map(({ span }) => ({ span, since }))
    checkSoon()
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
    for (const element of elements) {
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
  document.addEventListener('visibilitychange', lookAgain)
  return () => {
    media.removeEventListener('change', start)
    document.removeEventListener('visibilitychange', lookAgain)
    timers.forEach((timer) => clearTimeout(timer))
    stop()
  }
}

/**
 * Which of these elements have stood on the screen for `readMs`, each from top to bottom. One with a fold in it (`data-folded`)
 * has not, until it is opened. A name that was seen stays so.
 */
export function useSeen(names: readonly string[]): Seen {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const elements = useRef(new Map<string, HTMLElement>())
  const key = writeJson(names)
  useEffect(() => {
    const all = (readForeignJson(key) as string[]).flatMap((name) => elements.current.get(name) ?? [])
    return watch(all, (whole) =>
      setSeen((before) =>
        whole.every((name) => before.has(name)) ? before : new Set([...before, ...whole]),
      ),
    )
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
