/** Finds in foreign text what deceives: characters that are not seen, and words of letters that only look alike. Pure. */

export interface Deceptive {
  at: number
  text: string
  /** `unseen`: one character; `mixed`: a word. */
  is: 'unseen' | 'mixed'
}

/** Controls, formats, separators of lines, and whatever else takes no space. */
const unseen = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\u{2800}]`
const finder = new RegExp(String.raw`(${unseen})|((?:(?!${unseen})[\p{L}\p{M}])+)`, 'gu')

/** Letters of Cyrillic and Greek that are taken for Latin ones. */
const lookAlike = /[асеорхуіјѕһԁԛԝАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧαιονρυχ]/u
const latin = /\p{sc=Latin}/u

/** Scripts that are written with joiners, or with selectors of variants. */
const shaped =
  /[\p{sc=Han}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Nko}\p{sc=Mongolian}\p{sc=Devanagari}\p{sc=Bengali}\p{sc=Gurmukhi}\p{sc=Gujarati}\p{sc=Oriya}\p{sc=Tamil}\p{sc=Telugu}\p{sc=Kannada}\p{sc=Malayalam}\p{sc=Sinhala}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}]/u
// Each is about one character: Chromium 156 finds none in a text that ends with one.
const emojiEnd = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}]$/u
const emoji = /^\p{Extended_Pictographic}/u
const keycap = /^[0-9#*]$/
const flag = /^\u{1f3f4}[\u{e0061}-\u{e007a}]{0,6}$/u

/** What deceives in the text, in order. Tabs and line feeds are layout. */
export function* deceptiveIn(text: string): Generator<Deceptive> {
  for (const { 0: found, 1: character, index: at } of text.matchAll(finder)) {
    if (character !== undefined) {
      if (character !== '\n' && character !== '\t' && !isShaping(text, at, character))
        yield { at, text: character, is: 'unseen' }
    } else if (lookAlike.test(found) && latin.test(found)) yield { at, text: found, is: 'mixed' }
  }
}

/** Whether the character shapes its neighbours, as it should: part of an emoji, or of a script that is written so. */
function isShaping(text: string, at: number, character: string): boolean {
  const before = text.slice(Math.max(0, at - 20), at)
  const after = text.slice(at + character.length, at + character.length + 2)
  const previous = [...before].at(-1) ?? ''
  const code = character.codePointAt(0)!
  if (code === 0x200d) return (emojiEnd.test(previous) && emoji.test(after)) || shaped.test(previous)
  if (code === 0x200c) return shaped.test(previous)
  if (code >= 0xfe00 && code <= 0xfe0f)
    return (
      emojiEnd.test(previous) || shaped.test(previous) || (keycap.test(previous) && after[0] === '\u20e3')
    )
  if (code >= 0xe0100 && code <= 0xe01ef) return shaped.test(previous)
  const begin = before.lastIndexOf('\u{1f3f4}')
  return code >= 0xe0061 && code <= 0xe007f && begin >= 0 && flag.test(before.slice(begin))
}

const graphemes = 'Segmenter' in Intl ? new Intl.Segmenter('und', { granularity: 'grapheme' }) : null

/** The beginning of a text of at most `max` UTF-16 code units, without half an emoji at its end. */
export function beginningOf(text: string, max: number): string {
  if (text.length <= max) return text
  const from = Math.max(0, max - 64)
  const place = graphemes?.segment(text.slice(from, max + 64)).containing(max - from)
  return text.slice(0, place && place.index > 0 ? from + place.index : max).replace(/[\ud800-\udbff]$/, '')
}
