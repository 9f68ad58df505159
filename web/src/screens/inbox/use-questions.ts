/** The pending questions, live, in an order that does not move under the pointer. */
import { useMemo, useState } from 'react'
import { usePages } from '../../api/pages.ts'
import { questionTypes, type Question } from '../../parts/question/documents.ts'
import { pendingQuery } from './documents.ts'
import { placeRows } from './rows.ts'

export interface Questions {
  /** The questions by id; the chosen one stays when it does not wait any more. */
  rows: ReadonlyMap<string, Question>
  /** Whether the question still waits. */
  isOpen(id: string): boolean
  /** The ids in the order of the list. */
  ids: readonly string[]
  /** How many new ones wait to be shown. */
  waiting: number
  hasMore: boolean
  /** Why the newest read failed; null when it did not. */
  error: unknown
  isLoading: boolean
  /** The list of the search before stands, until that of this one has been read. */
  isLeaving: boolean
  showWaiting(): void
  showMore(): void
  reload(): void
}

interface Shown {
  nodes: readonly Question[] | null
  /** The chosen question as it was when it still waited. */
  kept: Question | null
  ids: readonly string[]
  waiting: number
  search: string
}

/**
 * Those that a search finds; all without one. `isHeld`: something is chosen or being written, so new rows must not push
 * others.
 */
export function useQuestions(chosen: string | null, isHeld: boolean, search: string): Questions {
  const filter = useMemo(
    () => ({ statuses: ['PENDING' as const], ...(search.trim() === '' ? {} : { search }) }),
    [search],
  )
  const { nodes: read, ...pages } = usePages(pendingQuery, { filter }, (data) => data.approvals, {
    eventTypes: questionTypes,
  })
  const [shown, setShown] = useState<Shown>({ nodes: null, kept: null, ids: [], waiting: 0, search })
  // While the next search is read, the list of the one before stands.
  const isNext = shown.search !== search
  const isLeaving = isNext && pages.isLoading && shown.nodes !== null
  const nodes = isLeaving ? shown.nodes! : read
  // The list is placed while rendering, from the rows that were read and what stood there before.
  let current = shown
  // What was kept leaves with the choice, also when nothing has been read since.
  const isLeft = shown.kept !== null && shown.kept.id !== chosen
  if (!pages.isLoading && isNext) {
    current = { nodes, kept: null, ...placeRows([], nodes, null, false), search }
    setShown(current)
  } else if (!pages.isLoading && (shown.nodes !== nodes || isLeft)) {
    const before = [...(shown.nodes ?? []), ...(shown.kept ? [shown.kept] : [])]
    const kept = before.find(({ id }) => id === chosen) ?? null
    current = { nodes, kept, ...placeRows(shown.ids, nodes, chosen, isHeld), search }
    setShown(current)
  }
  const { kept } = current
  const rows = useMemo(
    () => new Map([...(kept ? [kept] : []), ...nodes].map((node) => [node.id, node])),
    [nodes, kept],
  )
  const open = useMemo(() => new Set(nodes.map(({ id }) => id)), [nodes])
  return {
    ...pages,
    isLoading: pages.isLoading && !isLeaving,
    isLeaving,
    rows,
    isOpen: (id) => open.has(id),
    ids: current.ids,
    waiting: current.waiting,
    showWaiting: () => setShown({ nodes, kept, ...placeRows([], nodes, null, false), search }),
  }
}
