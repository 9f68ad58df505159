/**
 * What requests say beside their input: how long they wait, that an equal one runs already, and fields that change
 * nothing.
 */
import { invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { answerDelivered, type Generation } from '../../../domain/generations/index.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import type { JsonObject } from '../../../core/json.ts'

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

/** The most names in the header and the log. */
const mostNamed = 20
const fieldName = /^[a-z][\w-]{0,63}$/i

/** The fields of a body that an API does not know. INVALID for what is no name of a field. */
export function unknownFields(body: JsonObject, known: Record<string, unknown>): string[] {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(known, name))
  const wrong = unknown.find((name) => !fieldName.test(name))
  if (wrong !== undefined) throw invalidAt(['body'], 'has a member whose name is no name of a field')
  return unknown
}

/** The header that names what was ignored, and a line in the log; no header when that is nothing. */
export function ignoredHeaders(ctx: Ctx, ignored: readonly string[]): Record<string, string> {
  if (ignored.length === 0) return {}
  const named = ignored.slice(0, mostNamed)
  ctx.log.info({ ignored: named }, 'fields of a request were ignored')
  return { 'gatehouse-ignored': named.join(', ') }
}

/** Below the 60 seconds after which many proxies give up. */
const defaultMs = 50_000
/** The longest wait that a client may prefer. */
export const maxWaitSeconds = 300

/** Milliseconds. INVALID for a wait that is not a whole number of seconds up to 300. */
export function patienceOf({ headers }: AuthenticatedRequest, unless = defaultMs): number {
  const wait = /(?:^|[,;])\s*wait\s*=\s*"?([^",;\s]*)/i.exec(String(headers['prefer'] ?? ''))?.[1]
  if (wait === undefined) return unless
  if (!/^\d{1,3}$/.test(wait) || Number(wait) > maxWaitSeconds)
    throw invalidAt(['Prefer'], `wait must be a whole number of seconds from 0 to ${maxWaitSeconds}`)
  return Number(wait) * 1000
}
