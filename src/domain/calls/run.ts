/**
 * Runs a call for a caller who waits, until it is settled, or parked while its upstream requires input from the
 * caller.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Lease } from '../../store/work/leases.ts'
import type { Ctx } from '../access/index.ts'
import { loadCall, type ToolCall } from '../tool-calls/index.ts'
import type { CallerChannel } from '../tools/index.ts'
import { continueCall, parkForCaller, responsesOf } from './ask-caller.ts'
import type { CreatedCall } from './create.ts'
import { directStore } from './direct-store.ts'
import { execute } from './execute.ts'
import type { Execution } from './execution.ts'
import type { CallRequest } from './request.ts'

/**
 * Sends a call that this process has just created. When its caller cancels meanwhile, an idempotent call is aborted;
 * one that may have effects is waited for, because its outcome must be known. Returns the call as it is then:
 * settled, or AWAITING_CLIENT with the upstream's questions, which only happens with a `caller`.
 */
export function runCreated(
  ctx: Ctx,
  { tool: callable, prepared: { merged }, caller = null }: CallRequest,
  { call, lease, begunAt, upstream }: CreatedCall,
): Promise<ToolCall> {
  return run(ctx, call, lease!, { caller, begunAt, prepared: { callable, merged, upstream } })
}

/**
 * Passes the caller's responses on to the upstream of a call, and continues the call when none is missing. Returns
 * null when some are missing or another request has given them: nothing runs twice. Ignores keys that were not asked
 * for.
 */
export async function answerCall(
  ctx: Ctx,
  call: ToolCall,
  answers: JsonObject,
  caller: CallerChannel,
): Promise<{ running: Promise<ToolCall> } | null> {
  const continued = await continueCall(ctx, call, answers)
  if (!continued) return null
  const { asked, lease } = continued
  const relay = {
    clientCapabilities: caller.relay?.clientCapabilities ?? {},
    ...caller.relay,
    inputResponses: responsesOf(asked),
    ...(asked.requestState === null ? {} : { requestState: asked.requestState }),
  }
  return {
    running: run(ctx, continued.call, lease, { caller: { ...caller, relay }, begunAt: continued.begunAt }),
  }
}

async function run(
  ctx: Ctx,
  call: ToolCall,
  lease: Lease,
  more: Pick<Execution<ToolCall>, 'prepared' | 'begunAt'> & { caller: CallerChannel | null },
): Promise<ToolCall> {
  const cancelled = new AbortController()
  const unsubscribe = ctx.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'cancel' && hint.id === call.id) cancelled.abort()
  })
  try {
    const settled = await execute(ctx, call, {
      store: {
        ...directStore(ctx, lease),
        askCaller: (asking, required) => parkForCaller(ctx, lease.held, asking, required),
      },
      lease,
      signal: cancelled.signal,
      isFresh: true,
      trace: { parent: ctx.trace },
      gates: [],
      ...more,
      isLeftToNext: () => false,
    })
    return settled ?? (await loadCall(ctx.db, call.id))
  } finally {
    unsubscribe()
    lease.end()
  }
}
