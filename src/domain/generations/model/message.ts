/** The stored form of a conversation: our own versioned JSON, independent of any provider. */
import type { ContentBlock } from '../../../core/content.ts'
import type { Json, JsonObject } from '../../../core/json.ts'

/**
 * What a provider attached to a part and wants back word for word (signatures, ids), by provider kind. Adapters may add
 * a `$model` member, the model that wrote the part; it never travels.
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
/** `data` is base64; of a file that was uploaded it is empty here and filled in when a model is asked. */
export interface FilePart {
  type: 'file'
  mediaType: string
  data: string
  fileId?: string
  filename?: string
  meta?: PartMeta
}
/**
 * One call the model asked for. `input` is the argument text exactly as the model wrote it, legal JSON or not.
 * `callId` is ours (`call_…`), set when the step is committed; `providerCallId` is what the provider's wire uses.
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
/** A part of a kind we do not know, kept verbatim and sent back to the same provider kind only. */
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

/** The visible text of an assistant's answer, without its reasoning. */
export function textOf(parts: AssistantPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The calls of an answer, in the order the model wrote them. */
export function callsOf(parts: AssistantPart[]): ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}
