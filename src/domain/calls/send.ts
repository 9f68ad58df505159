/** Sending a call for a caller who waits: it is settled, or parked while its upstream wants to know something. */
import { errorResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import type { Ctx } from '../access/index.ts'
import {
  goneResult,
  isIdempotent,
  prepareCall,
  proposedCallable,
  runToolFor,
  known,
  WithheldError,
  type Callable,
  type Caller,
  type Run,
  type ToolCall,
} from '../tools/index.ts'
import type { Order } from './order.ts'
import type { Placed } from './place.ts'
import { notSent } from './late.ts'
import { askBack, goOnAsked } from './row.ts'
import { settleSurely } from './surely.ts'

/**
 * Sends a call that was just placed. When its caller asks for the end meanwhile, an idempotent one is cut off; what may
 * take effect is heard out, because its outcome must be known. Answers the call as it is then: settled, or as
 * AWAITING_CLIENT with what its upstream wants to know, which only a `caller` can be asked.
 */
export function runPlaced(ctx: Ctx, order: Order, { call, lease }: Placed): Promise<ToolCall> {
  const { tool, prepared, attachments, caller = null } = order
  return send(ctx, tool, call, { merged: prepared.merged, attachments }, caller, lease!)
}

/**
 * Gives the caller's answers to what the upstream of a call wants to know, and goes on when none is missing. Answers
 * null when some are missing still, or somebody else has given them: nothing runs twice. Keys that were not asked for
 * are ignored.
 */
export async function answerCall(
  ctx: Ctx,
  call: ToolCall,
  answers: JsonObject,
  caller: Caller,
): Promise<{ running: Promise<ToolCall> } | null> {
  const callable = await proposedCallable(ctx, call)
  const gone = await goOnAsked(ctx, call, answers)
  if (!gone) return null
  const { call: taken, asked, lease } = gone
  const prepared = callable ? prepareCall(callable, taken.arguments) : null
  if (!callable || !prepared?.ok) {
    const result = callable
      ? errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
      : goneResult()
    const running = settleSurely(ctx, lease.held, taken, known(result)).finally(lease.end)
    return { running }
  }
  const relay = {
    clientCapabilities: caller.relay?.clientCapabilities ?? {},
    ...caller.relay,
    inputResponses: theirKeys(asked.answers, asked.round),
    ...(asked.requestState === null ? {} : { requestState: asked.requestState }),
  }
  const { merged } = prepared
  const what = { merged, attachments: taken.attachments }
  return { running: send(ctx, callable, taken, what, { ...caller, relay }, lease) }
}

async function send(
  ctx: Ctx,
  tool: Callable,
  call: ToolCall,
  what: { merged: JsonObject; attachments: ToolCall['attachments'] | Order['attachments'] },
  caller: Caller | null,
  lease: Lease,
): Promise<ToolCall> {
  const abort = new AbortController()
  const stop = ctx.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'cancel' && hint.id === call.id && isIdempotent(tool))
      abort.abort()
  })
  try {
    const { projectId, id: callId, requestedBy, requester } = call
    const { signal } = abort
    const who = { requestedBy, requester }
    const run = { ...what, ...who, projectId, callable: tool, callId, signal, mayStart: lease.isSure }
    const ran = await sendHeld(ctx, lease, run, caller)
    if ('result' in ran) return await settleSurely(ctx, lease.held, call, ran)
    const round = (call.asked?.round ?? 0) + 1
    const { inputRequests, requestState } = ran.inputRequired
    const asked = { inputRequests: ourKeys(inputRequests, round), requestState, answers: {}, round }
    return await whenAnswered(() => askBack(ctx, lease.held, call, asked), ctx.limits.leaseMs, true)
  } finally {
    stop()
    lease.end()
  }
}

/** Sends while the row is surely held. What the database refuses or the lease forbids was surely not sent. */
async function sendHeld(ctx: Ctx, lease: Lease, run: Run, caller: Caller | null) {
  try {
    await lease.confirm()
    return await runToolFor(ctx, run, caller)
  } catch (error) {
    if (error instanceof LeaseLostError || error instanceof WithheldError || isStorageError(error))
      return notSent
    throw error
  }
}

/** Keys are never used again within a call, whatever the upstream does: those of later rounds say which. */
function ourKeys(requests: JsonObject, round: number): JsonObject {
  if (round === 1) return requests
  return Object.fromEntries(Object.entries(requests).map(([key, value]) => [`${key}#${round}`, value]))
}

function theirKeys(answers: JsonObject, round: number): JsonObject {
  if (round === 1) return answers
  const end = `#${round}`
  return Object.fromEntries(Object.entries(answers).map(([key, value]) => [key.slice(0, -end.length), value]))
}
