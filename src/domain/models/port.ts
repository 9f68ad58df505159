/** The port to a model: request and response types of the loop. Adapters live in providers/. */
import type { JsonObject } from '../../core/json.ts'
import type { AssistantPart, Message } from './message.ts'

/** A tool as the model sees it: runtime name, and a schema from which presets have been removed. */
export interface ModelTool {
  name: string
  description: string | null
  inputSchema: JsonObject
}

export type ToolChoice =
  | { type: 'auto' }
  | { type: 'none' }
  | { type: 'required' }
  | { type: 'tool'; name: string }

export interface ModelSettings {
  temperature?: number
  maxOutputTokens?: number
  /** False asks the provider for one call at a time; the loop runs calls one by one even if the model sends several. */
  parallelToolCalls?: boolean
}

export interface ModelRequest {
  instructions: string | null
  messages: Message[]
  tools: ModelTool[]
  toolChoice: ToolChoice
  /** The schema of a native response format; only when the provider supports one and no tool is sent. */
  outputSchema: JsonObject | null
  settings: ModelSettings
  /** Number of the attempt at this step, from 1. Only the rehearsal model reads it, for its `fail` lines. */
  attempt?: number
  /** Aborting ends the stream with an `AbortError`. */
  signal: AbortSignal
}

/** Token counts of one attempt. `estimated`: the provider reported none. */
export interface Usage {
  inputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  outputTokens: number
  reasoningTokens: number
  estimated: boolean
}

/** Why the model stopped. Informative only: the loop continues if and only if there are calls. */
export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other'

export interface ModelAnswer {
  parts: AssistantPart[]
  usage: Usage
  finishReason: FinishReason
}

/**
 * Deltas as they arrive, then exactly one `finish` with the whole response. A stream without `finish` is a failed
 * attempt.
 */
export type ModelEvent =
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; text: string }
  /**
   * A piece of the arguments of a call, with the names that the model was shown: a piece may end inside one. `call` counts from 0
   * in order of appearance.
   */
  | { type: 'tool-input-delta'; call: number; name: string; text: string }
  /** A part began or ended: there is nothing to show, but the stream is alive. */
  | { type: 'progress' }
  | { type: 'finish'; answer: ModelAnswer }

export interface ModelCapabilities {
  images: boolean
  files: boolean
  parallelTools: boolean
  structuredOutput: boolean
}

export interface ModelPort {
  /** `provider/model`, as an agent names it. */
  readonly name: string
  readonly providerKind: ProviderKind
  readonly capabilities: ModelCapabilities
  /** Tokens of input and output together; null when unknown: then nothing is trimmed in advance. */
  readonly contextWindow: number | null
  /** One attempt, without retries. Throws `ModelError`, or an `AbortError` when the signal fires. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}

export type ProviderKind = 'openai' | 'anthropic' | 'google' | 'compatible' | 'builtin'

export type ModelErrorCode =
  | 'MODEL_NOT_CONFIGURED'
  | 'MODEL_AUTH'
  | 'MODEL_RATE_LIMITED'
  | 'MODEL_UNAVAILABLE'
  | 'MODEL_BAD_REQUEST'
  | 'CONTEXT_OVERFLOW'

/** What a provider that refused a request says of its tools; at least one of the first two is set. */
export interface ToolRefusal {
  /** The tools that it names. */
  names: string[]
  /** The most tools that it takes; null: it says nothing of their number. */
  mostTools: number | null
  /** The longest description of a tool that it takes, in characters; null: it says nothing of that. */
  longestDescription: number | null
}

/** The most tools of one request that the providers of a kind document; null: none. */
export const mostToolsOf: Record<ProviderKind, number | null> = {
  openai: 128,
  anthropic: null,
  google: 512,
  compatible: null,
  builtin: null,
}

/** A failed attempt. `message` may be shown to users of the project: it contains no key, header or host. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  /** The HTTP status of the provider's answer; null when it gave none. */
  readonly status: number | null
  /** What of the tools the provider refused; null when it was not that. */
  readonly toolRefusal: ToolRefusal | null

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      retryable: boolean
      retryAfterMs?: number | null
      status?: number | null
      toolRefusal?: ToolRefusal | null
      cause?: unknown
    },
  ) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs ?? null
    this.status = options.status ?? null
    this.toolRefusal = options.toolRefusal ?? null
  }
}
