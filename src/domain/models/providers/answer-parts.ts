/** Collects a model's response while it streams: parts in order, their metadata merged, their call ids made unique. */
import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { Json } from '../../../core/json.ts'
import type { AssistantPart, ReasoningPart, TextPart } from '../message.ts'
import { metaFrom } from './part-meta.ts'
import type { SdkPart, TargetModel } from './sdk-model.ts'

type Metadata = SharedV3ProviderMetadata | undefined

interface Block {
  type: 'text' | 'reasoning'
  text: string
  metadata: Metadata[]
}

/** Collects the parts of one response. Used once, for one stream. */
export class AnswerParts {
  readonly #target: TargetModel
  readonly #slots: (Block | AssistantPart)[] = []
  readonly #open = new Map<string, Block>()
  readonly #inputMetadata = new Map<string, Metadata[]>()
  readonly #callIds = new Set<string>()

  constructor(target: TargetModel) {
    this.#target = target
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
    const wanted = part.toolCallId || 'call'
    let id = wanted
    for (let n = 2; this.#callIds.has(id) || id === ''; n++) id = `${wanted}_${n}`
    this.#callIds.add(id)
    const metadata = [...(this.#inputMetadata.get(part.toolCallId) ?? []), part.providerMetadata]
    this.#slots.push({
      type: 'tool-call',
      callId: '',
      providerCallId: id,
      name: part.toolName,
      input: part.input,
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
    const value = JSON.parse(JSON.stringify(part, binaryAsBase64)) as Json
    this.#slots.push({ type: 'opaque', provider: this.#target.kind, value })
  }

  /** The parts in order, without empty blocks that carry no metadata. */
  finish(): AssistantPart[] {
    return this.#slots.flatMap((slot): AssistantPart[] => {
      if (!('metadata' in slot)) return [slot]
      const meta = metaFrom(this.#target, ...slot.metadata)
      const carries = Object.keys(meta[this.#target.kind]!).length > 1
      const part: TextPart | ReasoningPart = { type: slot.type, text: slot.text, meta }
      return part.text === '' && !(carries && part.type === 'reasoning') ? [] : [part]
    })
  }
}

/** Base64 of a file's data, in the form of either specification version; null when it is not bytes. */
function bytesOf(data: unknown): string | null {
  if (typeof data === 'string') return data
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64')
  const tagged = data as { type?: unknown; data?: unknown } | null
  return tagged?.type === 'data' && tagged.data !== undefined ? bytesOf(tagged.data) : null
}

function binaryAsBase64(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
