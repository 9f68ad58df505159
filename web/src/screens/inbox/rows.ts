/** Which requests stand in the list, and in which order: pure, so that the list never moves under a pointer. */

/** A row as far as its place is concerned. */
interface PlacedRow {
  id: string
}

/**
 * The ids to show after the list has changed; `rows` are in its order. Rows that have gone leave, except the chosen one. With
 * `isHeld`, new rows join only behind everything that stands there; others wait, and `waiting` counts them.
 */
export function placeRows(
  shown: readonly string[],
  rows: readonly PlacedRow[],
  chosen: string | null,
  isHeld: boolean,
): { ids: string[]; waiting: number } {
  if (!isHeld || shown.length === 0) {
    const ids = rows.map(({ id }) => id)
    const place = chosen === null ? -1 : shown.indexOf(chosen)
    if (place >= 0 && !ids.includes(chosen!)) ids.splice(Math.min(place, ids.length), 0, chosen!)
    return { ids, waiting: 0 }
  }
  const alive = new Set(rows.map(({ id }) => id))
  const ids = shown.filter((id) => alive.has(id) || id === chosen)
  const known = new Set(ids)
  const lastKnown = rows.findLastIndex(({ id }) => known.has(id))
  const news = rows.filter(({ id }) => !known.has(id))
  const behind = rows.slice(lastKnown + 1)
  return { ids: [...ids, ...behind.map(({ id }) => id)], waiting: news.length - behind.length }
}

/** The row to choose when `id` has been dealt with: the one behind it, else the one before it. */
export function nextRow(ids: readonly string[], id: string, isOpen: (id: string) => boolean): string | null {
  const at = ids.indexOf(id)
  const behind = ids.slice(at + 1).find(isOpen)
  return behind ?? ids.slice(0, Math.max(0, at)).findLast(isOpen) ?? null
}

/** The marks with all of these, or without them when all of them were marked. */
export function allOrNone(ids: readonly string[], marked: ReadonlySet<string>): ReadonlySet<string> {
  const own = new Set(ids)
  return ids.every((id) => marked.has(id))
    ? new Set([...marked].filter((id) => !own.has(id)))
    : new Set([...marked, ...ids])
}

/** How many verdicts the server takes at once. */
export const mostAtOnce = 50
