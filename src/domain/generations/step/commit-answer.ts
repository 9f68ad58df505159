/** Commits a model's response in one statement: the message, its calls after triage, and the next state of the row. */
import { momentNow } from '../../../core/time.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { withProof, type Basis } from '../../basis/index.ts'
import { lockOwners } from '../../../store/work/owner.ts'
import { allows, basisOf, principalById, rememberedPrincipal, type Principal } from '../../access/index.ts'
import {
  answersTo,
  findGrants,
  takeAnswer,
  type StoppedCall,
  type UsableGrant,
} from '../../approvals/index.ts'
import { gatesOf } from '../../agents/index.ts'
import { judgeGate } from '../../gates/index.ts'
import { policiesOf, isRunTool, resourceOf } from '../../tools/index.ts'
import type { AttemptTimes, PreparedRequest } from './request.ts'
import { commit } from '../transaction/commit.ts'
import { changeOf, isOffered, type AnswerChange, type ModelResponse } from './answer-change.ts'
import { judgeFinalAnswer } from './final-answer.ts'
import { type AssistantPart, type ModelAnswer, type ModelPort, callsOf } from '../../models/index.ts'
import { nestingLimits } from '../nesting/deadline.ts'
import { isStop, type StepPlan } from '../decide.ts'
import { endAtStop, triage, withAnswer, type TriagedCall, type TriageRules } from '../transaction/triage.ts'
import {
  pausedTools,
  lockOwn,
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
  { prepared, answer, times }: { prepared: PreparedRequest; answer: ModelAnswer; times: AttemptTimes },
): Promise<TurnOutcome> {
  const { callable: tools } = prepared
  const judgement = judgeFinalAnswer({
    ...answer,
    plan,
    outputSchema: turn.generation.settings.outputSchema,
    projectId: turn.generation.projectId,
    toolNames: [...tools.keys(), ...(prepared.search === null ? [] : [prepared.search])],
    offersFinalAnswer: prepared.offersFinalAnswer,
  })
  const parts = answer.parts.map((part) => ({ ...part }))
  const none: ReadonlySet<string> = new Set()
  const made = { plan, port, tools, prepared, answer, times, parts, judgement, limited: none, paused: none }
  if (!judgement) return commitCalls(turn, made)
  const { change, outcome } = changeOf(turn, made, [])
  await commitTurn(turn, change)
  return outcome
}

/**
 * Triages and commits the calls with the rights of the requester. Those of a key that this process has read before cost no
 * statement.
 */
function commitCalls(turn: Turn, made: ModelResponse): Promise<TurnOutcome> {
  const { db, clock } = turn.services
  const { requestedBy, requester } = turn.generation
  const known = rememberedPrincipal(db, requestedBy, clock.now(), requester)
  return withProof({
    remembered: known && { principal: known, basis: basisOf(known), paused: [] },
    read: async () => ({
      principal: await principalById(db, requestedBy, clock.now(), requester),
      basis: {},
      paused: await pausedTools(turn, [...new Set([...made.tools.values()].map(({ id }) => id))]),
    }),
    judge: (requesterNow) => Promise.resolve(requesterNow),
    write: (requesterNow) => commitCallsOf(turn, made, requesterNow),
  })
}

interface CallRights {
  principal: Principal | null
  basis: Basis
  /** Tools whose calls wait for the end of a pause. */
  paused: readonly string[]
}

/** Triages and commits the calls for a requester with these rights; null: none. */
async function commitCallsOf(
  turn: Turn,
  answered: ModelResponse,
  { principal, basis, paused }: CallRights,
): Promise<TurnOutcome> {
  const { services, generation } = turn
  const parts = answered.parts.map((part) => ({ ...part }))
  const rules = triageRules(turn, answered.prepared, principal)
  const calls = triageCalls(parts, rules)
  const limited = new Set([...(await limitedOf(turn, calls)), ...paused])
  const made = { ...answered, parts, limited, paused: new Set(paused) }
  const grants = await usableGrants(turn, calls)
  if (grants.length === 0) {
    const { change, outcome } = startingChange(turn, made, endAtStop(calls, rules))
    await commitTurn(turn, { ...change, basis })
    return outcome
  }
  // Uses of grants are taken in the transaction of the calls that they answer, under the generation's lock.
  const done = await atomically(services.db, async (tx) => {
    // The root is locked before the grants: it may use the same grants itself, and its log may get copies of calls
    // that are stopped.
    if (turn.held.parent)
      await lockOwners(tx, [{ table: 'generations', id: generation.id, projectId: generation.projectId }])
    await lockOwn(tx, turn.held)
    const through = await takeGrants(tx, calls, grants)
    const { change, outcome } = startingChange(turn, made, endAtStop(through, rules))
    return { made: await commit(tx, turn.held, { ...change, basis }), outcome }
  })
  publishCommit(turn, done.made)
  return done.outcome
}

/**
 * The calls that the commit starts are unsent from here on, whether or not its confirmation arrives. It proves that no pause
 * holds these, and those that it gives to the client.
 */
function startingChange(turn: Turn, made: ModelResponse, calls: TriagedCall[]): AnswerChange {
  const changed = changeOf(turn, made, calls)
  const begunAt = momentNow()
  for (const id of changed.started) turn.unsent.set(id, { id, attempt: 1, token: null, begunAt })
  const begun = calls.filter((call) => changed.started.has(call.id) || isOffered(call, made.paused))
  if (begun.length === 0) return changed
  const sends = begun.map(({ tool }) => tool!.id)
  return { ...changed, change: { ...changed.change, sends } }
}

/** Which tools may be called, and what the gates of tool and agent require. */
function triageRules(
  { generation }: Turn,
  { callable, search }: Pick<PreparedRequest, 'callable' | 'search'>,
  principal: Principal | null,
): TriageRules {
  const gates = gatesOf(generation.settings)
  return {
    active: callable,
    search,
    projectId: generation.projectId,
    mayCall: (tool) =>
      principal !== null &&
      // Whoever starts a run brings its client tools and runs them.
      (isRunTool(tool.id) ||
        allows(
          principal.policy,
          tool.kind === 'agent' ? 'generations:Start' : 'tools:Call',
          resourceOf(tool.id),
        )),
    atDepthLimit: generation.depth + 1 >= nestingLimits.chain,
    gate: (tool, merged) => judgeGate(policiesOf(tool, gates), merged, generation.projectId),
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

/** The grants for the tools of the stopped calls; none when they answer no call. */
async function usableGrants({ services, generation }: Turn, calls: TriagedCall[]): Promise<UsableGrant[]> {
  const stopped = calls.flatMap((call) => stoppedCall(call) ?? [])
  const grants = await findGrants(services.db, [...new Set(stopped.map((call) => call.tool.id))], generation)
  return stopped.some((call) => answersTo(grants, call).length > 0) ? grants : []
}

function stoppedCall({ tool, stopped }: TriagedCall): StoppedCall | null {
  return stopped && { tool: tool!, ...stopped }
}

async function takeGrants(tx: Database, calls: TriagedCall[], grants: UsableGrant[]): Promise<TriagedCall[]> {
  const through: TriagedCall[] = []
  for (const call of calls) {
    const stopped = stoppedCall(call)
    const answer = stopped && (await takeAnswer(tx, grants, stopped))
    through.push(answer ? withAnswer(call, answer) : call)
  }
  return through
}
