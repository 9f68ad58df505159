/** Which questions stand in the list, and in which order: pure, so that the list never moves under a pointer. */

/** A row as far as its place is concerned. */
export interface PlacedRow {
  id: string
  expiresAt: string
}

/** The soonest deadline first; equal ones by id, so that the order is always the same. */
export function byDeadline(a: PlacedRow, b: PlacedRow): number {
  return Date.parse(a.expiresAt) - Date.parse(b.expiresAt) || (a.id < b.id ? -1 : 1)
}

/**
 * The ids to show after the server's list has changed. Rows that have gone leave, except the chosen one. With `isHeld`, new
 * rows join only behind everything that stands there; others wait, and `waiting` counts them.
 */
export function placeRows(
  shown: readonly string[],
  rows: readonly PlacedRow[],
  chosen: string | null,
  isHeld: boolean,
): { ids: string[]; waiting: number } {
  const inOrder = rows.toSorted(byDeadline)
  if (!isHeld || shown.length === 0) {
    const ids = inOrder.map(({ id }) => id)
    const place = chosen === null ? -1 : shown.indexOf(chosen)
    if (place >= 0 && !ids.includes(chosen!)) ids.splice(Math.min(place, ids.length), 0, chosen!)
    return { ids, waiting: 0 }
  }
  const alive = new Set(inOrder.map(({ id }) => id))
  const ids = shown.filter((id) => alive.has(id) || id === chosen)
  const known = new Set(ids)
  const lastKnown = inOrder.findLastIndex(({ id }) => known.has(id))
  const news = inOrder.filter(({ id }) => !known.has(id))
  const behind = inOrder.slice(lastKnown + 1)
  return { ids: [...ids, ...behind.map(({ id }) => id)], waiting: news.length - behind.length }
}

/** The row to choose when `id` has been dealt with: the one behind it, else the one before it. */
export function nextRow(ids: readonly string[], id: string, isOpen: (id: string) => boolean): string | null {
  const at = ids.indexOf(id)
  const behind = ids.slice(at + 1).find(isOpen)
  return behind ?? ids.slice(0, Math.max(0, at)).findLast(isOpen) ?? null
}

/** How many questions are chosen at once, at most: those whose verdicts the server takes together. */
export const mostAtOnce = 50

/** What is chosen after the box above the list was pressed: the first that wait, or none when they all were. */
export function allOrNone(waiting: readonly string[], marked: ReadonlySet<string>): ReadonlySet<string> {
  const first = waiting.slice(0, mostAtOnce)
  return new Set(first.every((id) => marked.has(id)) ? [] : first)
}
