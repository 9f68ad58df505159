/** The input of the rehearsal model: the current turn of a conversation, as plain words. */
import { writeJson } from '../../../core/json.ts'
import type { ContentBlock } from '../../../core/content.ts'
import type { Message, ToolResultPart } from '../message.ts'

export interface Turn {
  /** The words of the last user message. */
  text: string
  /** Responses of the model in this turn so far: the position in the script. */
  answers: number
  /** Responses in the whole conversation, for unique ids. */
  answersInAll: number
  /** Tool results of this turn, oldest first. */
  results: ToolResultPart[]
}

/** The turn to which the next response belongs. Deterministic: it depends on the messages only. */
export function currentTurn(messages: Message[]): Turn {
  const start = messages.findLastIndex((message) => message.role === 'user')
  const asked = messages[start]
  const after = messages.slice(start + 1)
  return {
    text:
      asked?.role === 'user'
        ? asked.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
        : '',
    answers: after.filter((message) => message.role === 'assistant').length,
    answersInAll: messages.filter((message) => message.role === 'assistant').length,
    results: after.flatMap((message) => (message.role === 'tool' ? message.parts : [])),
  }
}

const mostResults = 20
const quotedCharacters = 200

/** The results in a few words, one line each. */
export function summaryOf(results: ToolResultPart[]): string {
  const lines = results.slice(-mostResults).map((result) => {
    const said = result.content.map(wordsOf).join(' ').replaceAll(/\s+/g, ' ').trim()
    const words = said || writeJson(result.structuredContent ?? null)
    const short = words.length > quotedCharacters ? `${words.slice(0, quotedCharacters)}…` : words
    return `${result.name} ${result.isError ? 'failed with' : 'answered'}: ${short}`
  })
  return lines.join('\n')
}

function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource':
      return block.resource.text ?? `[${block.resource.uri}]`
    case 'resource_link':
      return `[${block.uri}]`
    default:
      return `[${block.type}]`
  }
}
