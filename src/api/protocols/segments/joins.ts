/** Requests without an idempotency key that join the run of an equal one, for APIs whose clients send a request again. */
import { invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { answerDelivered, type Generation } from '../../../domain/generations/index.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'

/** Whether the request joins the run of an equal one: always, but with `Gatehouse-Join: off`. INVALID for other values. */
export function joinsOf({ headers }: AuthenticatedRequest): boolean {
  const value = headers['gatehouse-join'] ?? 'on'
  if (value !== 'on' && value !== 'off') throw invalidAt(['Gatehouse-Join'], 'must be on or off')
  return value === 'on'
}

/**
 * Notes that the client has its answer; await it when all is sent but the end of the response, so that the client's next
 * request finds it noted; when the client disconnects before that end, it is taken back. Nothing depends on it but what an
 * equal request finds: a failure is logged.
 */
export async function noteDelivered(
  ctx: Ctx,
  generation: Generation,
  disconnected: AbortSignal,
): Promise<void> {
  if (ctx.limits.joinWindowMs === 0) return
  try {
    await answerDelivered(ctx, generation, disconnected)
  } catch (error) {
    ctx.log.warn(
      { err: error, generationId: generation.id },
      'an answer was not noted as delivered: an equal request joins its run until the window is over',
    )
  }
}
