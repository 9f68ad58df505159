/**
 * Converts stored messages to the prompt of the provider packages, valid for every protocol: each call is followed by
 * its result.
 */
import { errorResult } from '../../../core/content.ts'
import {
  type AssistantPart,
  type FilePart,
  type Message,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type OpaquePart,
  readCallInput,
} from '../message.ts'
import type { ProviderKind } from '../port.ts'
import type {
  LanguageModelV3FilePart,
  LanguageModelV3Prompt,
  LanguageModelV3TextPart,
} from '@ai-sdk/provider'
import { shortText } from '../../../core/text.ts'
import { asText, isJsonObject, type JsonObject, packValue } from '../../../core/json.ts'
import { shownArguments, type Renames } from './argument-names.ts'
import { isOwn, optionsOf, ownMeta, asVersion4, type TargetModel } from './sdk-model.ts'
import { isPicture, toToolOutput, type Piece } from './tool-output.ts'

/**
 * Makes a history valid for every provider protocol: each call is followed by its result, in order, under a unique
 * id.
 */
export interface PairedCall {
  wireId: string
  result: ToolResultPart
}

type PairedMessage =
  | { role: 'user'; parts: (TextPart | FilePart)[] }
  /** `calls` holds the result of each call part of `parts`, in the same order. */
  | { role: 'assistant'; parts: AssistantPart[]; calls: Map<ToolCallPart, PairedCall> }

/** Ids that providers with a rule about ids accept. */
const strictId = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Collects results up to the next assistant message and puts them beside their calls. A call without a result gets an
 * error that says so; a result without a call is left out. Keeps a provider's own id where it is valid and unique in
 * this conversation (compatible servers repeat theirs), else uses ours.
 */
function pairedSteps(messages: Message[], kind: ProviderKind): PairedMessage[] {
  const used = new Set<string>()
  return messages.flatMap((message, i): PairedMessage[] => {
    if (message.role === 'tool') return []
    if (message.role === 'user') return [{ role: 'user', parts: message.parts }]
    const results = resultsAfter(messages, i)
    const calls = new Map<ToolCallPart, PairedCall>()
    for (const part of message.parts) {
      if (part.type !== 'tool-call') continue
      calls.set(part, { wireId: wireIdOf(part, kind, used), result: takeResult(part, results) })
    }
    return [{ role: 'assistant', parts: message.parts, calls }]
  })
}

function resultsAfter(messages: Message[], index: number): ToolResultPart[] {
  const results: ToolResultPart[] = []
  for (const message of messages.slice(index + 1)) {
    if (message.role === 'assistant') break
    if (message.role === 'tool') results.push(...message.parts)
  }
  return results
}

function takeResult(call: ToolCallPart, results: ToolResultPart[]): ToolResultPart {
  const byOurs = call.callId === '' ? -1 : results.findIndex((result) => result.callId === call.callId)
  const byTheirs = results.findIndex((result) => result.providerCallId === call.providerCallId)
  const at = byOurs === -1 ? byTheirs : byOurs
  if (at !== -1) return results.splice(at, 1)[0]!
  const { callId, providerCallId, name } = call
  const missing = errorResult('no_result', 'This call has no result. It may not have run.')
  return { type: 'tool-result', callId, providerCallId, name, ...missing }
}

function wireIdOf(call: ToolCallPart, kind: ProviderKind, used: Set<string>): string {
  const legal = kind === 'compatible' || kind === 'google' ? /^\S{1,200}$/ : strictId
  const wanted = [call.providerCallId, call.callId].find((id) => legal.test(id) && !used.has(id))
  let id = wanted ?? `call_${used.size}`
  for (let n = used.size; used.has(id); n++) id = `call_${n}`
  used.add(id)
  return id
}

type PromptMessage = LanguageModelV3Prompt[number]
type AssistantContent = Extract<PromptMessage, { role: 'assistant' }>['content']
type AssistantMessage = Extract<PairedMessage, { role: 'assistant' }>

/** Maximum characters of invalid arguments that are sent back to the model. */
const unreadableKept = 1_000

/**
 * The whole prompt. One tool message for each step, with the results in call order. Metadata and reasoning are sent
 * back only to the model that made them; blank texts and empty messages are left out, because some providers refuse
 * them.
 */
export function toPrompt(
  instructions: string | null,
  messages: Message[],
  target: TargetModel,
  renames: Renames = new Map(),
): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = instructions ? [{ role: 'system', content: instructions }] : []
  const paired = pairedSteps(messages, target.kind)
  const currentTurn = paired.findLastIndex((message) => message.role === 'user')
  paired.forEach((message, i) => {
    if (message.role === 'user') prompt.push(userMessage(message.parts, target))
    else prompt.push(...stepMessages(message, target, i > currentTurn, renames))
  })
  return prompt
}

function userMessage(parts: (TextPart | FilePart)[], target: TargetModel): PromptMessage {
  const content = parts
    .filter((part) => part.type === 'file' || part.text.trim() !== '')
    .map((part) =>
      part.type === 'text' ? { type: 'text' as const, text: part.text } : userFile(part, target),
    )
  return { role: 'user', content: content.length > 0 ? content : [{ type: 'text', text: '(no text)' }] }
}

function userFile(part: FilePart, target: TargetModel): LanguageModelV3TextPart | LanguageModelV3FilePart {
  const { images, files } = target.capabilities
  if (/^(text\/|application\/json\b)/.test(part.mediaType)) {
    const text = Buffer.from(part.data, 'base64').toString()
    return { type: 'text', text: `[file ${part.filename ?? part.mediaType}]\n${text}` }
  }
  if ((isPicture(part.mediaType) && images) || (part.mediaType === 'application/pdf' && files))
    return filePart(part, target)
  const name = part.filename ? `${part.filename}, ` : ''
  return { type: 'text', text: `[file ${name}${part.mediaType}: not shown, this model cannot take it]` }
}

function filePart(
  part: { mediaType: string; data: string; filename?: string },
  target: TargetModel,
): LanguageModelV3FilePart {
  const { mediaType, filename } = part
  const data = target.version === 'v4' ? asVersion4({ type: 'data', data: part.data }) : part.data
  return { type: 'file', mediaType, data, ...(filename === undefined ? {} : { filename }) }
}

function stepMessages(
  message: AssistantMessage,
  target: TargetModel,
  current: boolean,
  renames: Renames,
): PromptMessage[] {
  const content = message.parts.flatMap((part, i) => {
    if (part.type === 'reasoning' && !sendable(message.parts, i, target, current)) return []
    return assistantPart(part, message, target, renames)
  })
  if (content.length === 0) return []
  const step: PromptMessage[] = [{ role: 'assistant', content }]
  if (message.calls.size === 0) return step
  const following: Piece[] = []
  const results = [...message.calls].map(([call, { wireId, result }]) => {
    const made = toToolOutput(result, target)
    following.push(...made.following)
    const named = { type: 'tool-result' as const, toolCallId: wireId, toolName: call.name }
    return { ...named, output: made.output }
  })
  step.push({ role: 'tool', content: results })
  if (following.length > 0)
    step.push({ role: 'user', content: following.map((file) => filePart(file, target)) })
  return step
}

function assistantPart(
  part: AssistantPart,
  message: AssistantMessage,
  target: TargetModel,
  renames: Renames,
): AssistantContent {
  switch (part.type) {
    case 'text':
      return part.text.trim() === ''
        ? []
        : [{ type: 'text', text: part.text, ...optionsOf(part.meta, target) }]
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...optionsOf(part.meta, target) }]
    case 'tool-call':
      return [callPart(part, message.calls.get(part)!.wireId, target, renames)]
    case 'file':
      // Only Gemini accepts its own pictures in an assistant message; other protocols have no file there.
      if (target.kind !== 'google' || !isOwn(part.meta, target)) return []
      return [{ ...filePart(part, target), ...optionsOf(part.meta, target) }]
    case 'opaque':
      return part.provider === target.kind ? opaquePart(part) : []
  }
}

function callPart(
  part: ToolCallPart,
  wireId: string,
  target: TargetModel,
  renames: Renames,
): AssistantContent[number] {
  const given = readCallInput(part.input)
  const input = packValue(
    (given && shownArguments(given, renames.get(part.name))) ?? {
      unreadable_arguments: shortText(part.input, unreadableKept),
    },
  )
  return {
    type: 'tool-call',
    toolCallId: wireId,
    toolName: part.name,
    input,
    ...optionsOf(part.meta, target),
  }
}

/** Parts of the provider's own tools and its list of sources are output only: no provider accepts them as input. */
const answerOnly = new Set(['tool-call', 'tool-result', 'tool-approval-request', 'source'])

function opaquePart(part: OpaquePart): AssistantContent {
  if (!isJsonObject(part.value) || answerOnly.has(asText(part.value['type']))) return []
  const { providerMetadata, ...rest } = part.value as JsonObject
  const options = providerMetadata === undefined ? {} : { providerOptions: packValue(providerMetadata) }
  return [asVersion4({ ...packValue(rest), ...options })]
}

/** Whether this provider accepts the reasoning part back; each refuses different ones. */
function sendable(parts: AssistantPart[], index: number, target: TargetModel, current: boolean): boolean {
  const part = parts[index]!
  if (part.type !== 'reasoning' || !isOwn(part.meta, target)) return false
  const meta = ownMeta(part.meta, target)
  switch (target.kind) {
    case 'anthropic':
      return typeof meta['signature'] === 'string' || typeof meta['redactedData'] === 'string'
    case 'openai': {
      // With `store: false` an item consists of its encrypted content only, and must be followed by the item that it
      // led to.
      const sealed = parts.some((other) => {
        const own = other.type === 'reasoning' ? ownMeta(other.meta, target) : {}
        return own['itemId'] === meta['itemId'] && typeof own['reasoningEncryptedContent'] === 'string'
      })
      const leadsTo = (later: AssistantPart) =>
        later.type === 'tool-call' || (later.type === 'text' && later.text.trim() !== '')
      return sealed && parts.slice(index + 1).some(leadsTo)
    }
    case 'google':
      return part.text !== ''
    case 'compatible':
      // Servers require their reasoning back within a turn of tool calls, and some refuse it later.
      return current && part.text !== ''
    case 'builtin':
      return false
  }
}
