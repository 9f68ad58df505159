/** Sending a call for a caller who waits: it is settled, or parked while its upstream wants to know something. */
import { errorResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Ctx } from '../access/index.ts'
import {
  goneResult,
  isIdempotent,
  prepareCall,
  proposedCallable,
  runToolFor,
  timeoutOf,
  type Callable,
  type Caller,
  type ToolCall,
} from '../tools/index.ts'
import type { Order } from './order.ts'
import type { Placed } from './place.ts'
import { askBack, goOnAsked, settle } from './row.ts'

/**
 * Sends a call that was just placed. When its caller asks for the end meanwhile, an idempotent one is cut off; what may
 * take effect is heard out, because its outcome must be known. Answers the call as it is then: settled, or as
 * AWAITING_CLIENT with what its upstream wants to know, which only a `caller` can be asked.
 */
export function runPlaced(ctx: Ctx, order: Order, { call }: Placed): Promise<ToolCall> {
  const { tool, prepared, attachments, caller = null } = order
  return send(ctx, tool, call, { merged: prepared.merged, attachments }, caller, 0)
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
  const gone = await goOnAsked(ctx, call, answers, callable ? timeoutOf(ctx, callable) : 0)
  if (!gone) return null
  const { call: taken, asked, epoch } = gone
  const prepared = callable ? prepareCall(callable, taken.arguments) : null
  if (!callable || !prepared?.ok) {
    const result = callable
      ? errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
      : goneResult()
    return { running: settle(ctx, { id: taken.id, epoch }, taken, result) }
  }
  const relay = {
    clientCapabilities: caller.relay?.clientCapabilities ?? {},
    ...caller.relay,
    inputResponses: theirKeys(asked.answers, asked.round),
    ...(asked.requestState === null ? {} : { requestState: asked.requestState }),
  }
  const { merged } = prepared
  const what = { merged, attachments: taken.attachments }
  return { running: send(ctx, callable, taken, what, { ...caller, relay }, epoch) }
}

async function send(
  ctx: Ctx,
  tool: Callable,
  call: ToolCall,
  what: { merged: JsonObject; attachments: ToolCall['attachments'] | Order['attachments'] },
  caller: Caller | null,
  epoch: number,
): Promise<ToolCall> {
  const abort = new AbortController()
  const stop = ctx.bell.listen((hint) => {
    if (hint.kind === 'signal' && hint.name === 'cancel' && hint.id === call.id && isIdempotent(tool))
      abort.abort()
  })
  try {
    const { projectId, id: callId, requestedBy } = call
    const run = { ...what, projectId, callable: tool, callId, requestedBy, signal: abort.signal }
    const ran = await runToolFor(ctx, run, caller)
    const held = { id: call.id, epoch }
    if ('result' in ran) return await settle(ctx, held, call, ran.result)
    const round = (call.asked?.round ?? 0) + 1
    const { inputRequests, requestState } = ran.inputRequired
    const asked = { inputRequests: ourKeys(inputRequests, round), requestState, answers: {}, round }
    return await askBack(ctx, held, call, asked)
  } finally {
    stop()
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
