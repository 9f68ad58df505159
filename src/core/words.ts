/** The words of a text, as they are stored for a search and looked for by one. Pure. */

/** Characters of scripts that write words without spaces: each is a word. */
const single = '\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff'
const pattern = new RegExp(`[${single}]|(?:(?![${single}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

/** The length at which a word is cut, in characters: for a search as well as for what is searched. */
const longestWord = 64

/**
 * The words of a text in its order: letters and digits in lower case; everything else separates them, so no word has a
 * meaning in a query language.
 */
export function wordsOf(text: string): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(pattern) ?? []
  return words.map((word) => (word.length > longestWord ? word.slice(0, longestWord) : word))
}
