/** Text from outside, as it can be stored, compared and shown, also inside a line of ours. Pure. */

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

/** Drawn in place of a character that shows nothing, or moves others. */
const replacement = '\u{fffd}'

/** Controls, formats, lone surrogates, separators of lines, and whatever else takes no space. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u{2800}]/gu

/** Joiners and selectors of variants, which the scripts and emoji that need them are written with. */
const shaping = /\u{200c}|\u{200d}|[\u{fe00}-\u{fe0f}]|[\u{e0100}-\u{e01ef}]/u
const needsShaping =
  /[\p{Extended_Pictographic}\u{20e3}\p{sc=Han}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Nko}\p{sc=Mongolian}\p{sc=Devanagari}\p{sc=Bengali}\p{sc=Gurmukhi}\p{sc=Gujarati}\p{sc=Oriya}\p{sc=Tamil}\p{sc=Telugu}\p{sc=Kannada}\p{sc=Malayalam}\p{sc=Sinhala}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}]/u

/** Flags of regions: a black flag, and its name in tags. */
const flag = /^\u{1f3f4}[\u{e0061}-\u{e007a}]{1,6}\u{e007f}$/u

/** What is looked at of a longer text, in UTF-16 code units. */
const lookedAt = 2_000

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/**
 * The text in one line of at most `max` UTF-16 code units, cut with "…" between graphemes. White space becomes single
 * spaces, characters that are not seen become U+FFFD.
 */
export function oneLine(text: string, max: number): string {
  const line = text.slice(0, lookedAt).replaceAll(/\s+/g, ' ').trim()
  let shown = ''
  let whole = text.length <= lookedAt
  let cutAt = 0
  for (const { segment } of graphemes.segment(line)) {
    const seen = visible(segment)
    if (shown.length + seen.length > max) {
      whole = false
      break
    }
    shown += seen
    if (shown.length < max) cutAt = shown.length
  }
  return whole ? shown : `${shown.slice(0, cutAt)}…`
}

function visible(grapheme: string): string {
  if (flag.test(grapheme)) return grapheme
  const keeps = needsShaping.test(grapheme)
  return grapheme.replaceAll(unseen, (one) => (keeps && shaping.test(one) ? one : replacement))
}

/**
 * The text in lines with at most `max` UTF-16 code units, cut with "…". Controls, formats and halves of characters become
 * U+FFFD, so that what is read is what is there.
 */
export function plainLines(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text
  // After the cut, which may have left half a character.
  return cut.replace(/[^\P{C}\n]/gu, replacement)
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** The text escaped for HTML, all its characters kept. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char]!)
}
