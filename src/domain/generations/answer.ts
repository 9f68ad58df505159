/** Commits a model's answer: the message, its calls after triage, and how the row is left, in one statement. */
import { sql, type SQL } from 'drizzle-orm'
import { nowPlus, jsonb } from '../../store/db/database.ts'
import type { NewEvent } from '../../store/events/log.ts'
import { allows, principalById } from '../access/index.ts'
import type { Tool } from '../tools/index.ts'
import type { PreparedRequest } from './attempt.ts'
import { completed, failed } from './closing.ts'
import type { Change, NewCallRow } from './commit.ts'
import type { Generation } from './generation.ts'
import { judge, type Judgement } from './judge.ts'
import { callsOf, type AssistantPart } from './message.ts'
import type { ModelAnswer, ModelPort } from './model.ts'
import { isStop, type StepPlan } from './next.ts'
import { triage, type TriagedCall } from './triage.ts'
import { maxParallelCalls, write, type Turn, type TurnOutcome } from './turn.ts'

/** Judges and commits the answer of one attempt. */
export async function commitAnswer(
  step: Turn,
  plan: StepPlan,
  port: ModelPort,
  tools: Map<string, Tool>,
  prepared: PreparedRequest,
  answer: ModelAnswer,
): Promise<TurnOutcome> {
  const { house, generation } = step
  const { settings } = generation
  const judgement = judge({
    ...answer,
    plan,
    outputSchema: settings.outputSchema,
    toolNames: [...tools.keys()],
    offersFinalAnswer: prepared.offersFinalAnswer,
  })
  const parts = answer.parts.map((part) => ({ ...part }))
  const calls = judgement ? [] : await triageCalls(step, tools, parts)
  const started = startNow(calls, settings.parallelToolCalls)
  const rows = calls.map((call, i): NewCallRow => ({
    ...call,
    stepIndex: plan.stepIndex,
    callIndex: i + 1,
    starts: started.has(call.id),
    timeoutMs: settings.clientTimeoutMs,
  }))
  const ending = endingOf(judgement, rows, settings.clientTimeoutMs, house.limits.leaseMs)
  const { usage } = answer
  await write(step, {
    ...ending,
    set: [
      sql`step_count = ${plan.stepIndex}::int`,
      sql`attempt = 0`,
      sql`model = ${port.name}`,
      sql`model_kind = ${port.providerKind}`,
      sql`input_tokens = input_tokens + ${usage.inputTokens}::bigint`,
      sql`output_tokens = output_tokens + ${usage.outputTokens}::bigint`,
      ...ending.set,
    ],
    events: [
      { type: 'MESSAGE_COMMITTED', data: { stepIndex: plan.stepIndex } },
      ...rows.flatMap((call) => callEvents(call)),
      ...ending.events,
    ],
    step: {
      stepIndex: plan.stepIndex,
      attempt: generation.attempt + 1,
      model: port.name,
      modelKind: port.providerKind,
      parts,
      surface: [...tools].map(([name, tool]) => ({ name, toolId: tool.id, version: tool.version })),
      toolChoice: prepared.request.toolChoice,
      finishReason: answer.finishReason,
      usage,
      notice: plan.notice,
      elided: prepared.elided === null ? null : { ...prepared.elided },
    },
    attempt: {
      stepIndex: plan.stepIndex,
      attempt: generation.attempt + 1,
      model: port.name,
      usage,
      totalTokens: usage.inputTokens + usage.outputTokens,
      errorCode: null,
    },
    newCalls: rows,
    audit: rows.flatMap((call) => droppedPresets(generation, call)),
  })
  return ending.outcome
}

/** Judges the calls and writes our ids into the message that is stored. */
async function triageCalls(
  { house, generation }: Turn,
  tools: Map<string, Tool>,
  parts: AssistantPart[],
): Promise<TriagedCall[]> {
  const principal = await principalById(house.db, generation.requestedBy, house.clock.now())
  const callParts = callsOf(parts)
  const calls = triage(callParts, {
    active: tools,
    mayCall: (tool) => principal !== null && allows(principal.policy, 'tools:Call', `tool/${tool.id}`),
    isStop: (name) => isStop(generation.settings, name),
  })
  callParts.forEach((part, i) => (part.callId = calls[i]!.id))
  return calls
}

/** The server calls that leave right after the commit; they are committed as sent. */
function startNow(calls: TriagedCall[], parallel: boolean): Set<string> {
  const runnable = calls.filter((call) => call.status === 'PROPOSED').map((call) => call.id)
  return new Set(runnable.slice(0, parallel ? maxParallelCalls : 1))
}

function callEvents(call: NewCallRow): NewEvent[] {
  const data = { toolCallId: call.id, name: call.runtimeName, stepIndex: call.stepIndex }
  const events: NewEvent[] = [{ type: 'TOOL_CALL_PROPOSED', data }]
  if (call.starts) events.push({ type: 'TOOL_CALL_STARTED', data: { ...data, attempt: 1 } })
  if (call.result) events.push({ type: 'TOOL_CALL_SETTLED', data: { ...data, status: call.status } })
  return events
}

function droppedPresets(generation: Generation, call: NewCallRow): NonNullable<Change['audit']> {
  if (call.dropped.length === 0) return []
  return [
    {
      projectId: generation.projectId,
      principalId: generation.requestedBy,
      action: 'tools:Call',
      resource: `tool/${call.tool?.id ?? ''}`,
      outcome: 'DENIED',
      details: { toolCallId: call.id, droppedPresetKeys: call.dropped },
    },
  ]
}

interface Ending {
  set: SQL[]
  wakeAt: SQL | null
  release: boolean
  events: NewEvent[]
  outcome: TurnOutcome
}

/** How the commit of an answer leaves the row: terminal, waiting for the client, or in this worker's hands. */
function endingOf(
  judgement: Judgement | null,
  calls: NewCallRow[],
  clientTimeoutMs: number,
  leaseMs: number,
): Ending {
  const goOn: Ending = {
    set: [sql`next_step = null`],
    wakeAt: nowPlus(leaseMs),
    release: false,
    events: [],
    outcome: 'goOn',
  }
  if (judgement?.kind === 'repair') return { ...goOn, set: [sql`next_step = ${jsonb(judgement.nextStep)}`] }
  if (judgement?.kind === 'fail') return { ...failed(judgement.code, judgement.message), outcome: 'terminal' }
  if (judgement?.kind === 'complete') return { ...completed(judgement), outcome: 'terminal' }
  const client = calls.filter((call) => call.status === 'AWAITING_CLIENT')
  if (client.length === 0) return goOn
  const events = [{ type: 'REQUIRES_ACTION', data: { toolCallIds: client.map((call) => call.id) } }]
  if (calls.some((call) => call.status === 'PROPOSED')) return { ...goOn, events }
  // Nothing runs here: the row is parked in the very commit that opens the calls, which nobody can have answered yet.
  const wakeAt = sql`least(deadline_at, ${nowPlus(clientTimeoutMs)})`
  return {
    ...goOn,
    set: [...goOn.set, sql`status = 'WAITING'`],
    wakeAt,
    release: true,
    events,
    outcome: 'parked',
  }
}
