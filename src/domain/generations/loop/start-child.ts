/**
 * Starts the child run that a call of an agent waits for. Run and call are written in one commit, so a crash neither
 * loses nor duplicates the run.
 */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { generations, threads } from '../../../store/db/tables/generations.ts'
import { insertSelect } from '../../../store/db/rows.ts'
import { lockOwners } from '../../../store/work/owner.ts'
import { principalById, type Ctx, type Principal } from '../../access/index.ts'
import { gatesOf } from '../../agents/index.ts'
import { childStarted, generationQueued, insertGenerationEvents } from '../../events/index.ts'
import { goneResult, prepareCall, proposedCallable, refusalOf, agentMessageOf } from '../../tools/index.ts'
import { callStarted, factsOfCall, inGeneration, startCall, type ToolCall } from '../../tool-calls/index.ts'
import { ownDeadline, nestingLimits } from '../nesting/deadline.ts'
import { commit, type Change } from '../transaction/commit.ts'
import { ownThreadId } from '../generation.ts'
import { outcomeOf, settleCall } from '../transaction/commit-with-outage-retry.ts'
import { searchOf, type NewGeneration } from '../insert.ts'
import { prepareStart, type StartGenerationInput } from '../start.ts'
import { publishCommit, type Turn } from '../transaction/turn.ts'

/**
 * Starts the child run for a PROPOSED or APPROVED call of an agent, with the rights of this run's requester. The call
 * is EXECUTING from then on, held by no worker: the end of the child run settles it. If the run cannot be started,
 * the model gets an error result. After a cancel nothing is started.
 */
export async function startChild(turn: Turn, call: ToolCall): Promise<void> {
  if (turn.signal.aborted) return
  const { services, held, generation } = turn
  const made = await prepareChild(turn, call)
  if ('content' in made) return settleCall(turn, call, made, 'ERRORED')
  const rootId = generation.rootId ?? generation.id
  const done = await atomically(services.db, async (tx) => {
    // Locks the root too: it counts its descendants, and its log gets a copy of the events.
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
  `A generation can have at most ${nestingLimits.descendants} child runs in all. Continue without another.`,
)

/** Call, run, thread and events in one statement. */
function beginning(turn: Turn, call: ToolCall, run: NewGeneration): Change {
  const { services } = turn
  const { stepIndex: _step, ...facts } = factsOfCall(call)
  return {
    wakeAt: nowPlus(services.limits.leaseMs),
    starting: [call.id],
    calls: [startCall(call.id, inGeneration, { childId: run.id })],
    events: [
      callStarted(call, call.attempt + 1),
      childStarted({ ...facts, childId: run.id, agentId: run.agent.id }),
    ],
    also: insertChild(turn, call.id, run),
  }
}

function insertChild({ held, generation: parent }: Turn, callId: string, run: NewGeneration): SQL[] {
  const { agent } = run
  const threadId = run.threadId ?? ownThreadId(run.id)
  const gates = gatesOf(parent.settings)
  // A child run is subject to every gate of its parent.
  const settings = gates.length > 0 ? { ...run.settings, inheritedGates: gates } : run.settings
  const thread = insertSelect(
    threads,
    { id: threadId, projectId: sql`g.project_id`, agentId: agent.id, createdBy: sql`g.requested_by` },
    sql`g`,
  )
  const deadline = sql`least(
    ${ownDeadline(sql`g.id`, sql`g.deadline_at`)},
    ${nowPlus(run.settings.timeoutMs)}
  )`
  const generation = insertSelect(
    generations,
    {
      id: run.id,
      projectId: sql`g.project_id`,
      agentId: agent.id,
      agentVersion: agent.version,
      threadId,
      status: 'QUEUED',
      settings,
      input: run.messages,
      requestedBy: sql`g.requested_by`,
      requester: sql`g.requester`,
      trace: held.activation?.trace ?? null,
      parentId: sql`g.id`,
      parentCallId: callId,
      rootId: parent.rootId ?? parent.id,
      depth: parent.depth + 1,
      lastSeq: 1,
      deadlineAt: deadline,
      wakeAt: sql`now()`,
      search: searchOf(run),
    },
    sql`g`,
  )
  const queued = generationQueued({ agentId: agent.id })
  const newRun = sql`(select g.project_id, g.requested_by, ${run.id}::text as id, 1 as last_seq from g)`
  return [...(run.threadId ? [] : [thread]), generation, insertGenerationEvents([queued], newRun)]
}

/**
 * The child run to start, or the error result. The arguments were validated when the call was proposed, and are
 * validated again.
 */
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
 * The principal of the child run. A key that is bound to an agent reaches only the agents that this agent may ask:
 * those were agreed to when the agent was saved, while the model chooses what it passes to start-generation.
 */
function boundTo(call: ToolCall, principal: Principal): Principal {
  return principal.agentId !== null && call.kind === 'agent'
    ? { ...principal, agentId: call.toolId }
    : principal
}

const keyGiven = errorResult(
  'invalid_arguments',
  'arguments.idempotencyKey cannot be used for a child run, because the call itself is made only once. Leave it out.',
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
