/**
 * The stored form of a conversation: versioned JSON, independent of any provider, and arguments of calls as a model
 * wrote them.
 */
import type { ContentBlock } from '../../core/content.ts'
import { type Json, type JsonObject, isJsonObject, tryParseJson } from '../../core/json.ts'

/**
 * Metadata that a provider attached to a part and needs back unchanged (signatures, ids), by provider kind. Adapters
 * may add the member `$model`, the model that wrote the part; it is not sent back.
 */
export type PartMeta = { [providerKind: string]: JsonObject }

export interface TextPart {
  type: 'text'
  text: string
  meta?: PartMeta
}
export interface ReasoningPart {
  type: 'reasoning'
  text: string
  meta?: PartMeta
}
/** `data` is base64. For an uploaded file it is empty here and filled in when a model is called. */
export interface FilePart {
  type: 'file'
  mediaType: string
  data: string
  fileId?: string
  filename?: string
  meta?: PartMeta
}
/**
 * A call that the model asked for. `input` is the argument text exactly as the model sent it, valid JSON or not.
 * `callId` is our id (`call_…`), set when the step is committed; `providerCallId` is the id in the provider's
 * protocol.
 */
export interface ToolCallPart {
  type: 'tool-call'
  callId: string
  providerCallId: string
  name: string
  input: string
  meta?: PartMeta
}
export interface ToolResultPart {
  type: 'tool-result'
  callId: string
  providerCallId: string
  name: string
  content: ContentBlock[]
  structuredContent?: Json
  isError: boolean
}
/** A part of an unknown kind, kept verbatim and sent back to the same provider kind only. */
export interface OpaquePart {
  type: 'opaque'
  provider: string
  value: Json
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart | OpaquePart | FilePart

export type Message =
  | { v: 1; role: 'user'; parts: (TextPart | FilePart)[] }
  | { v: 1; role: 'assistant'; parts: AssistantPart[] }
  | { v: 1; role: 'tool'; parts: ToolResultPart[] }

export function userMessage(text: string, files: FilePart[] = []): Message {
  return { v: 1, role: 'user', parts: [{ type: 'text', text }, ...files] }
}

/** The text of an assistant message, without its reasoning. */
export function textOf(parts: AssistantPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The calls of an assistant message, in the model's order. */
export function callsOf(parts: AssistantPart[]): ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}

const fence = /^```[a-z]*\s*([\s\S]*?)\s*```$/i
const trailingFence = /\s*```\s*$/
const trailingTokens = /(?:<\|[\w-]{1,40}\|>\s*)+$/
/** How much of the end may be tokens, in UTF-16 code units: the pattern takes the square of it. */
const tail = 400

/**
 * The arguments as an object; null when the text is not one. Repairs: empty text is `{}`, an object inside a JSON
 * string is unwrapped, a code fence around or after the object is removed, as are tokens such as `<|call|>` behind it. Anything else is an error for the model,
 * which tries again.
 */
export function readCallInput(text: string): JsonObject | null {
  const trimmed = withoutTokens(text.trim())
  if (trimmed === '') return {}
  for (const candidate of [trimmed, fence.exec(trimmed)?.[1], trimmed.replace(trailingFence, '')]) {
    if (candidate === undefined) continue
    const value = tryParseJson(candidate)
    if (isJsonObject(value)) return value
    const inner = typeof value === 'string' ? tryParseJson(value) : undefined
    if (isJsonObject(inner)) return inner
  }
  return null
}

function withoutTokens(text: string): string {
  if (!text.endsWith('|>')) return text
  return text.slice(0, -tail) + text.slice(-tail).replace(trailingTokens, '')
}
