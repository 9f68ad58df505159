/** Commits a model's response in one statement: the message, its calls after triage, and the next state of the row. */
import { sql, type SQL } from 'drizzle-orm'
import { atomically, nowPlus, jsonb, type Database } from '../../../store/db/database.ts'
import { lockOwners } from '../../../store/work/owner.ts'
import { allows, principalById } from '../../access/index.ts'
import {
  covers,
  findGrants,
  insertApprovals,
  newApproval,
  requested,
  takeUse,
  type NewApproval,
  type UsableGrant,
} from '../../approvals/index.ts'
import { gatesOf } from '../../agents/index.ts'
import { messageCommitted, requiresAction, type GenerationEvent } from '../../events/index.ts'
import {
  callProposed,
  callSettled,
  callStarted,
  isSettled,
  type ProposedCall,
} from '../../tool-calls/index.ts'
import { asksAgent, gateOf, judgeGate, resourceOf, type Callable } from '../../tools/index.ts'
import type { PreparedRequest } from './request.ts'
import { completed, failed } from '../transaction/terminal.ts'
import { commit, unlessCancelled, type Change } from '../transaction/commit.ts'
import type { Generation } from '../generation.ts'
import { judgeFinalAnswer, type Judgement } from './final-answer.ts'
import { callsOf, type AssistantPart } from '../model/message.ts'
import type { ModelAnswer, ModelPort } from '../model/port.ts'
import { nestingLimits } from '../nesting/limits.ts'
import { isStop, type StepPlan } from '../decide.ts'
import { endAtStop, passed, triage, type TriagedCall, type TriageRules } from '../transaction/triage.ts'
import {
  lockOwn,
  maxParallelCalls,
  publishCommit,
  commitTurn,
  type Turn,
  type TurnOutcome,
} from '../transaction/turn.ts'

/** Triages the calls of the response and commits it. */
export async function commitAnswer(
  turn: Turn,
  plan: StepPlan,
  port: ModelPort,
  tools: Map<string, Callable>,
  prepared: PreparedRequest,
  answer: ModelAnswer,
): Promise<TurnOutcome> {
  const { services, generation } = turn
  const { settings } = generation
  const judgement = judgeFinalAnswer({
    ...answer,
    plan,
    outputSchema: settings.outputSchema,
    toolNames: [...tools.keys()],
    offersFinalAnswer: prepared.offersFinalAnswer,
  })
  const parts = answer.parts.map((part) => ({ ...part }))
  const rules = judgement ? null : await triageRules(turn, tools)
  const calls = rules ? triageCalls(parts, rules) : []
  const limited = await limitedOf(turn, calls)
  const made = { plan, port, tools, prepared, answer, parts, judgement, limited }
  const grants = await usableGrants(turn, calls)
  if (grants.length === 0) {
    const { change, outcome } = changeOf(turn, made, endAtStop(calls, rules ?? never))
    await commitTurn(turn, change)
    return outcome
  }
  // Uses of grants are taken in the transaction of the calls that they let pass, under the generation's lock.
  const done = await atomically(services.db, async (tx) => {
    // The root is locked before the grants: it may use the same grants itself, and its log may get copies of calls
    // that are stopped.
    if (turn.held.parent)
      await lockOwners(tx, [{ table: 'generations', id: generation.id, projectId: generation.projectId }])
    await lockOwn(tx, turn.held)
    const through = await takeGrants(tx, calls, grants)
    const { change, outcome } = changeOf(turn, made, endAtStop(through, rules ?? never))
    return { made: await commit(tx, turn.held, change), outcome }
  })
  publishCommit(turn, done.made)
  return done.outcome
}

const never = { isStop: () => false }

/** A response to be committed. */
interface Made {
  plan: StepPlan
  port: ModelPort
  tools: Map<string, Callable>
  prepared: PreparedRequest
  answer: ModelAnswer
  parts: AssistantPart[]
  judgement: Judgement | null
  /** Tools with a rate limit: it is checked when a call starts, not here. */
  limited: ReadonlySet<string>
}

/** A call of the step, as committed. */
type StepCall = TriagedCall & ProposedCall

/** Everything that the commit of the response writes. */
function changeOf(turn: Turn, made: Made, calls: TriagedCall[]): { change: Change; outcome: TurnOutcome } {
  const { generation, services } = turn
  const { plan, port, tools, prepared, answer, parts, judgement } = made
  const { settings } = generation
  const questions = questionsOf(turn, calls)
  // A process that shuts down starts nothing: the row's next worker sends the calls.
  const started = turn.isDraining()
    ? new Set<string>()
    : startNow(calls, settings.parallelToolCalls, made.limited)
  for (const id of started) turn.unsent.set(id, 1)
  const rows = calls.map((call, i): StepCall => ({
    ...call,
    status: started.has(call.id) ? 'EXECUTING' : call.status,
    stepIndex: plan.stepIndex,
    callIndex: i + 1,
    approvalId: questions.find((question) => question.toolCallId === call.id)?.id ?? null,
    waitMs: call.status === 'AWAITING_CLIENT' ? settings.clientTimeoutMs : null,
  }))
  const ending = endingOf(judgement, rows, settings.clientTimeoutMs, services.limits.leaseMs)
  const { usage } = answer
  const used = { model: port.name, usage, stepIndex: plan.stepIndex, attempt: generation.attempt + 1 }
  const change: Change = {
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
      messageCommitted({ stepIndex: plan.stepIndex }),
      ...rows.flatMap((call) => callEvents(call)),
      ...questions.map(requested),
      ...ending.events,
    ],
    step: {
      ...used,
      modelKind: port.providerKind,
      parts,
      surface: [...tools].map(([name, tool]) => ({ name, toolId: tool.id, version: tool.version })),
      toolChoice: prepared.request.toolChoice,
      finishReason: answer.finishReason,
      notice: plan.notice,
      elided: prepared.elided === null ? null : { ...prepared.elided },
    },
    attempt: { ...used, totalTokens: usage.inputTokens + usage.outputTokens, errorCode: null },
    newCalls: rows,
    audit: rows.flatMap((call) => droppedPresets(generation, call)),
    also: questions.length > 0 ? [insertApprovals(questions)] : [],
  }
  return { change, outcome: ending.outcome }
}

/** Which tools may be called, and what the gates of tool and agent require. */
async function triageRules(
  { services, generation }: Turn,
  tools: Map<string, Callable>,
): Promise<TriageRules> {
  const principal = await principalById(
    services.db,
    generation.requestedBy,
    services.clock.now(),
    generation.requester,
  )
  const gates = gatesOf(generation.settings)
  return {
    active: tools,
    mayCall: (tool) =>
      principal !== null &&
      allows(
        principal.policy,
        tool.kind === 'agent' ? 'generations:Start' : 'tools:Call',
        resourceOf(tool.id),
      ),
    atDepthLimit: generation.depth + 1 >= nestingLimits.chain,
    gate: (tool, merged) => judgeGate([gateOf(tool), ...gates], merged),
    isStop: (name) => isStop(generation.settings, name),
  }
}

/** Triages the calls and sets our ids in the message to be stored. */
function triageCalls(parts: AssistantPart[], rules: TriageRules): TriagedCall[] {
  const callParts = callsOf(parts)
  const calls = triage(callParts, rules)
  callParts.forEach((part, i) => (part.callId = calls[i]!.id))
  return calls
}

/** The tools among the calls that have a rate limit. */
async function limitedOf({ services, generation }: Turn, calls: TriagedCall[]): Promise<Set<string>> {
  const ids = [...new Set(calls.flatMap((call) => (call.tool ? [call.tool.id] : [])))]
  if (ids.length === 0) return new Set()
  const isLimited = await services.rates.limitedTools(generation.projectId)
  return new Set(ids.filter((id) => isLimited.has(id)))
}

/** Grants that may let some of the stopped calls pass. */
async function usableGrants({ services, generation }: Turn, calls: TriagedCall[]): Promise<UsableGrant[]> {
  const stopped = calls.filter((call) => call.stopped)
  const grants = await findGrants(services.db, [...new Set(stopped.map((call) => call.tool!.id))], generation)
  return grants.filter((grant) => stopped.some((call) => coversCall(grant, call)))
}

function coversCall(grant: UsableGrant, { tool, stopped }: TriagedCall): boolean {
  return stopped !== null && covers(grant, { tool: tool!, ...stopped })
}

async function takeGrants(tx: Database, calls: TriagedCall[], grants: UsableGrant[]): Promise<TriagedCall[]> {
  const through: TriagedCall[] = []
  for (const call of calls) {
    const fitting = grants.filter((grant) => coversCall(grant, call))
    const grantId = fitting.length > 0 ? await takeUse(tx, fitting) : null
    through.push(grantId ? passed(call, grantId) : call)
  }
  return through
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
      details: { toolCallId: call.id, droppedPresetKeys: call.dropped },
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
  if (judgement?.kind === 'fail') return { ...failed(judgement.code, judgement.message), outcome: 'terminal' }
  if (judgement?.kind === 'complete') return { ...completed(judgement), outcome: 'terminal' }
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
