/**
 * Converts a provider's stream to model events: deltas as they arrive, then the whole response, collected from its
 * parts, or an error.
 */
import type {
  SharedV3ProviderMetadata,
  LanguageModelV3FinishReason,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import { readForeignJson, unpackText, writeJson, type Json } from '../../../core/json.ts'
import { canonicalText, shortText } from '../../../core/text.ts'
import type { AssistantPart, ReasoningPart, TextPart } from '../message.ts'
import { metaFrom, type SdkPart, type TargetModel } from './sdk-model.ts'
import { ownInput, type Renames } from './argument-names.ts'
import { ModelError, type FinishReason, type ModelEvent, type Usage } from '../port.ts'
import { estimatedUsage } from '../usage.ts'
import { tokenCount } from './exact-fetch.ts'

type Metadata = SharedV3ProviderMetadata | undefined

interface Block {
  type: 'text' | 'reasoning'
  text: string
  metadata: Metadata[]
}

/** A longer id of a provider is cut: it must be unique in its step. */
const longestId = 500

/** Collects the parts of one response. Used once, for one stream. */
class AnswerParts {
  readonly #target: TargetModel
  readonly #renames: Renames
  readonly #slots: (Block | AssistantPart)[] = []
  readonly #open = new Map<string, Block>()
  readonly #inputMetadata = new Map<string, Metadata[]>()
  readonly #callIds = new Set<string>()

  constructor(target: TargetModel, renames: Renames = new Map()) {
    this.#target = target
    this.#renames = renames
  }

  /** A start, delta or end of a text or reasoning block; kind and id identify the block. */
  block(
    type: 'text' | 'reasoning',
    id: string,
    delta: string,
    metadata: Metadata,
    phase: 'start' | 'go' | 'end',
  ): void {
    const key = `${type} ${id}`
    let block = this.#open.get(key)
    if (!block || phase === 'start') {
      block = { type, text: '', metadata: [] }
      this.#open.set(key, block)
      this.#slots.push(block)
    }
    block.text += delta
    block.metadata.push(metadata)
    if (phase === 'end') this.#open.delete(key)
  }

  /** Metadata of a call that arrived with its arguments, before the call itself. */
  callMetadata(id: string, metadata: Metadata): void {
    this.#inputMetadata.set(id, [...(this.#inputMetadata.get(id) ?? []), metadata])
  }

  /**
   * A complete call. An id that is empty or already used gets a number, because servers repeat ids and results are
   * matched by them.
   */
  call(part: Extract<SdkPart, { type: 'tool-call' }>): void {
    const wanted = shortText(part.toolCallId || 'call', longestId)
    let id = wanted
    for (let n = 2; this.#callIds.has(id) || id === ''; n++) id = `${wanted}_${n}`
    this.#callIds.add(id)
    const metadata = [...(this.#inputMetadata.get(part.toolCallId) ?? []), part.providerMetadata]
    this.#slots.push({
      type: 'tool-call',
      callId: '',
      providerCallId: id,
      name: canonicalText(part.toolName),
      input: ownInput(canonicalText(part.input), this.#renames.get(part.toolName)),
      meta: metaFrom(this.#target, ...metadata),
    })
  }

  /** A file that the model made. */
  file(part: Extract<SdkPart, { type: 'file' }>): void {
    const data = bytesOf(part.data)
    if (data === null) return this.opaque(part)
    const meta = metaFrom(this.#target, part.providerMetadata)
    this.#slots.push({ type: 'file', mediaType: part.mediaType, data, meta })
  }

  /** A part of an unknown kind, kept verbatim. */
  opaque(part: unknown): void {
    this.#slots.push({ type: 'opaque', provider: this.#target.kind, value: plain(part) as Json })
  }

  /** The parts in order, with all digits and canonical text, without empty blocks that carry no metadata. */
  finish(): AssistantPart[] {
    const parts = this.#slots.flatMap((slot): AssistantPart[] => {
      if (!('metadata' in slot)) return [slot]
      const meta = metaFrom(this.#target, ...slot.metadata)
      const carries = Object.keys(meta[this.#target.kind]!).length > 1
      // Only here: a delta may end inside a surrogate pair.
      const part: TextPart | ReasoningPart = { type: slot.type, text: canonicalText(slot.text), meta }
      return part.text === '' && !(carries && part.type === 'reasoning') ? [] : [part]
    })
    return parts.map((part) => (part.type === 'file' ? part : (plain(part) as AssistantPart)))
  }
}

/** Base64 of a file's data, in the form of either specification version; null when it is not bytes. */
function bytesOf(data: unknown): string | null {
  if (typeof data === 'string') return data
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64')
  const tagged = data as { type?: unknown; data?: unknown } | null
  return tagged?.type === 'data' && tagged.data !== undefined ? bytesOf(tagged.data) : null
}

/** The part as JSON has it: what was packed for the package's parser is put back, bytes become base64. */
function plain(part: unknown): unknown {
  return readForeignJson(unpackText(writeJson(withBase64(part))))
}

function withBase64(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(withBase64)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withBase64(one)]))
}

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
