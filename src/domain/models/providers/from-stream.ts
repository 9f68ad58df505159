/** Converts a provider's stream to model events: deltas as they arrive, then the whole response or an error. */
import type { LanguageModelV3FinishReason, LanguageModelV3Usage } from '@ai-sdk/provider'
import { writeJson } from '../../../core/json.ts'
import type { AssistantPart } from '../message.ts'
import { ModelError, type FinishReason, type ModelEvent, type Usage } from '../port.ts'
import { estimatedUsage } from '../usage.ts'
import { AnswerParts } from './answer-parts.ts'
import type { Renames } from './argument-names.ts'
import type { SdkPart, TargetModel } from './sdk-model.ts'
import { tokenCount } from './usage-frames.ts'

export interface StreamOptions {
  target: TargetModel
  renames?: Renames
  /** Characters of the request, for an estimate when the provider reports no usage. */
  inputCharacters: () => number
}

/**
 * Reads until the finish part and throws errors that the stream reports. A failed attempt (MODEL_UNAVAILABLE,
 * retryable, whatever text has arrived) is a stream without a finish part, or one whose finish part has neither a
 * reason nor the provider's own word for it: this is how the packages report a connection that just ended. So is one that
 * announces calls and has none that can be read, nor a text: the run would end as if the model had nothing to say.
 */
export async function* eventsOf(
  stream: AsyncIterable<SdkPart>,
  { target, renames, inputCharacters }: StreamOptions,
): AsyncGenerator<ModelEvent, void, undefined> {
  const parts = new AnswerParts(target, renames)
  const calls = new Map<string, { call: number; name: string }>()
  for await (const part of stream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'finish') {
      yield { type: 'finish', answer: answerOf(part, parts.finish(), inputCharacters) }
      return
    }
    collect(part, parts)
    const event = eventOf(part, calls)
    if (event) yield event
  }
  throw brokenOff()
}

function brokenOff(): ModelError {
  return new ModelError('MODEL_UNAVAILABLE', 'The provider broke off before the answer was finished.', {
    retryable: true,
  })
}

function collect(part: SdkPart, parts: AnswerParts): void {
  switch (part.type) {
    case 'text-start':
    case 'reasoning-start':
      return parts.block(kindOf(part.type), part.id, '', part.providerMetadata, 'start')
    case 'text-delta':
    case 'reasoning-delta':
      return parts.block(kindOf(part.type), part.id, part.delta, part.providerMetadata, 'go')
    case 'text-end':
    case 'reasoning-end':
      return parts.block(kindOf(part.type), part.id, '', part.providerMetadata, 'end')
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-end':
      return parts.callMetadata(part.id, part.providerMetadata)
    case 'tool-call':
      return part.providerExecuted ? parts.opaque(part) : parts.call(part)
    case 'file':
      return parts.file(part)
    case 'stream-start':
    case 'response-metadata':
    case 'raw':
      return
    default:
      return parts.opaque(part)
  }
}

function kindOf(type: string): 'text' | 'reasoning' {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

function eventOf(part: SdkPart, calls: Map<string, { call: number; name: string }>): ModelEvent | null {
  switch (part.type) {
    case 'text-delta':
      return part.delta === '' ? { type: 'progress' } : { type: 'text-delta', text: part.delta }
    case 'reasoning-delta':
      return part.delta === '' ? { type: 'progress' } : { type: 'reasoning-delta', text: part.delta }
    case 'tool-input-start':
      calls.set(part.id, { call: calls.size, name: part.toolName })
      return { type: 'progress' }
    case 'tool-input-delta': {
      const known = calls.get(part.id)
      return known ? { type: 'tool-input-delta', ...known, text: part.delta } : { type: 'progress' }
    }
    // The packages emit these parts when the headers arrive: the model has not produced anything yet.
    case 'stream-start':
    case 'raw':
      return null
    default:
      return { type: 'progress' }
  }
}

function answerOf(
  part: Extract<SdkPart, { type: 'finish' }>,
  parts: AssistantPart[],
  inputCharacters: () => number,
): { parts: AssistantPart[]; usage: Usage; finishReason: FinishReason } {
  const { unified, raw } = part.finishReason
  if (unified === 'error' || (unified === 'other' && raw === undefined)) throw brokenOff()
  if (unified === 'tool-calls' && !parts.some(({ type }) => type === 'tool-call' || type === 'text'))
    throw brokenOff()
  return {
    parts,
    usage: usageOf(part.usage, parts, inputCharacters),
    finishReason: reasonOf(part.finishReason, parts),
  }
}

/**
 * The reason, derived from the content where the provider's reason is vague: Gemini says "other" with a list of
 * calls.
 */
function reasonOf({ unified }: LanguageModelV3FinishReason, parts: AssistantPart[]): FinishReason {
  const hasCalls = parts.some((part) => part.type === 'tool-call')
  if (hasCalls && (unified === 'other' || unified === 'stop')) return 'tool-calls'
  if (!hasCalls && unified === 'tool-calls') return 'stop'
  return unified === 'error' ? 'other' : unified
}

/** What the provider counted, as far as it can be; what it did not count is estimated, and details are 0. */
function usageOf(
  { inputTokens: input, outputTokens: output }: Partial<LanguageModelV3Usage>,
  parts: AssistantPart[],
  inputCharacters: () => number,
): Usage {
  // Every response uses tokens: zeros come from a server that does not count.
  const [sent, got] = [tokenCount(input?.total) || null, tokenCount(output?.total) || null]
  const estimate = () => estimatedUsage(inputCharacters(), writeJson(parts).length)
  if (sent === null && got === null) return estimate()
  return {
    inputTokens: sent ?? estimate().inputTokens,
    cachedInputTokens: Math.min(tokenCount(input?.cacheRead) ?? 0, sent ?? 0),
    cacheWriteTokens: tokenCount(input?.cacheWrite) ?? 0,
    outputTokens: got ?? estimate().outputTokens,
    reasoningTokens: tokenCount(output?.reasoning) ?? 0,
    estimated: sent === null || got === null,
  }
}
