/** Text of models, tools and upstreams: always shown as text, with the characters marked that would hide something. */
import { useState, type ReactNode } from 'react'
import { beginningOf, deceptiveIn } from './deceptive.ts'
import { saveFile } from './save-file.ts'
import { t } from '../texts/texts.tsx'

/** The text with what deceives in it as marks such as U+202E. At most `max` marks are drawn. */
export function markDeception(text: string, max = 500): ReactNode {
  const pieces: ReactNode[] = []
  let done = 0
  for (const { at, text: found, is } of deceptiveIn(text)) {
    const rest = is === 'mixed' ? found : '\u{fffd}'
    pieces.push(text.slice(done, at), pieces.length < 2 * max ? markOf(found, is, at) : rest)
    done = at + found.length
  }
  return done === 0 ? text : [...pieces, text.slice(done)]
}

function markOf(found: string, is: 'unseen' | 'mixed', at: number): ReactNode {
  if (is === 'mixed')
    return (
      <span key={at}>
        {found}
        <span className="mark" title={t('Letters of two alphabets that look alike')}>
          {t('mixed letters')}
        </span>
      </span>
    )
  return (
    <span key={at} className="mark" title={t('An invisible character')}>
      {codeOf(found)}
    </span>
  )
}

const codeOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** What a title shows at most, in characters. */
const mostInTitle = 500

/** A text for a title, where a mark is a word: no character in it is unseen. */
export function titleOf(text: string): string {
  let shown = ''
  let done = 0
  const beginning = beginningOf(text, mostInTitle)
  for (const { at, text: found, is } of deceptiveIn(beginning)) {
    shown += beginning.slice(done, at) + (is === 'unseen' ? codeOf(found) : found)
    done = at + found.length
  }
  return shown + beginning.slice(done) + (beginning.length < text.length ? '…' : '')
}

/**
 * Text that runs in its own direction, so that nothing beside it is turned round. With `max` it has little room: what is cut,
 * here or at the end of its line, is in its title.
 */
export function Foreign({ text, max, className }: { text: string; max?: number; className?: string }) {
  if (max === undefined) return <bdi className={className}>{markDeception(text)}</bdi>
  const shown = text.length > max ? `${beginningOf(text, max)}…` : text
  return (
    <bdi className={className} title={titleOf(text)}>
      {markDeception(shown)}
    </bdi>
  )
}

/** A string of JSON, with its quotes. */
const literal = /("(?:[^"\\]|\\.)*")/
/** More strings are not isolated one by one. */
const mostStrings = 2_000

/** JSON from left to right, in which each string runs in its own direction. */
export function JsonPieces({ text }: { text: string }) {
  return <span dir="ltr">{isolated(text)}</span>
}

function isolated(text: string): ReactNode[] {
  const nodes: ReactNode[] = []
  let at = 0
  for (const [i, piece] of text.split(literal, 2 * mostStrings).entries()) {
    nodes.push(i % 2 === 1 ? <bdi key={at}>{markDeception(piece)}</bdi> : markDeception(piece))
    at += piece.length
  }
  return at < text.length ? [...nodes, markDeception(text.slice(at))] : nodes
}

/** More than this is folded away, in characters and lines. */
const folded = { characters: 2_000, lines: 20 }
/** More than this is never put into the page at once, in characters. */
export const largest = 200_000

/** A block of text, folded when it is long. */
export function LongText({ text, mono = false }: { text: string; mono?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const lines = text.split('\n', folded.lines + 1)
  const isLong = text.length > folded.characters || lines.length > folded.lines
  const short = beginningOf(lines.slice(0, folded.lines).join('\n'), folded.characters)
  const shown = isLong && !isOpen ? short : beginningOf(text, largest)
  return (
    <div className={mono ? 'long mono' : 'long'} dir={mono ? 'ltr' : undefined}>
      {mono ? <JsonPieces text={shown} /> : <bdi>{markDeception(shown)}</bdi>}
      {isLong && (
        <div className="long-more">
          <button type="button" className="quiet" onClick={() => setOpen(!isOpen)}>
            {isOpen ? t('Show less') : t('Show all {size}', { size: sizeText(text.length) })}
          </button>
          {isOpen && text.length > largest && (
            <>
              <span className="mute"> {t('The first {size} are shown.', { size: sizeText(largest) })} </span>
              <button
                type="button"
                className="quiet"
                onClick={() => saveFile('text.txt', 'text/plain;charset=utf-8', text)}
              >
                {t('Download all of it')}
              </button>
            </>
          )}
        </div>
      )}
    </div>
  )
}

export const sizeText = (characters: number) =>
  characters < 10_000
    ? t('{count} characters', { count: characters })
    : t('{count} kB', { count: Math.round(characters / 1000) })
