/** Everything that the commit of a model's response writes. */
import { nowPlus, jsonb } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { insertApprovals, newApproval, requestEvent, type NewApproval } from '../../approvals/index.ts'
import { messageCommitted, requiresAction, type GenerationEvent } from '../../events/index.ts'
import {
  callProposed,
  callSettled,
  callStarted,
  isSettled,
  type ProposedCall,
} from '../../tool-calls/index.ts'
import { asksAgent, resourceOf, type Callable } from '../../tools/index.ts'
import { isStop, type StepPlan } from '../decide.ts'
import type { Generation } from '../generation.ts'
import type { AssistantPart, ModelAnswer, ModelPort } from '../../models/index.ts'
import { unlessCancelled, type Change, type NewAttemptRow, type NewStepRow } from '../transaction/commit.ts'
import { completion, failure } from '../transaction/terminal.ts'
import type { TriagedCall } from '../transaction/triage.ts'
import { maxParallelCalls, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import type { AttemptTimes, PreparedRequest } from './request.ts'
import type { Judgement } from './final-answer.ts'
import { sizeOfTools } from './tool-loading.ts'
import { tokensOf } from './store-answer.ts'

/** A response to be committed. */
export interface ModelResponse {
  plan: StepPlan
  port: ModelPort
  /** The tools that may be called, by runtime name. */
  tools: Map<string, Callable>
  prepared: PreparedRequest
  answer: ModelAnswer
  times: AttemptTimes
  parts: AssistantPart[]
  judgement: Judgement | null
  /** Tools with a rate limit, and those that are paused: that is checked when a call starts, not here. */
  limited: ReadonlySet<string>
  /** Tools that are paused: calls of the client wait for the end of it, too. */
  paused: ReadonlySet<string>
}

/** A call of the step, as committed. */
type StepCall = TriagedCall & ProposedCall

/** What the commit of a response comes to. */
export interface AnswerChange {
  change: Change
  /** How the turn goes on after the commit. */
  outcome: TurnOutcome
  /** The ids of the calls that the commit starts, and this process then sends. */
  started: ReadonlySet<string>
}

/** The change that commits the response with these calls. Pure. */
export function changeOf(turn: Turn, made: ModelResponse, calls: TriagedCall[]): AnswerChange {
  const { generation, services } = turn
  const { plan, port, answer, times, judgement } = made
  const { settings } = generation
  const questions = questionsOf(turn, calls)
  // A process that shuts down starts nothing: the row's next worker sends the calls.
  const started = turn.isDraining()
    ? new Set<string>()
    : startNow(calls, settings.parallelToolCalls, made.limited)
  const rows = calls.map((call, i): StepCall => {
    const isGiven = isOffered(call, made.paused)
    const waits = call.status === 'AWAITING_CLIENT' && !isGiven
    return {
      ...call,
      status: started.has(call.id) ? 'EXECUTING' : waits ? 'PROPOSED' : call.status,
      stepIndex: plan.stepIndex,
      callIndex: i + 1,
      approvalId: questions.find((question) => question.toolCallId === call.id)?.id ?? null,
      waitMs: isGiven ? settings.clientTimeoutMs : null,
    }
  })
  const ending = endingOf(judgement, rows, settings.clientTimeoutMs, services.limits.leaseMs)
  const { usage } = answer
  const used = {
    model: port.name,
    usage,
    stepIndex: plan.stepIndex,
    attempt: generation.attempt + 1,
    startedAt: times.startedAt(),
  }
  const change: Change = {
    ...ending,
    set: [
      sql`step_count = ${plan.stepIndex}::int`,
      sql`attempt = 0`,
      sql`model = ${port.name}`,
      sql`model_kind = ${port.providerKind}`,
      ...tokensOf(usage),
      ...ending.set,
    ],
    events: [
      messageCommitted({ stepIndex: plan.stepIndex }),
      ...rows.flatMap((call) => callEvents(call)),
      ...questions.map(requestEvent),
      ...ending.events,
    ],
    step: stepRow(made, used),
    attempt: { ...used, ...noFailure, totalTokens: usage.inputTokens + usage.outputTokens },
    newCalls: rows,
    audit: rows.flatMap((call) => droppedPresets(generation, call)),
    also: questions.length > 0 ? [insertApprovals(questions)] : [],
  }
  return { change, outcome: ending.outcome, started }
}

/** Whether the commit gives the call to its client. */
export function isOffered({ status, tool }: TriagedCall, paused: ReadonlySet<string>): boolean {
  return status === 'AWAITING_CLIENT' && !paused.has(tool!.id)
}

const noFailure = { errorCode: null, errorMessage: null, httpStatus: null }

/** The row of the step. `used` are the fields that it has in common with its attempt. */
function stepRow(
  { plan, port, prepared, answer, times, parts }: ModelResponse,
  used: Omit<NewAttemptRow, 'totalTokens' | keyof typeof noFailure>,
): NewStepRow {
  return {
    ...used,
    modelKind: port.providerKind,
    parts,
    surface: [...prepared.tools].map(([name, tool]) => ({ name, toolId: tool.id, version: tool.version })),
    toolChoice: prepared.request.toolChoice,
    finishReason: answer.finishReason,
    notice: plan.notice,
    elided: prepared.elided === null ? null : { ...prepared.elided },
    leftOut: prepared.leftOut.length === 0 ? null : prepared.leftOut,
    toolSize: sizeOfTools(prepared.request.tools),
    firstTokenAt: times.firstTokenAt(),
  }
}

function questionsOf({ services, generation }: Turn, calls: TriagedCall[]): NewApproval[] {
  return calls.flatMap((call) => {
    const { tool, stopped } = call
    if (!tool || !stopped) return []
    const isAnswer = tool.kind === 'client' && isStop(generation.settings, call.runtimeName)
    const question = newApproval(services, {
      toolCallId: call.id,
      tool,
      ...stopped,
      onApprove: isAnswer ? 'SKIP' : tool.kind === 'client' ? 'CLIENT' : 'RUN',
      clientTimeoutMs: generation.settings.clientTimeoutMs,
      requestedBy: generation.requestedBy,
      actsFor: generation.actsFor,
    })
    return [question]
  })
}

/**
 * The server calls to send right after the commit; they are committed as EXECUTING. A call of an agent is started
 * later, in one commit with its child run.
 */
function startNow(calls: TriagedCall[], parallel: boolean, limited: ReadonlySet<string>): Set<string> {
  const runnable = calls.filter((call) => call.status === 'PROPOSED')
  const first = parallel ? runnable.filter((call) => !asksAgent(call.tool!)) : runnable.slice(0, 1)
  const now = first
    .filter((call) => !asksAgent(call.tool!) && !limited.has(call.tool!.id))
    .slice(0, maxParallelCalls)
  return new Set(now.map((call) => call.id))
}

function callEvents(call: StepCall): GenerationEvent[] {
  return [
    callProposed(call),
    ...(call.status === 'EXECUTING' ? [callStarted(call, 1)] : []),
    ...(isSettled(call.status) ? [callSettled(call, call.status)] : []),
  ]
}

function droppedPresets(generation: Generation, call: StepCall): NonNullable<Change['audit']> {
  if (call.dropped.length === 0) return []
  return [
    {
      projectId: generation.projectId,
      principalId: generation.requestedBy,
      action: 'tools:Call',
      resource: resourceOf(call.tool?.id ?? ''),
      outcome: 'DENIED',
      details: {
        toolCallId: call.id,
        droppedPresetKeys: call.dropped,
        ...(generation.actsFor && { actsFor: generation.actsFor }),
      },
    },
  ]
}

interface Ending {
  set: SQL[]
  wakeAt: SQL | null
  release: boolean
  events: GenerationEvent[]
  outcome: TurnOutcome
}

/** The row after the commit of a response: terminal, waiting for the client, or still held by this worker. */
function endingOf(
  judgement: Judgement | null,
  calls: StepCall[],
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
  if (judgement?.kind === 'fail')
    return { ...failure(judgement.code, judgement.message), outcome: 'terminal' }
  if (judgement?.kind === 'complete') return { ...completion(judgement), outcome: 'terminal' }
  const client = calls.filter((call) => call.status === 'AWAITING_CLIENT')
  const asked = calls.some((call) => call.status === 'AWAITING_APPROVAL')
  if (client.length === 0 && !asked) return goOn
  const toolCallIds = client.map((call) => call.id)
  const events = client.length > 0 ? [requiresAction({ toolCallIds })] : []
  if (calls.some((call) => call.status === 'PROPOSED' || call.status === 'EXECUTING'))
    return { ...goOn, events }
  // Nothing runs here: the row is parked in the commit that opens the calls, so no output can have arrived yet.
  const wakeAt = client.length > 0 ? sql`least(deadline_at, ${nowPlus(clientTimeoutMs)})` : sql`deadline_at`
  return {
    ...goOn,
    set: [...goOn.set, sql`status = 'WAITING'`],
    wakeAt: unlessCancelled(wakeAt),
    release: true,
    events,
    outcome: 'parked',
  }
}
