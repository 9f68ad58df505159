/** Text of models, tools and upstreams: always shown as text, with the characters marked that would hide something. */
import { useState, type ReactNode } from 'react'

/** Controls but for tab and line feed, bidirectional marks, and characters that take no space. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/u
const split = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}])/u

/** The text with invisible and bidirectional characters as marks such as U+202E. At most `max` marks are drawn. */
export function marked(text: string, max = 500): ReactNode {
  if (!hidden.test(text.replaceAll(/[\t\n]/g, ''))) return text
  let left = max
  let place = 0
  return text.split(split).map((piece, at) => {
    place += piece.length
    const isMark = at % 2 === 1 && piece !== '\n' && piece !== '\t'
    if (!isMark || left-- <= 0) return isMark ? '\u{fffd}' : piece
    const code = `U+${piece.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    return (
      <span key={place} className="mark" title="An invisible character">
        {code}
      </span>
    )
  })
}

/** Text that runs in its own direction, so that nothing beside it is turned round. */
export function Foreign({ text, max }: { text: string; max?: number }) {
  const shown = max !== undefined && text.length > max ? `${text.slice(0, max)}…` : text
  return <bdi>{marked(shown)}</bdi>
}

/** More than this is folded away, in characters and lines. */
const folded = { characters: 2_000, lines: 20 }
/** More than this is never put into the page at once, in characters. */
const largest = 200_000

/** A block of text, folded when it is long. */
export function LongText({ text, mono = false }: { text: string; mono?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const lines = text.split('\n', folded.lines + 1)
  const isLong = text.length > folded.characters || lines.length > folded.lines
  const short = lines.slice(0, folded.lines).join('\n').slice(0, folded.characters)
  const shown = isLong && !isOpen ? short : text.slice(0, largest)
  return (
    <div className={mono ? 'long mono' : 'long'}>
      <bdi>{marked(shown)}</bdi>
      {isLong && (
        <div className="long-more">
          <button type="button" className="quiet" onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Show less' : `Show all ${sizeText(text.length)}`}
          </button>
          {isOpen && text.length > largest && (
            <span className="mute"> The first {sizeText(largest)} are shown.</span>
          )}
        </div>
      )}
    </div>
  )
}

const sizeText = (characters: number) =>
  characters < 10_000
    ? `${characters.toLocaleString('en')} characters`
    : `${Math.round(characters / 1000).toLocaleString('en')} kB`
