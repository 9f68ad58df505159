/** Keyset cursors and pages, shared by every list. */
import { readJson, writeJson } from './json.ts'
import { AppError } from './errors.ts'

/** The page input of a list operation: `limit` rows after (or before) a position, newest first unless `inverted`. */
export interface Page {
  after?: PlaceInList | undefined
  before?: PlaceInList | undefined
  limit: number
  inverted: boolean
}

/** A position in a list ordered by (time, id): milliseconds since 1970 and the row's id. */
export interface PlaceInList {
  at: number
  id: string
}

/** All rows of a list that is read newest first, page after page. */
export async function everyRow<Row extends { id: string; createdAt: Date }>(
  list: (page: Page) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const last = rows.at(-1)
    const after = last && { at: last.createdAt.getTime(), id: last.id }
    const more = await list({ limit: 100, inverted: false, after })
    if (more.length === 0) return rows
    rows.push(...more)
  }
}

export function encodePlace(place: PlaceInList): string {
  return Buffer.from(writeJson([1, place.at, place.id])).toString('base64url')
}

/** Throws BAD_CURSOR for anything but a cursor that `encodePlace` made. */
export function decodePlace(cursor: string): PlaceInList {
  try {
    const [version, at, id] = readJson(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (
      version === 1 &&
      Number.isSafeInteger(at) &&
      Math.abs(at as number) < 8.64e15 &&
      typeof id === 'string'
    )
      return { at: at as number, id }
  } catch {
    // Falls through to the error below.
  }
  throw badCursor()
}

export function badCursor(): AppError {
  return new AppError(
    'BAD_CURSOR',
    'The cursor was not issued by this server. Use the cursor of an edge or an event unchanged.',
  )
}
