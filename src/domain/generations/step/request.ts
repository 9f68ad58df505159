/**
 * One attempt at a model response: builds the request, reads the stream under time limits, and publishes its text as
 * hints.
 */
import type { SQL } from 'drizzle-orm'
import { nowPlus } from '../../../store/db/database.ts'
import type { PubSub, Delta } from '../../../store/pubsub/pubsub.ts'
import { onAbort } from '../../../core/time.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import type { AgentSettings, ToolChoiceRule } from '../../agents/index.ts'
import type { Callable } from '../../tools/index.ts'
import { viewOfHistory, type Elision, limitStepResults } from '../context/context-window.ts'
import { finalAnswerName, isWrapped } from './final-answer.ts'
import {
  type Message,
  type ModelAnswer,
  ModelError,
  type ModelPort,
  type ModelRequest,
  type ModelTool,
  type ToolChoice,
  defaultCharsPerToken,
} from '../../models/index.ts'
import type { StepPlan } from '../decide.ts'
import type { AcceptedTools } from './left-out.ts'
import { loadTools, toolsOf, type LoadedTools } from './tool-loading.ts'
import { watchStream } from './stream-timeout.ts'

/** When an attempt at a model response began and was first answered, by the clock of the database. */
export interface AttemptTimes {
  /** Call it when a part of the response arrives; only the first call counts. */
  noteAnswer(): void
  /** When the request was sent. Build it for the statement that is sent next: it counts back from that moment. */
  startedAt(): SQL
  /** When the first part of the response arrived; null without one. */
  firstTokenAt(): SQL | null
}

/** The times of an attempt that begins now. Durations are measured here, so clocks that differ do no harm. */
export function attemptTimes(now: () => number = () => performance.now()): AttemptTimes {
  const started = now()
  let first: number | null = null
  return {
    noteAnswer: () => void (first ??= now()),
    startedAt: () => nowPlus(started - now()),
    firstTokenAt: () => (first === null ? null : nowPlus(first - now())),
  }
}

/** A delta is published at this age or length, whichever is reached first. */
const maxAgeMs = 50
const maxBytes = 1000

/** Text deltas for subscribers: collected for a moment, published as hints, never stored. */
interface DeltaSender {
  add(text: string): void
  /** Publishes what is collected. Call it before the commit that stores the text. */
  flush(): void
}

/** Collects the text of one attempt. `place`: the attempt, and the newest event when it began. */
export function sendDeltas(pubsub: PubSub, place: Omit<Delta, 'kind' | 'offset' | 'text'>): DeltaSender {
  let waiting = ''
  let offset = 0
  let timer: NodeJS.Timeout | null = null
  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    // Counts and cuts UTF-16 code units, and never cuts inside a surrogate pair.
    for (const piece of pieces(waiting)) {
      pubsub.publish([{ kind: 'delta', ...place, offset, text: piece }])
      offset += piece.length
    }
    waiting = ''
  }
  return {
    add(text) {
      waiting += text
      if (Buffer.byteLength(waiting) >= maxBytes) flush()
      else timer ??= setTimeout(flush, maxAgeMs)
    },
    flush,
  }
}

function* pieces(text: string): Generator<string> {
  let piece = ''
  let bytes = 0
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > maxBytes) {
      yield piece
      piece = ''
      bytes = 0
    }
    piece += character
    bytes += size
  }
  if (piece !== '') yield piece
}

export interface PreparedRequest extends LoadedTools {
  request: Omit<ModelRequest, 'signal' | 'attempt'>
  /** Whether the hidden tool for structured output is among the tools. */
  offersFinalAnswer: boolean
  elided: Elision | null
}

export interface RequestSources {
  settings: AgentSettings
  plan: StepPlan
  port: ModelPort
  /** The active tools by runtime name. */
  active: Map<string, Callable>
  /** The whole history. */
  messages: Message[]
  /** After a context overflow: half of the previous budget. */
  tighter: boolean
  /** What is known of what the model takes. */
  accepted: AcceptedTools
}

/** Builds the request: tools, tool choice, settings and the part of the history that fits. Pure. */
export function prepareRequest(from: RequestSources): PreparedRequest {
  const { settings, plan, port, accepted } = from
  const reserved = settings.outputSchema === null ? 0 : 1
  const loaded = loadTools(from, reserved)
  const tools = toolsOf(loaded, accepted)
  const native = settings.outputSchema !== null && port.capabilities.structuredOutput && tools.length === 0
  const offersFinalAnswer = settings.outputSchema !== null && !native
  if (offersFinalAnswer) tools.push(finalAnswerTool(settings.outputSchema!))
  const limited = from.messages.map((message) =>
    message.role === 'tool' ? { ...message, parts: limitStepResults(message.parts) } : message,
  )
  const instructions = instructionsOf(settings, plan)
  const view = viewOfHistory({
    instructions,
    messages: limited,
    tools,
    budgetTokens: budgetOf(from),
    maxContextMessages: settings.maxContextMessages,
    charsPerToken: defaultCharsPerToken,
  })
  return {
    ...loaded,
    offersFinalAnswer,
    elided: Object.values(view.elided).some((n) => n > 0) ? view.elided : null,
    request: {
      instructions,
      messages: view.messages,
      tools,
      toolChoice: choiceOf(plan, offersFinalAnswer, tools),
      outputSchema: native ? settings.outputSchema : null,
      settings: {
        ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
        ...(settings.maxOutputTokens === null ? {} : { maxOutputTokens: settings.maxOutputTokens }),
        ...(settings.parallelToolCalls ? {} : { parallelToolCalls: false }),
      },
    },
  }
}

/** A notice is part of the instructions: a user message would begin a new turn. */
function instructionsOf(settings: AgentSettings, plan: StepPlan): string | null {
  if (plan.notice === null) return settings.instructions
  return settings.instructions === null ? plan.notice : `${settings.instructions}\n\n${plan.notice}`
}

function finalAnswerTool(schema: JsonObject): ModelTool {
  return {
    name: finalAnswerName,
    description: 'Call this once, at the end, with the final answer.',
    inputSchema: isWrapped(schema)
      ? { type: 'object', properties: { value: schema }, required: ['value'] }
      : schema,
  }
}

function choiceOf(plan: StepPlan, offersFinalAnswer: boolean, tools: ModelTool[]): ToolChoice {
  if (plan.final !== null)
    return offersFinalAnswer ? { type: 'tool', name: finalAnswerName } : { type: 'none' }
  const rule: ToolChoiceRule = plan.toolChoice
  if ('tool' in rule)
    return tools.some((tool) => tool.name === rule.tool)
      ? { type: 'tool', name: rule.tool }
      : { type: 'auto' }
  // Providers refuse a required tool call when no tool is sent.
  if (rule.mode === 'REQUIRED') return tools.length > 0 ? { type: 'required' } : { type: 'auto' }
  return { type: rule.mode === 'NONE' ? 'none' : 'auto' }
}

/** Tokens for the input: the context window, less the maximum output and a tenth for errors of the estimate. */
function budgetOf({ port, settings, tighter }: RequestSources): number | null {
  if (port.contextWindow === null) return tighter ? 8000 : null
  const budget = port.contextWindow * 0.9 - (settings.maxOutputTokens ?? port.contextWindow * 0.1)
  return Math.max(500, Math.floor(tighter ? budget / 2 : budget))
}

/**
 * Streams one attempt to its end and returns the whole response. Text is passed to `deltas` as it arrives. Throws
 * ModelError, or an AbortError when `signal` fires. `times` are those of this attempt.
 */
export async function attempt(
  services: Services,
  port: ModelPort,
  prepared: PreparedRequest,
  number: number,
  deltas: DeltaSender,
  times: AttemptTimes,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const abort = new AbortController()
  const forget = onAbort(signal, () => abort.abort(signal.reason))
  const { modelFirstChunkMs: firstChunkMs, modelIdleMs: idleMs, modelTotalMs: totalMs } = services.limits
  try {
    const stream = port.stream({ ...prepared.request, attempt: number, signal: abort.signal })
    for await (const event of watchStream(stream, { firstChunkMs, idleMs, totalMs }, abort)) {
      times.noteAnswer()
      if (event.type === 'text-delta') deltas.add(event.text)
      else if (event.type === 'finish') return event.answer
    }
    throw new ModelError('MODEL_UNAVAILABLE', 'The model ended its answer without finishing it.', {
      retryable: true,
    })
  } finally {
    forget()
    deltas.flush()
  }
}
