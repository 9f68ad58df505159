/** Converts stored messages to the prompt of the provider packages. */
import type {
  LanguageModelV3FilePart,
  LanguageModelV3Prompt,
  LanguageModelV3TextPart,
} from '@ai-sdk/provider'
import { shortText } from '../../../core/text.ts'
import { asText, isJsonObject, type JsonObject, packed } from '../../../core/json.ts'
import { readCallInput } from '../tool-input.ts'
import type { AssistantPart, FilePart, Message, OpaquePart, TextPart, ToolCallPart } from '../message.ts'
import { shownArguments, type Renames } from './argument-names.ts'
import { isOwn, optionsOf, ownMeta } from './part-meta.ts'
import { pairedSteps, type PairedMessage } from './paired-steps.ts'
import { asVersion4, type TargetModel } from './sdk-model.ts'
import { isPicture, toToolOutput, type Piece } from './tool-output.ts'

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
  const input = packed(
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
  const options = providerMetadata === undefined ? {} : { providerOptions: packed(providerMetadata) }
  return [asVersion4({ ...packed(rest), ...options })]
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
