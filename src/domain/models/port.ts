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
  /** A piece of the arguments of a call; `call` counts from 0 in order of appearance. */
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

/** A failed attempt. `message` may be shown to users of the project: it contains no key, header or host. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  /** The HTTP status of the provider's answer; null when it gave none. */
  readonly status: number | null

  constructor(
    code: ModelErrorCode,
    message: string,
    options: { retryable: boolean; retryAfterMs?: number | null; status?: number | null; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs ?? null
    this.status = options.status ?? null
  }
}
