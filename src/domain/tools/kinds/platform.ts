/** Runs one of our own operations in this process, with the rights of whoever asked for the call and never more. */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { principalById, type Services, type Requester } from '../../access/index.ts'
import type { Sending } from '../outcome.ts'

export interface PlatformRun {
  action: string
  args: JsonObject
  /** Who asked: the id of a key or subject. One that was revoked or has expired may do nothing. */
  requestedBy: string
  /** The rights of a person with a token; null for a key. */
  requester: Requester | null
  /** The tool call's id; it stands in the audit as the request. */
  callId: string
  /** Milliseconds to wait for the answer. */
  timeoutMs: number
  /** Asked when the operation is about to begin; with false it does not. */
  mayStart(): boolean
}

/**
 * Never throws: a refusal, a fault of the arguments and a timeout are results with `isError`. `lost` after a timeout and
 * a fault of our own: what the operation wrote may stand.
 */
export async function runPlatformTool(services: Services, run: PlatformRun): Promise<Sending> {
  const principal = await principalById(services.db, run.requestedBy, services.clock.now(), run.requester)
  if (!principal)
    return {
      result: errorResult(
        'forbidden',
        'The key that asked for this call is not valid any more; it was not run.',
      ),
      lost: false,
    }
  const ctx = { ...services, principal, requestId: run.callId, remoteAddress: null }
  if (!run.mayStart())
    return { result: errorResult('withheld', 'The operation was withheld; nothing was run.'), lost: false }
  try {
    return await within(run.timeoutMs, services.actions.run(ctx, run.action, run.args))
  } catch (error) {
    if (error instanceof AppError) return { result: refusalOf(error), lost: false }
    services.log.error(
      { err: error, callId: run.callId },
      'a platform action failed by a fault of the server',
    )
    const result = errorResult('internal', 'The server made an unexpected mistake. It has been logged.')
    return { result, lost: true }
  }
}

/** What a refusal of one of our own operations is as the result of a call. */
export function refusalOf({ code, message, details }: AppError): ToolResult {
  const issues = details.issues?.map(({ path, message: fault }) => ({ path, message: fault }))
  return errorResult(code.toLowerCase(), message, issues ? { issues } : {})
}

/** An operation cannot be cut off: after the time it is left to itself, and the caller is told so. */
async function within(timeoutMs: number, running: Promise<ToolResult>): Promise<Sending> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Sending>((resolve) => {
    const result = errorResult('timeout', `No answer within ${timeoutMs} ms. It may still take effect.`)
    timer = setTimeout(() => resolve({ result, lost: true }), timeoutMs)
  })
  const done = running.then((result) => ({ result, lost: false }))
  done.catch(() => {})
  return Promise.race([done, late]).finally(() => clearTimeout(timer))
}
