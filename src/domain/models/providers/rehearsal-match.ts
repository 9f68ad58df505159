/** Finds the tool that a message is about. */
import type { ModelTool } from '../port.ts'

/** Common words, which do not count. */
const hollow = new Set(
  'a an and any are as at be but by can could do does for from get has have how i in is it its me my need not of on or our out please some that the their them then there this to us use want was we what when where which who will with would you your call tool'.split(
    ' ',
  ),
)

/** Points that make a match; a shared word of the tool's name counts two, of its description one. */
const enough = 2

/**
 * The tool whose name (double weight) and description share the most words with the text; null when none shares
 * enough. The first wins a tie. A plural in -s is the same word.
 */
export function matchingTool(text: string, tools: ModelTool[]): ModelTool | null {
  const said = new Set(wordsOf(text))
  let best: { tool: ModelTool; score: number } | null = null
  for (const tool of tools) {
    const inName = new Set(wordsOf(tool.name))
    const inDescription = new Set(wordsOf(tool.description ?? ''))
    let score = 0
    for (const word of said) score += inName.has(word) ? 2 : inDescription.has(word) ? 1 : 0
    if (score >= enough && score > (best?.score ?? 0)) best = { tool, score }
  }
  return best?.tool ?? null
}

function wordsOf(text: string): string[] {
  const apart = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  const words = apart.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1 && !hollow.has(word))
  return words.map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
}
