/** The requests that wait, live, as the view shows them, in an order that does not move under the pointer. */
import { useMemo, useState } from 'react'
import { useFound, usePending, type PendingRow } from './pending.ts'
import { placeRows } from './rows.ts'
import { rowsOf, type WaitingView } from './waiting-view.ts'

export interface Questions {
  /** All that wait, by id, whatever the view. */
  all: ReadonlyMap<string, PendingRow>
  /** The rows of the view in their order; the chosen one stays when it does not wait any more. */
  rows: readonly PendingRow[]
  /** Whether the request still waits. */
  isOpen(id: string): boolean
  /** How many new ones wait to be shown. */
  waiting: number
  /** Whether everything that waits has been read. */
  isWhole: boolean
  /** Whether more wait than are read at most. */
  isCut: boolean
  /** Why the newest read failed; null when it did not. */
  error: unknown
  isLoading: boolean
  /** The list of the search before stands, until that of this one has been read. */
  isLeaving: boolean
  showWaiting(): void
  /** Reads those with these ids again; all without. */
  reload(ids?: readonly string[]): void
}

interface Shown {
  /** The rows of the view as they were read. */
  read: readonly PendingRow[] | null
  /** The chosen request as it was when it still waited, where it waits no more. */
  kept: PendingRow | null
  ids: readonly string[]
  waiting: number
  /** The view that they are of. */
  key: string
}

/**
 * Those that the view shows. `isHeld`: something is chosen or being written, so new rows must not push others.
 */
export function useQuestions(chosen: string | null, isHeld: boolean, view: WaitingView): Questions {
  const { rows: all, isWhole, isCut, error, isLoading: isReading, reload } = usePending()
  const { search, tool, agent, requester, sort } = view
  const words = useFound(search)
  const key = [search, tool, agent, requester, sort].join('\n')
  const isLoading = isReading || words.isLoading
  const read = useMemo(
    () => rowsOf(all, { search, tool, agent, requester, sort, group: null }, words.found),
    [all, search, tool, agent, requester, sort, words.found],
  )
  const [shown, setShown] = useState<Shown>({ read: null, kept: null, ids: [], waiting: 0, key })
  // While the next search is read, the list of the one before stands.
  const isLeaving = isLoading && shown.read !== null && shown.key !== key
  let current = shown
  // What was kept leaves with the choice, also when nothing has been read since.
  const isLeft = shown.kept !== null && shown.kept.id !== chosen
  // The list is placed while rendering, from the rows that were read and what stood there before.
  if (!isLoading && (shown.key !== key || shown.read !== read || isLeft)) {
    const isNext = shown.key !== key
    const before = [...(shown.read ?? []), ...(shown.kept ? [shown.kept] : [])]
    // Whoever moves through thousands keeps nothing: the list is placed again only when what was chosen has gone.
    const isThere = isNext || read.some(({ id }) => id === chosen)
    const kept = isThere ? null : (before.find(({ id }) => id === chosen) ?? null)
    // Pages that are read for the first time are no news.
    const isQuiet = isHeld && isWhole && !isNext
    current = {
      read,
      kept,
      ...placeRows(isNext ? [] : shown.ids, read, isNext ? null : chosen, isQuiet),
      key,
    }
    setShown(current)
  }
  const { kept, ids, waiting } = current
  const standing = isLeaving ? shown.read! : read
  const rows = useMemo(() => {
    const byId = new Map([...(kept ? [kept] : []), ...standing].map((row) => [row.id, row]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  }, [standing, kept, ids])
  return {
    all,
    rows,
    isOpen: (id) => all.has(id),
    waiting,
    isWhole,
    isCut,
    error: error ?? words.error,
    isLoading: isLoading && !isLeaving,
    isLeaving,
    showWaiting: () => setShown({ read, kept, ...placeRows([], read, null, false), key }),
    reload,
  }
}
