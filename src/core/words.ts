/** The words of a text, as they are stored for a search and looked for by one. Pure. */
import { z } from 'zod'
import { check, text } from './check.ts'
import { invalidAt } from './errors.ts'

/** Characters of scripts that write words without spaces: each is a word. */
const single = '\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff'
const pattern = new RegExp(`[${single}]|(?:(?![${single}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

/** The length at which a word is cut, in characters: for a search as well as for what is searched. */
const longestWord = 64

/**
 * The words of a text in its order: letters and digits in lower case; everything else separates them, so no word has a
 * meaning in a query language.
 */
export function wordsOf(said: string): string[] {
  const words = said.normalize('NFKC').toLowerCase().match(pattern) ?? []
  return words.map((word) => (word.length > longestWord ? cut(word) : word))
}

/** Never inside a character: no database holds half of one. */
function cut(word: string): string {
  return word.slice(0, longestWord).replace(/[\ud800-\udbff]$/, '')
}

const searchShape = z.object({ search: text(200) })

/** The words of the field `search` of a filter. INVALID for more than 200 characters, and without a letter or digit. */
export function searchedWords(search: string): string[] {
  check(searchShape, { search }, ['filter'])
  const words = wordsOf(search)
  if (words.length > 0) return words
  throw invalidAt(['filter', 'search'], 'must have a letter or a digit: other characters are not searched')
}
