/** The rehearsal model: a rule-based model without network, key or AI, which says so in its answers. */
import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import type { AssistantPart } from '../message.ts'
import type {
  ModelAnswer,
  ModelCapabilities,
  ModelEvent,
  ModelPort,
  ModelRequest,
  ModelTool,
  Usage,
} from '../port.ts'
import { zeroUsage } from '../usage.ts'
import { abortError, errorForStatus } from './model-error.ts'
import { argumentsFrom } from './rehearsal-arguments.ts'
import {
  matchingTool,
  readScript,
  type ScriptedCall,
  type ScriptedStep,
  currentTurn,
  summaryOf,
  type Turn,
} from './rehearsal-turn.ts'

export const rehearsalModelId = 'rehearsal'

/** The loop's own tool for a structured answer. It is never matched by words, and always used for the last response. */
export const finalAnswerTool = 'final_answer'

interface Decision {
  text: string
  think: string
  calls: ScriptedCall[]
}

/** The rehearsal model as a port. Deterministic: the same request gives the same response in every process. */
export function rehearsalPort(options: {
  name: string
  capabilities: ModelCapabilities
  contextWindow: number | null
}): ModelPort {
  return { ...options, providerKind: 'builtin', stream: answer }
}

async function* answer(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
  const turn = currentTurn(request.messages)
  const script = readScript(
    turn.text,
    request.tools.map((tool) => tool.name),
  )
  const step = script.steps[turn.answers] ?? null
  const pace = step ?? script.steps.at(-1) ?? null
  await wait(step?.beforeMs ?? 0, request.signal)
  if (step?.failure && (request.attempt ?? 1) <= step.failure.attempts)
    throw errorForStatus(step.failure.status, step.failure.retryAfterMs)
  const decision = decide(
    request,
    { ...turn, text: script.words || turn.text },
    step,
    script.steps.some(acts),
  )
  yield* spoken('reasoning-delta', decision.think, pace, request.signal)
  yield* spoken('text-delta', decision.text, pace, request.signal)
  for (const [call, { name, input }] of decision.calls.entries())
    yield { type: 'tool-input-delta', call, name, text: input }
  yield { type: 'finish', answer: answerOf(request, turn, decision, pace) }
}

async function* spoken(
  type: 'text-delta' | 'reasoning-delta',
  text: string,
  pace: ScriptedStep | null,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const pieces = text.match(/\S+\s*/g) ?? []
  for (const [i, word] of pieces.entries()) {
    await wait(i === 0 ? 0 : (pace?.betweenWordsMs ?? 0), signal)
    yield { type, text: word }
  }
}

async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw abortError()
  if (milliseconds === 0) return
  await pause(milliseconds, undefined, { signal }).catch(() => {
    throw abortError()
  })
}

/** The rules, first match wins: script, forced tool, results, words, introduction. */
function decide(request: ModelRequest, turn: Turn, step: ScriptedStep | null, scripted: boolean): Decision {
  const { toolChoice } = request
  const mayCall = toolChoice.type !== 'none'
  if (step && acts(step)) {
    const decision = fromStep(request, step)
    if (toolChoice.type === 'auto' || toolChoice.type === 'none') return decision
    const wanted = decision.calls.filter(
      (call) => toolChoice.type === 'required' || call.name === toolChoice.name,
    )
    if (wanted.length > 0) return { ...decision, calls: wanted }
  }
  const forced = forcedTool(request, turn.text)
  if (forced) return calling(forced, turn)
  const final = mayCall ? request.tools.find((tool) => tool.name === finalAnswerTool) : undefined
  const matched =
    mayCall && !scripted && turn.answers === 0 ? matchingTool(turn.text, ordinary(request.tools)) : null
  if (matched) return calling(matched, turn)
  if (final) return calling(final, turn)
  if (request.outputSchema) return saying(writeJson(argumentsFrom(turn.text, request.outputSchema)))
  if (turn.results.length > 0) return saying(summaryOf(turn.results))
  if (!mayCall) return saying('I may not call a tool now, so this is all I can say.')
  return saying(scripted ? 'The script has ended.' : introduction(request.tools))
}

function acts(step: ScriptedStep): boolean {
  return step.calls.length > 0 || step.say.length > 0 || step.think.length > 0 || step.json !== null
}

function fromStep(request: ModelRequest, step: ScriptedStep): Decision {
  const decision = { text: step.say.join('\n'), think: step.think.join('\n'), calls: [...step.calls] }
  const mayCall = request.toolChoice.type !== 'none'
  if (step.json) {
    const input = writeJson(step.json)
    if (mayCall && request.tools.some((tool) => tool.name === finalAnswerTool))
      decision.calls.push({ name: finalAnswerTool, input })
    else decision.text = [decision.text, input].filter(Boolean).join('\n')
  }
  if (mayCall || decision.calls.length === 0) return decision
  return { ...decision, calls: [], text: decision.text || 'I may not call a tool now, so I stop here.' }
}

function forcedTool({ toolChoice, tools }: ModelRequest, text: string): ModelTool | null {
  if (toolChoice.type === 'tool') return tools.find((tool) => tool.name === toolChoice.name) ?? null
  if (toolChoice.type !== 'required') return null
  return matchingTool(text, ordinary(tools)) ?? ordinary(tools)[0] ?? tools[0] ?? null
}

function ordinary(tools: ModelTool[]): ModelTool[] {
  return tools.filter((tool) => tool.name !== finalAnswerTool)
}

function calling(tool: ModelTool, turn: Turn): Decision {
  const last = tool.name === finalAnswerTool && turn.results.length > 0 ? summaryOf(turn.results) : turn.text
  const input: JsonObject = argumentsFrom(turn.text, tool.inputSchema, last)
  return { text: '', think: '', calls: [{ name: tool.name, input: writeJson(input) }] }
}

function saying(text: string): Decision {
  return { text, think: '', calls: [] }
}

function introduction(tools: ModelTool[]): string {
  const names = ordinary(tools).map((tool) => tool.name)
  const offer = names.length > 0 ? `I could call: ${names.join(', ')}.` : 'No tool is offered to me.'
  return (
    'I am the rehearsal model that is built into Gatehouse. I am not an AI: I follow rules and lines such as ' +
    `\`call tool {"key": "value"}\`. ${offer}`
  )
}

function answerOf(
  request: ModelRequest,
  turn: Turn,
  decision: Decision,
  pace: ScriptedStep | null,
): ModelAnswer {
  const parts: AssistantPart[] = []
  if (decision.think) parts.push({ type: 'reasoning', text: decision.think })
  if (decision.text) parts.push({ type: 'text', text: decision.text })
  for (const [i, { name, input }] of decision.calls.entries()) {
    const providerCallId = `rehearsal_${turn.answersInAll}_${i}`
    parts.push({ type: 'tool-call', callId: '', providerCallId, name, input })
  }
  const finishReason = decision.calls.length > 0 ? 'tool-calls' : 'stop'
  return { parts, usage: usageOf(request, decision, pace), finishReason }
}

/**
 * Words counted as tokens and marked as an estimate; or the numbers of a `usage` line, as if a provider had reported
 * them.
 */
function usageOf(request: ModelRequest, decision: Decision, pace: ScriptedStep | null): Usage {
  if (pace?.usage) return { ...zeroUsage(), inputTokens: pace.usage.input, outputTokens: pace.usage.output }
  const sent = [request.instructions ?? '', ...request.messages.map((message) => writeJson(message.parts))]
  const received = [
    decision.think,
    decision.text,
    ...decision.calls.map((call) => `${call.name} ${call.input}`),
  ]
  return { ...zeroUsage(), inputTokens: words(sent), outputTokens: words(received), estimated: true }
}

function words(texts: string[]): number {
  return texts.reduce((sum, text) => sum + (text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0), 0)
}
