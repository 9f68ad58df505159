/** Starts the run that a call of an agent waits for: run and call are one commit, so a crash neither loses nor doubles it. */
import { sql, type SQL } from 'drizzle-orm'
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { atomically, jsonb, nowPlus, query } from '../../../store/db/database.ts'
import { lockOwners } from '../../../store/work/owner.ts'
import { principalById, type Ctx, type Principal } from '../../access/index.ts'
import { gatesOf } from '../../agents/index.ts'
import { childStarted, generationQueued, insertGenerationEvents } from '../../events/index.ts'
import { goneResult, prepareCall, proposedCallable, refusalOf, agentMessageOf } from '../../tools/index.ts'
import { callStarted, factsOfCall, inGeneration, startCall, type ToolCall } from '../../tool-calls/index.ts'
import { ownDeadline } from '../nesting/deadline.ts'
import { commit, type Change } from '../transaction/commit.ts'
import { ownThreadId, type Generation } from '../generation.ts'
import { nestingLimits } from '../nesting/limits.ts'
import { outcomeOf, settleCall } from '../transaction/settle-call.ts'
import { prepareStart, type NewGeneration, type StartGenerationInput } from '../start.ts'
import { publishCommit, type Turn } from '../transaction/turn.ts'

/**
 * Starts the run of a PROPOSED or APPROVED call of an agent, for whoever asked for this run. The call is EXECUTING from
 * then on and in nobody's hands: the end of that run settles it. What cannot be started is an error result for the model.
 * A cancel leaves it unstarted.
 */
export async function startChild(turn: Turn, call: ToolCall): Promise<void> {
  if (turn.signal.aborted) return
  const { services, held, generation } = turn
  const made = await prepareChild(turn, call)
  if ('content' in made) return settleCall(turn, call, made, 'ERRORED')
  const rootId = generation.rootId ?? generation.id
  const done = await atomically(services.db, async (tx) => {
    // The root too: it counts its descendants, and its log gets a copy.
    await lockOwners(tx, [{ table: 'generations', id: generation.id, projectId: generation.projectId }])
    const [under] = await query<{ n: number }>(
      tx,
      sql`select count(*)::int as n from generations where root_id = ${rootId}`,
    )
    const full = under!.n >= nestingLimits.descendants
    return commit(tx, held, full ? outcomeOf(turn, call, tooMany, 'ERRORED') : beginning(turn, call, made))
  })
  publishCommit(turn, done)
  services.pubsub.publish([{ kind: 'work', table: 'generations' }])
}

const tooMany = errorResult(
  'too_many_runs',
  `At most ${nestingLimits.descendants} runs of agents may stand under one run. Go on without another.`,
)

/** Call, run, thread and events in one statement. */
function beginning(turn: Turn, call: ToolCall, run: NewGeneration): Change {
  const { services, generation } = turn
  const { stepIndex: _step, ...facts } = factsOfCall(call)
  return {
    wakeAt: nowPlus(services.limits.leaseMs),
    starting: [call.id],
    calls: [startCall(call.id, inGeneration, { childId: run.id })],
    events: [
      callStarted(call, call.attempt + 1),
      childStarted({ ...facts, childId: run.id, agentId: run.agent.id }),
    ],
    also: insertChild(generation, call.id, run),
  }
}

function insertChild(parent: Generation, callId: string, run: NewGeneration): SQL[] {
  const { agent } = run
  const threadId = run.threadId ?? ownThreadId(run.id)
  const gates = gatesOf(parent.settings)
  // No run is freer than the one that asked for it.
  const settings = gates.length > 0 ? { ...run.settings, inheritedGates: gates } : run.settings
  const thread = sql`insert into threads (id, project_id, agent_id) select ${threadId}, g.project_id, ${agent.id} from g`
  const queued = generationQueued({ agentId: agent.id })
  const newRun = sql`(select g.project_id, ${run.id}::text as id, 1 as last_seq from g)`
  return [
    ...(run.threadId ? [] : [thread]),
    sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input,
        requested_by, requester, parent_id, parent_call_id, root_id, depth, last_seq, deadline_at, wake_at)
      select ${run.id}, g.project_id, ${agent.id}, ${agent.version}::int, ${threadId}, 'QUEUED', ${jsonb(settings)},
        ${jsonb(run.messages)}, g.requested_by, g.requester, g.id, ${callId}, ${parent.rootId ?? parent.id},
        ${parent.depth + 1}::int, 1, least(${ownDeadline(sql`g.id`, sql`g.deadline_at`)}, ${nowPlus(run.settings.timeoutMs)}), now() from g`,
    insertGenerationEvents([queued], newRun),
  ]
}

/** The run as it would start, or why it cannot. The arguments were checked when the call was proposed, and are again. */
async function prepareChild(
  { services, generation }: Turn,
  call: ToolCall,
): Promise<NewGeneration | ToolResult> {
  const callable = await proposedCallable(services, call)
  if (!callable) return goneResult()
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) return errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
  const principal = await principalById(services.db, call.requestedBy, services.clock.now(), call.requester)
  if (!principal)
    return errorResult(
      'forbidden',
      'The key that asked for this run is not valid any more; nothing was started.',
    )
  const ctx: Ctx = {
    ...services,
    principal: boundTo(call, principal),
    requestId: call.id,
    remoteAddress: null,
  }
  const input = inputOf(call, prepared.merged)
  if (input.idempotencyKey) return keyGiven
  try {
    const run = await prepareStart(ctx, input)
    return run.agent.projectId === generation.projectId
      ? run
      : errorResult('not_found', 'There is no such agent in the project of this run.')
  } catch (error) {
    if (error instanceof AppError) return refusalOf(error)
    throw error
  }
}

/**
 * Who asks for the run within. A key that is bound to an agent reaches the agents that this one was given to ask, and
 * no other: whoever saved the agent agreed to those, and the model chooses what it names to start-generation.
 */
function boundTo(call: ToolCall, principal: Principal): Principal {
  return principal.agentId !== null && call.kind === 'agent'
    ? { ...principal, agentId: call.toolId }
    : principal
}

const keyGiven = errorResult(
  'invalid_arguments',
  'arguments.idempotencyKey does not go with a run within a run: this call is made once by itself. Leave it out.',
)

/** The arguments of a platform tool are those of the operation; an agent that is called as a tool gets a message. */
function inputOf(call: ToolCall, merged: JsonObject): StartGenerationInput {
  if (call.kind !== 'agent' && isStartInput(merged)) return merged
  const { message, attachments = [] } = agentMessageOf(merged)
  return {
    agentId: call.toolId!,
    prompt: message,
    attachments: attachments.map(({ file_id: fileId }) => ({ fileId })),
  }
}

/** The schema of the action has checked the rest. */
function isStartInput(merged: JsonObject): merged is JsonObject & StartGenerationInput {
  return typeof merged['agentId'] === 'string'
}
