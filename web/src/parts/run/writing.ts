/** The text that a model is writing, put together from its pieces. Pure. */

/** The text of one attempt of a step so far. */
export interface Writing {
  stepIndex: number
  attempt: number
  text: string
  /** The length of the text in the attempt, with what was missed. */
  end: number
  /** Whether pieces are missing, because this page came later than they did. */
  isPart: boolean
}

export interface Piece {
  stepIndex: number
  attempt: number
  offset: number
  text: string
}

const isBefore = (a: Pick<Piece, 'stepIndex' | 'attempt'>, b: Pick<Piece, 'stepIndex' | 'attempt'>) =>
  a.stepIndex < b.stepIndex || (a.stepIndex === b.stepIndex && a.attempt < b.attempt)

/** The text with another piece. Pieces of earlier attempts, and those that are there already, change nothing. */
export function withPiece(before: Writing | null, piece: Piece): Writing | null {
  const { stepIndex, attempt, offset, text } = piece
  const end = offset + text.length
  if (before && isBefore(piece, before)) return before
  if (!before || isBefore(before, piece)) return { stepIndex, attempt, text, end, isPart: offset > 0 }
  if (end <= before.end) return before
  if (offset > before.end) return { ...before, text: `${before.text} … ${text}`, end, isPart: true }
  return { ...before, text: before.text + text.slice(before.end - offset), end }
}

/** The text after an attempt of a step has failed: empty, and earlier attempts do not come back. */
export function withReset(
  before: Writing | null,
  { stepIndex, attempt }: Pick<Piece, 'stepIndex' | 'attempt'>,
): Writing | null {
  if (before && !isBefore(before, { stepIndex, attempt })) return before
  return { stepIndex, attempt, text: '', end: 0, isPart: false }
}
