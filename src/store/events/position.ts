/** A place in a stream of events, and the opaque cursor that strangers hold for it. */
import { badCursor } from '../../core/page.ts'

/**
 * In a generation's stream: (seq, 0). In a project's feed: (commit order, row id). Compared part by part.
 */
export interface Position {
  major: number
  minor: number
}

export const beginning: Position = { major: 0, minor: 0 }

export function isAfter(a: Position, b: Position): boolean {
  return a.major > b.major || (a.major === b.major && a.minor > b.minor)
}

/** Everything needed to find an event again in either stream; one cursor serves both. */
export interface EventPlace {
  projectId: string
  generationId: string | null
  seq: number | null
  commitOrder: number
  id: number
}

export function encodeCursor(place: EventPlace): string {
  const parts = [1, place.projectId, place.generationId, place.seq, place.commitOrder, place.id]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** What the column holds: a forged cursor beyond it must not reach the database. */
const largestSeq = 2 ** 31 - 1

/** Strict; BAD_CURSOR for anything that `encodeCursor` cannot have made. */
function decodeCursor(cursor: string): EventPlace {
  try {
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const [version, projectId, generationId, seq, commitOrder, id] = parts
    const numbers = [seq ?? 0, commitOrder, id].every((n) => Number.isSafeInteger(n) && (n as number) >= 0)
    if (
      version === 1 &&
      typeof projectId === 'string' &&
      numbers &&
      ((seq as number | null) ?? 0) <= largestSeq
    )
      return { projectId, generationId, seq, commitOrder, id } as EventPlace
  } catch {
    // falls through to the refusal below
  }
  throw badCursor()
}

/**
 * The position in one generation's stream. `null`, an empty text and "0" mean the beginning; a cursor of another
 * stream is BAD_CURSOR.
 */
export function generationPosition(cursor: string | null | undefined, generationId: string): Position {
  if (isBeginning(cursor)) return beginning
  const place = decodeCursor(cursor)
  if (place.generationId !== generationId || place.seq === null) throw badCursor()
  return { major: place.seq, minor: 0 }
}

/** The position in a project's feed. "0" means the beginning of the log; a cursor of another project is BAD_CURSOR. */
export function feedPosition(cursor: string, projectId: string): Position {
  if (isBeginning(cursor)) return beginning
  const place = decodeCursor(cursor)
  if (place.projectId !== projectId) throw badCursor()
  return { major: place.commitOrder, minor: place.id }
}

function isBeginning(cursor: string | null | undefined): cursor is null | undefined | '' | '0' {
  return cursor === null || cursor === undefined || cursor === '' || cursor === '0'
}
