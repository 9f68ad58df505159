/** Text from outside, as it can be stored, compared and shown. Pure. */

/**
 * The text as PostgreSQL, JSON and every client can hold it: NUL and lone surrogates, which models, tools and people do
 * send, become U+FFFD. Idempotent; the same string when there is nothing to replace. Call it directly after reading, before
 * anything hashes, compares, shows or sends the text.
 */
export function canonicalText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The canonical text with at most `max` UTF-16 code units; a longer one is cut between characters, and ends with "…". */
export function shortText(text: string, max: number): string {
  if (text.length <= max) return canonicalText(text)
  const end = /[\uD800-\uDBFF]/.test(text[max - 2]!) ? max - 2 : max - 1
  return `${canonicalText(text.slice(0, end))}…`
}
