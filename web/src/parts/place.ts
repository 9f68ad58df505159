/** Where one was in a list: whoever comes back to its address finds it as long and as far down as it was. */
import { useEffect, useMemo, useRef } from 'react'
import type { Pages } from '../api/pages.ts'

interface Place {
  count: number
  scrollY: number
}
const places = new Map<string, Place>()
/** How many lists are remembered. */
const most = 50

const here = () => location.pathname + location.search

/** Remembers how far the list at the address `href` was read and scrolled, and goes there when the same list comes back. */
export function usePlace(
  href: string,
  count: number,
  { isLoading, hasMore, showMore }: Pick<Pages<unknown>, 'isLoading' | 'hasMore' | 'showMore'>,
): void {
  const wanted = useMemo(() => places.get(href) ?? null, [href])
  /** The address whose place was reached. */
  const reached = useRef<string | null>(null)
  const asked = useRef('')
  useEffect(() => {
    if (isLoading || reached.current === href) return
    if (wanted && wanted.scrollY > 0) {
      if (count < wanted.count && hasMore) {
        // Once for each length: the list is drawn several times until the next page is there.
        const at = `${href} ${count}`
        if (asked.current !== at) showMore()
        asked.current = at
        return
      }
      window.scrollTo(0, wanted.scrollY)
    }
    reached.current = href
  }, [href, wanted, count, isLoading, hasMore, showMore])
  useEffect(() => {
    if (isLoading || reached.current !== href) return
    const at = here()
    const note = () => {
      // While the next screen is loaded, the hidden list has no height: that is no place that somebody chose.
      if (here() !== at) return
      places.delete(href)
      places.set(href, { count, scrollY: window.scrollY })
      for (const oldest of places.keys()) if (places.size > most) places.delete(oldest)
    }
    note()
    window.addEventListener('scroll', note, { passive: true })
    return () => window.removeEventListener('scroll', note)
  }, [href, count, isLoading])
}
