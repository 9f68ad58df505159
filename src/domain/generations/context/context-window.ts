/**
 * What is sent when a conversation does not fit the context window: selected messages, and results of limited length.
 * A view: the stored history never changes.
 */
import {
  type Message,
  type ModelTool,
  type ToolResultPart,
  charactersOf,
  charactersOfTools,
  resultCharacters,
} from '../../models/index.ts'
import type { ContentBlock } from '../../../core/content.ts'
import { cutText, tryParseJson, writeJson } from '../../../core/json.ts'

export interface ContextRequest {
  instructions: string | null
  messages: Message[]
  tools: ModelTool[]
  /** Tokens that the input may use; null: no trimming by size. */
  budgetTokens: number | null
  /** Maximum number of messages to send, rounded down to a whole turn; null: all. */
  maxContextMessages: number | null
  /** Estimated characters per token, see `defaultCharsPerToken`. */
  charsPerToken: number
}

/** What the view leaves out, for the record of the step. All zero: the view is the whole history. */
export interface Elision {
  toolResults: number
  reasoningParts: number
  turns: number
  messages: number
}

export interface ContextView {
  messages: Message[]
  elided: Elision
}

/** Characters below which a result is not worth replacing by a marker. */
const worthEliding = 200

/**
 * The messages to send. Always kept: the first user message and the current turn (from the last user message on) with
 * its latest results. Trims in this order, and only as far as needed: old tool results become markers (oldest first,
 * earlier steps of the current turn last), reasoning of earlier turns is dropped, whole turns are dropped oldest
 * first. A call is never separated from its result. If that is not enough, the view stays over the budget and the
 * provider refuses the request.
 */
export function viewOfHistory(request: ContextRequest): ContextView {
  const elided: Elision = { toolResults: 0, reasoningParts: 0, turns: 0, messages: 0 }
  const turns = turnsOf(request.messages)
  if (request.maxContextMessages !== null)
    dropTurns(turns, elided, overCount(turns, request.maxContextMessages))
  if (request.budgetTokens !== null) {
    const room =
      request.budgetTokens * request.charsPerToken -
      (request.instructions?.length ?? 0) -
      charactersOfTools(request.tools)
    fit(turns, elided, room)
  }
  return { messages: turns.flat(), elided }
}

/**
 * Turns, oldest first. A turn begins with a user message that follows another role's; the last turn is the current
 * one.
 */
function turnsOf(messages: Message[]): Message[][] {
  const turns: Message[][] = []
  messages.forEach((message, i) => {
    const begins = i === 0 || (message.role === 'user' && messages[i - 1]!.role !== 'user')
    if (begins) turns.push([message])
    else turns.at(-1)!.push(message)
  })
  return turns
}

function fit(turns: Message[][], elided: Elision, room: number): void {
  let over = turns.flat().reduce((sum, message) => sum + charactersOf(message), 0) - room
  const replaceWhileOver = (change: (message: Message) => Message, last: number) => {
    for (const turn of turns.slice(0, last))
      for (let i = 0; i < turn.length && over > 0; i++) {
        const before = turn[i]!
        if (turn === turns.at(-1) && i >= firstOfLastStep(turn)) break
        turn[i] = change(before)
        over -= charactersOf(before) - charactersOf(turn[i]!)
      }
  }
  replaceWhileOver((message) => withoutResults(message, elided), turns.length)
  replaceWhileOver((message) => withoutReasoning(message, elided), turns.length - 1)
  dropTurns(
    turns,
    elided,
    () => over > 0,
    (message) => (over -= charactersOf(message)),
  )
}

/** Index at which the latest step of a turn begins: the model has not seen its results yet, so they stay whole. */
function firstOfLastStep(turn: Message[]): number {
  const last = turn.findLastIndex((message) => message.role === 'assistant')
  return last === -1 ? turn.length : last
}

function withoutResults(message: Message, elided: Elision): Message {
  if (message.role !== 'tool') return message
  const parts = message.parts.map((part) => withoutResult(part, elided))
  return parts.every((part, i) => part === message.parts[i]) ? message : { ...message, parts }
}

function withoutResult(part: ToolResultPart, elided: Elision): ToolResultPart {
  const size = resultCharacters(part)
  if (size < worthEliding) return part
  elided.toolResults++
  const { structuredContent: _, ...rest } = part
  return {
    ...rest,
    content: [{ type: 'text', text: `[result of ${part.name} left out: ${size} characters]` }],
  }
}

function withoutReasoning(message: Message, elided: Elision): Message {
  if (message.role !== 'assistant') return message
  const parts = message.parts.filter((part) => part.type !== 'reasoning')
  elided.reasoningParts += message.parts.length - parts.length
  return parts.length === message.parts.length ? message : { ...message, parts }
}

/**
 * Drops whole turns while `more()` is true, oldest first and never the last. Of the first turn its first user message
 * is kept, because it states the task.
 */
function dropTurns(
  turns: Message[][],
  elided: Elision,
  more: () => boolean,
  dropped: (message: Message) => void = () => {},
): void {
  const pinned = turns[0]?.[0]?.role === 'user' ? turns[0][0] : null
  let pin: Message[] = []
  while (turns.length > 1 && more()) {
    const turn = turns.shift()!
    const left = turn.filter((message) => message !== pinned)
    if (left.length < turn.length) pin = [pinned!]
    if (left.length > 0) elided.turns++
    elided.messages += left.length
    left.forEach(dropped)
  }
  if (pin.length > 0) turns.unshift(pin)
}

function overCount(turns: Message[][], most: number): () => boolean {
  const pinned = turns[0]?.[0]?.role === 'user' ? 1 : 0
  const all = turns.length
  return () => {
    const left = turns.reduce((sum, turn) => sum + turn.length, 0)
    return left + (turns.length < all ? pinned : 0) > most
  }
}

/** Bytes of UTF-8. */
export const resultLimits = { perResult: 32 * 1024, perStep: 96 * 1024 } as const

/** Characters above which JSON is cut as text: parsing it would cost more than the cleaner cut is worth. */
const parseUpTo = 1024 * 1024

/**
 * The text, or a cut of at most `maxBytes`: a JSON array loses whole elements from its end; anything else keeps three
 * quarters of the limit from its head and one quarter from its tail. `note` goes into the marker and says where the
 * whole text can be read.
 */
export function limitResultText(text: string, maxBytes: number = resultLimits.perResult, note = ''): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  return cutArray(text, maxBytes, note) ?? cutText(text, maxBytes, note)
}

function cutArray(text: string, maxBytes: number, note: string): string | null {
  if (!text.startsWith('[') || text.length > parseUpTo) return null
  const value = tryParseJson(text)
  if (!Array.isArray(value) || value.length < 2) return null
  const marker = (kept: number) => `\n[… cut: ${kept} of ${value.length} elements${note} …]`
  const room = maxBytes - Buffer.byteLength(marker(value.length)) - 2
  const kept: string[] = []
  let size = 0
  for (const element of value) {
    const json = writeJson(element)
    size += Buffer.byteLength(json) + 1
    if (size > room) break
    kept.push(json)
  }
  return kept.length === 0 ? null : `[${kept.join(',')}]${marker(kept.length)}`
}

/**
 * The results of one step, each with at most `perResult` bytes of text and together with at most `perStep`. If the
 * sum is too large, the largest are cut to one common size and small ones stay whole. `note` says where the full
 * result can be read.
 */
export function limitStepResults(
  results: ToolResultPart[],
  note: (result: ToolResultPart) => string = () => '',
  limits: { perResult: number; perStep: number } = resultLimits,
): ToolResultPart[] {
  const sizes = results.map((result) => Math.min(textBytes(result), limits.perResult))
  const common = Math.min(limits.perResult, commonCap(sizes, limits.perStep))
  return results.map((result) =>
    textBytes(result) > common ? cutResult(result, common, note(result)) : result,
  )
}

/** The largest cap for which the capped sizes sum to at most `total`. */
function commonCap(sizes: number[], total: number): number {
  const ascending = sizes.toSorted((a, b) => a - b)
  let left = total
  for (const [i, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - i))
    if (size > share) return share
    left -= size
  }
  return Infinity
}

function textBytes(result: ToolResultPart): number {
  const text = result.content.reduce((sum, block) => sum + Buffer.byteLength(textOfBlock(block) ?? ''), 0)
  if (result.structuredContent === undefined) return text
  return Math.max(text, Buffer.byteLength(writeJson(result.structuredContent)))
}

/**
 * Puts all text into one cut block at the position of the first text. Drops the structured form, because half a JSON
 * value is invalid.
 */
function cutResult(result: ToolResultPart, maxBytes: number, note: string): ToolResultPart {
  const { structuredContent, ...rest } = result
  const texts = result.content.map(textOfBlock).filter((text) => text !== null)
  const whole = texts.length > 0 ? texts.join('\n') : writeJson(structuredContent)
  const cut: ContentBlock = { type: 'text', text: limitResultText(whole, maxBytes, note) }
  const others = result.content.filter((block) => textOfBlock(block) === null)
  return { ...rest, content: [cut, ...others] }
}

function textOfBlock(block: ContentBlock): string | null {
  if (block.type === 'text') return block.text
  return block.type === 'resource' ? (block.resource.text ?? null) : null
}
