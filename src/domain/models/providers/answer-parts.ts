/** Collects a model's response while it streams: parts in order, their metadata merged, their call ids made unique. */
import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'
import { readForeignJson, unpackText, writeJson, type Json } from '../../../core/json.ts'
import { canonicalText, shortText } from '../../../core/text.ts'
import type { AssistantPart, ReasoningPart, TextPart } from '../message.ts'
import { metaFrom } from './part-meta.ts'
import { ownInput, type Renames } from './argument-names.ts'
import type { SdkPart, TargetModel } from './sdk-model.ts'

type Metadata = SharedV3ProviderMetadata | undefined

interface Block {
  type: 'text' | 'reasoning'
  text: string
  metadata: Metadata[]
}

/** A longer id of a provider is cut: it must be unique in its step. */
const longestId = 500

/** Collects the parts of one response. Used once, for one stream. */
export class AnswerParts {
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
