/** One attempt at a model response: builds the request and reads the stream under time limits. */
import { onAbort } from '../../../core/abort.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import type { AgentSettings, ToolChoiceRule } from '../../agents/index.ts'
import { shownSchema, type Callable } from '../../tools/index.ts'
import { viewOfHistory, type Elision } from '../context/context-window.ts'
import type { AttemptTimes } from './attempt-times.ts'
import type { DeltaSender } from './text-deltas.ts'
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
import { isStop, type StepPlan } from '../decide.ts'
import type { LeftOutTool } from '../generation.ts'
import { offeredOf, shownDescription, type Accepted } from './left-out.ts'
import { limitStepResults } from '../context/result-limits.ts'
import { watched } from './stream-timeout.ts'

export interface PreparedRequest {
  request: Omit<ModelRequest, 'signal' | 'attempt'>
  /** Whether the hidden tool for structured output is among the tools. */
  offersFinalAnswer: boolean
  elided: Elision | null
  /** The tools that are offered, by runtime name. */
  tools: Map<string, Callable>
  leftOut: LeftOutTool[]
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
  accepted: Accepted
}

/** Builds the request: tools, tool choice, settings and the part of the history that fits. Pure. */
export function prepareRequest(from: RequestSources): PreparedRequest {
  const { settings, plan, port, accepted } = from
  const offered = offeredOf(
    from.active,
    accepted,
    (name) => isNeeded(settings, plan, name),
    settings.outputSchema === null ? 0 : 1,
  )
  const native =
    settings.outputSchema !== null && port.capabilities.structuredOutput && offered.tools.size === 0
  const offersFinalAnswer = settings.outputSchema !== null && !native
  const tools = toolsOf(offered.tools, accepted)
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
    ...offered,
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

/** Whether the step cannot be made without the tool: it is forced, or ends the run. */
export function isNeeded(settings: AgentSettings, plan: StepPlan, name: string): boolean {
  const isForced = plan.final === null && 'tool' in plan.toolChoice && plan.toolChoice.tool === name
  return isForced || isStop(settings, name)
}

function toolsOf(offered: Map<string, Callable>, accepted: Accepted): ModelTool[] {
  return [...offered].map(([name, tool]) => ({
    name,
    description: shownDescription(tool.description, accepted),
    inputSchema: shownSchema(tool),
  }))
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
    for await (const event of watched(stream, { firstChunkMs, idleMs, totalMs }, abort)) {
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
