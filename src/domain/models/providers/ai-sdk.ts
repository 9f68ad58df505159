/** The port over a model of the AI SDK's provider packages. One attempt, no retry, every failure a ModelError. */
import { shortText } from '../../../core/text.ts'
import { packValue } from '../../../core/json.ts'
import type { JSONSchema7, LanguageModelV3CallOptions, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { onAbort } from '../../../core/time.ts'
import { charactersOf, charactersOfTools } from '../usage.ts'
import type { ModelCapabilities, ModelEvent, ModelPort, ModelRequest, ProviderKind } from '../port.ts'
import { eventsOf } from './from-stream.ts'
import { abortError, toModelError } from './model-error.ts'
import type { SdkModel, SdkPart, TargetModel } from './sdk-model.ts'
import { toPrompt } from './to-prompt.ts'
import { renamesOf } from './argument-names.ts'
import { toTools, toolsOfHistory } from './to-tools.ts'

const longest = 300

const patterns = [
  // Addresses: URLs, host:port, IPv4.
  /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
  /\b(?:[a-z0-9-]+\.)*[a-z0-9-]+:\d{2,5}\b/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/g,
  // Credentials: the vendors' prefixes, bearer tokens, and anything long that looks random.
  /\b(?:sk|pk|rk|gh|AIza|xai|gsk|key|token)[-_][\w*.-]{4,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\bbearer\s+\S+/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{32,}\b/gi,
]

/** A function that removes the given secrets and whatever looks like a key or an address, and limits the length. */
function redactor(secrets: (string | null)[]): (text: string) => string {
  const known = secrets.filter((secret) => secret !== null && secret.length >= 4) as string[]
  return (text) => {
    let clean = shortText(text, 4_000)
    for (const secret of known) clean = clean.replaceAll(secret, '[hidden]')
    for (const pattern of patterns) clean = clean.replace(pattern, '[hidden]')
    return shortText(clean, longest)
  }
}

export interface SdkPortOptions {
  model: SdkModel
  /** `provider/model`. */
  name: string
  providerKind: ProviderKind
  capabilities: ModelCapabilities
  contextWindow: number | null
  /** Removed from every error message, besides whatever looks like a key or an address. */
  secrets: (string | null)[]
}

/** A port over `model`. Stateless: any number of streams may run at the same time. */
export function sdkPort(options: SdkPortOptions): ModelPort {
  const { model, name, providerKind, capabilities, contextWindow } = options
  const target: TargetModel = { kind: providerKind, name, version: model.specificationVersion, capabilities }
  const redact = redactor(options.secrets)
  return {
    name,
    providerKind,
    capabilities,
    contextWindow,
    stream: (request) => attempt(model, target, request, redact),
  }
}

async function* attempt(
  model: SdkModel,
  target: TargetModel,
  request: ModelRequest,
  redact: (text: string) => string,
): AsyncGenerator<ModelEvent, void, undefined> {
  // A controller of its own, so that a reader that stops early closes the connection too.
  const connection = new AbortController()
  const aborted = whenAborted(request.signal, connection)
  try {
    const options = callOptions(target, request, connection.signal)
    const { stream } = await Promise.race([model.doStream(options), aborted.promise])
    yield* eventsOf(partsOf(stream, aborted.promise), {
      target,
      renames: renamesOf(request.tools),
      inputCharacters: () => charactersOfRequest(request),
    })
  } catch (error) {
    const sent = request.tools.map((tool) => tool.name)
    throw request.signal.aborted ? abortError() : toModelError(error, redact, sent)
  } finally {
    aborted.forget()
    connection.abort()
  }
}

/** Rejects when the signal fires and closes the connection, so that an abort is prompt whatever the transport does. */
function whenAborted(
  signal: AbortSignal,
  connection: AbortController,
): { promise: Promise<never>; forget: () => void } {
  let forget = () => {}
  const promise = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => {
      connection.abort()
      reject(abortError())
    })
  })
  promise.catch(() => {})
  return { promise, forget }
}

async function* partsOf(stream: ReadableStream<SdkPart>, aborted: Promise<never>): AsyncGenerator<SdkPart> {
  const reader = stream.getReader()
  try {
    while (true) {
      const next = await Promise.race([reader.read(), aborted])
      if (next.done) return
      yield next.value
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

function callOptions(
  target: TargetModel,
  request: ModelRequest,
  abortSignal: AbortSignal,
): LanguageModelV3CallOptions {
  const { settings, outputSchema, toolChoice } = request
  // Anthropic refuses calls in the history when no tool is declared.
  const bare =
    target.kind === 'anthropic' && request.tools.length === 0 ? toolsOfHistory(request.messages) : []
  const tools = toTools(request.tools.length > 0 ? request.tools : bare)
  const choice = bare.length > 0 ? ({ type: 'none' } as const) : toolChoice
  return {
    prompt: toPrompt(request.instructions, request.messages, target, renamesOf(request.tools)),
    abortSignal,
    providerOptions: providerOptions(target.kind, tools.length > 0 && settings.parallelToolCalls === false),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.maxOutputTokens === undefined ? {} : { maxOutputTokens: settings.maxOutputTokens }),
    ...(outputSchema
      ? { responseFormat: { type: 'json', schema: packValue(outputSchema) as JSONSchema7, name: 'answer' } }
      : {}),
    ...(tools.length > 0
      ? { tools, toolChoice: choice.type === 'tool' ? { type: 'tool', toolName: choice.name } : choice }
      : {}),
  }
}

function providerOptions(kind: ProviderKind, oneCallAtATime: boolean): SharedV3ProviderOptions {
  switch (kind) {
    case 'openai':
      // `store: false` keeps the history on our side, where a pause may take days. The package then requests
      // encrypted reasoning itself, and only from models that support it: others return 400.
      return {
        openai: {
          store: false,
          strictJsonSchema: false,
          ...(oneCallAtATime ? { parallelToolCalls: false } : {}),
        },
      }
    case 'anthropic':
      return oneCallAtATime ? { anthropic: { disableParallelToolUse: true } } : {}
    case 'compatible':
      return {
        compatible: { strictJsonSchema: false, ...(oneCallAtATime ? { parallel_tool_calls: false } : {}) },
      }
    case 'google':
    case 'builtin':
      return {}
  }
}

function charactersOfRequest(request: ModelRequest): number {
  const messages = request.messages.reduce((sum, message) => sum + charactersOf(message), 0)
  return messages + charactersOfTools(request.tools) + (request.instructions?.length ?? 0)
}
