/** The template of the sentence that says what a call does: text with names of arguments in braces. Pure. */

export type TitlePart = { text: string } | { name: string }

/** The parts of a template such as "Refund {amount} to {customer}"; null with a brace that has no partner. */
export function titleParts(title: string): TitlePart[] | null {
  const pieces = title.split(/\{([^{}]*)\}/)
  if (pieces.some((piece, at) => at % 2 === 0 && /[{}]/.test(piece))) return null
  return pieces.flatMap((piece, at): TitlePart[] => {
    if (at % 2 === 1) return [{ name: piece }]
    return piece === '' ? [] : [{ text: piece }]
  })
}
