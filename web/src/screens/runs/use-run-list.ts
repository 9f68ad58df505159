/** The rows of the list, live, in an order that does not move under the pointer, and where one was when one comes back. */
import { useEffect, useMemo, useRef, useState } from 'react'
import { usePages } from '../../api/pages.ts'
import { runsQuery, runTypes, type RunRow } from './documents.ts'
import { placeRuns, type RunFilter } from './rows.ts'

export interface RunList {
  rows: ReadonlyMap<string, RunRow>
  ids: readonly string[]
  /** How many newer ones wait to be shown. */
  waiting: number
  hasMore: boolean
  error: unknown
  isLoading: boolean
  showWaiting(): void
  showMore(): void
  reload(): void
}

/** The list that was shown last: its runs are the neighbours of an open run, and `back` returns to its place. */
interface Left {
  href: string
  ids: readonly string[]
  scrollY: number
}
let left: Left = { href: '/runs', ids: [], scrollY: 0 }
export const lastList = (): Readonly<Left> => left

/** Further down than this somebody is reading: nothing joins above. */
const readingY = 80

interface Shown {
  nodes: readonly RunRow[] | null
  ids: readonly string[]
  waiting: number
}

/** `isHeld`: something is chosen or open, so new rows must not push others. */
export function useRunList(filter: RunFilter, href: string, isHeld: boolean): RunList {
  const { nodes, ...pages } = usePages(runsQuery, { ...filter }, (data) => data.generations, {
    hears: runTypes,
  })
  const rows = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes])
  const [shown, setShown] = useState<Shown & { href: string }>({ nodes: null, ids: [], waiting: 0, href })
  let current = shown
  if (!pages.isLoading && (shown.nodes !== nodes || shown.href !== href)) {
    const before = shown.href === href ? shown.ids : []
    const read = nodes.map(({ id }) => id)
    current = { nodes, href, ...placeRuns(before, read, isHeld || window.scrollY > readingY) }
    setShown(current)
  }
  usePlace(href, current.ids, pages)
  return {
    ...pages,
    rows,
    ids: current.ids,
    waiting: current.waiting,
    showWaiting() {
      setShown({ nodes, href, ids: nodes.map(({ id }) => id), waiting: 0 })
      window.scrollTo(0, 0)
    },
  }
}

/** Remembers how far the list was read and scrolled, and goes there when the same list comes back. */
function usePlace(
  href: string,
  ids: readonly string[],
  { isLoading, hasMore, showMore }: { isLoading: boolean; hasMore: boolean; showMore(): void },
): void {
  const [wanted] = useState(() => (left.href === href ? left : null))
  const isBack = useRef(wanted === null || wanted.scrollY === 0)
  const asked = useRef(-1)
  useEffect(() => {
    if (isLoading || isBack.current || !wanted) return
    if (ids.length < wanted.ids.length && hasMore) {
      // Once for each length: the list is drawn several times until the next page is there.
      if (asked.current !== ids.length) showMore()
      asked.current = ids.length
      return
    }
    isBack.current = true
    window.scrollTo(0, wanted.scrollY)
  }, [wanted, ids, isLoading, hasMore, showMore])
  useEffect(() => {
    if (isLoading || !isBack.current) return
    left = { href, ids, scrollY: window.scrollY }
    const follow = () => {
      // While the screen of a run is loaded, the hidden list has no height: that is no place that somebody chose.
      if (location.pathname === '/runs') left = { ...left, scrollY: window.scrollY }
    }
    window.addEventListener('scroll', follow, { passive: true })
    return () => window.removeEventListener('scroll', follow)
  }, [href, ids, isLoading])
}
