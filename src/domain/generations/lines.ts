/** What a run was asked and what it answered, in a line each: for lists of people, and for a search. Pure. */
import { textOfWords } from '../../store/db/search.ts'
import { wordsOf } from '../../core/words.ts'
import type { Message } from '../models/index.ts'

/** The most characters of a line. */
const mostOfLine = 200
/** Where a line is looked for: what begins with more blank text than this has none. */
const mostSearched = 2000

/** The first line with text of a text; null without one. */
export function lineOf(text: string | null): string | null {
  const line = text
    ?.slice(0, mostSearched)
    .split(/\r\n?|\n/)
    .find((one) => one.trim() !== '')
  return line === undefined ? null : line.trim().slice(0, mostOfLine).toWellFormed()
}

/** The first line of the first message of a user that has text; null without one. */
export function inputLineOf(messages: readonly Message[]): string | null {
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.parts) {
      const line = part.type === 'text' ? lineOf(part.text) : null
      if (line !== null) return line
    }
  }
  return null
}

/** The words by which a run is found, as the text that `vectorOf` takes. */
export function wordsOfRun(agentName: string, messages: readonly Message[]): string {
  return textOfWords(wordsOf(`${agentName} ${inputLineOf(messages) ?? ''}`))
}
