/** The rows of the list, live, in an order that does not move under the pointer, and where one was when one comes back. */
import { useEffect, useMemo, useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { usePages } from '../../api/pages.ts'
import { runsQuery, runTypes, type RunRow } from './documents.ts'
import { usePlace } from '../../parts/place.ts'
import { boundsOf } from '../../parts/time-range.ts'
import { filterOf, placeRuns, type RunFilter } from './rows.ts'

export interface RunList {
  rows: ReadonlyMap<string, RunRow>
  ids: readonly string[]
  /** The filter that was read. */
  input: ReturnType<typeof filterInput>
  /** How many newer ones wait to be shown. */
  waiting: number
  hasMore: boolean
  error: unknown
  isLoading: boolean
  showWaiting(): void
  showMore(): void
  reload(): void
}

/** The list that was shown last: its runs are the neighbours of an open run. */
interface Left {
  href: string
  ids: readonly string[]
}
let left: Left = { href: '/runs', ids: [] }
export const lastList = (): Readonly<Left> => left

/** Further down than this somebody is reading: nothing joins above. */
const readingY = 80

interface Shown {
  nodes: readonly RunRow[] | null
  ids: readonly string[]
  waiting: number
}

/** The filter as the API takes it. */
export function filterInput(
  { statuses, text, agentId, requestedBy, failedToolId, threadId, range, bounds }: RunFilter,
  now: number,
) {
  return {
    statuses: statuses.length === 0 ? null : [...statuses],
    search: text.trim() || null,
    agentId,
    requestedBy,
    failedToolId,
    threadId,
    ...bounds,
    ...boundsOf(range, now),
  }
}

/** The list at an address. `isHeld`: something is chosen or open, so new rows must not push others. */
export function useRunList(href: string, isHeld: boolean): RunList {
  const given = useMemo(() => filterInput(filterOf(href.slice('/runs'.length)), serverNow()), [href])
  const { nodes, ...pages } = usePages(runsQuery, { filter: given }, runTypes)
  const rows = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes])
  const [shown, setShown] = useState<Shown & { href: string }>({ nodes: null, ids: [], waiting: 0, href })
  let current = shown
  if (!pages.isLoading && (shown.nodes !== nodes || shown.href !== href)) {
    const before = shown.href === href ? shown.ids : []
    const read = nodes.map(({ id }) => id)
    current = { nodes, href, ...placeRuns(before, read, isHeld || window.scrollY > readingY) }
    setShown(current)
  }
  usePlace(href, current.ids.length, pages)
  const { ids } = current
  useEffect(() => {
    if (!pages.isLoading) left = { href, ids }
  }, [href, ids, pages.isLoading])
  return {
    ...pages,
    rows,
    ids: current.ids,
    input: given,
    waiting: current.waiting,
    showWaiting() {
      setShown({ nodes, href, ids: nodes.map(({ id }) => id), waiting: 0 })
      window.scrollTo(0, 0)
    },
  }
}
