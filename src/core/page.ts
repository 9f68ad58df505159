/** Keyset cursors and page limits, shared by every list. */
import { AppError } from './errors.ts'

/** A page as a list operation takes it: `limit` rows after (or before) a place, newest first unless `inverted`. */
export interface Page {
  after?: PlaceInList | undefined
  before?: PlaceInList | undefined
  limit: number
  inverted: boolean
}

/** A place in a list ordered by (time, id): milliseconds since 1970 and the row's id. */
export interface PlaceInList {
  at: number
  id: string
}

export function encodePlace(place: PlaceInList): string {
  return Buffer.from(JSON.stringify([1, place.at, place.id])).toString('base64url')
}

/** Strict: anything but a cursor that `encodePlace` made is BAD_CURSOR. */
export function decodePlace(cursor: string): PlaceInList {
  try {
    const [version, at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (
      version === 1 &&
      Number.isSafeInteger(at) &&
      Math.abs(at as number) < 8.64e15 &&
      typeof id === 'string'
    )
      return { at: at as number, id }
  } catch {
    // falls through to the refusal below
  }
  throw badCursor()
}

export function badCursor(): AppError {
  return new AppError(
    'BAD_CURSOR',
    'This cursor was not issued here. Use the cursor of an edge or an event as it is.',
  )
}
