/** Runs one of our own operations in this process, with the rights of whoever asked for the call and never more. */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { principalById, type House } from '../../access/index.ts'

export interface PlatformRun {
  action: string
  args: JsonObject
  /** Who asked: the id of a key or subject. One that was revoked or has expired may do nothing. */
  requestedBy: string
  /** The tool call's id; it stands in the audit as the request. */
  callId: string
  /** Milliseconds to wait for the answer. */
  timeoutMs: number
}

/** Never throws: a refusal, a fault of the arguments and a timeout are results with `isError`. */
export async function runPlatformTool(house: House, run: PlatformRun): Promise<ToolResult> {
  const principal = await principalById(house.db, run.requestedBy, house.clock.now())
  if (!principal)
    return errorResult('forbidden', 'The key that asked for this call is not valid any more; it was not run.')
  const ctx = { ...house, principal, requestId: run.callId, remoteAddress: null }
  try {
    return await within(run.timeoutMs, house.actions.run(ctx, run.action, run.args))
  } catch (error) {
    if (error instanceof AppError) return refusalOf(error)
    house.log.error({ err: error, callId: run.callId }, 'a platform action failed by a fault of the server')
    return errorResult('internal', 'The server made an unexpected mistake. It has been logged.')
  }
}

/** What a refusal of one of our own operations is as the result of a call. */
export function refusalOf({ code, message, details }: AppError): ToolResult {
  const issues = details.issues?.map(({ path, message: fault }) => ({ path, message: fault }))
  return errorResult(code.toLowerCase(), message, issues ? { issues } : {})
}

/** An operation cannot be cut off: after the time it is left to itself, and the caller is told so. */
async function within(timeoutMs: number, running: Promise<ToolResult>): Promise<ToolResult> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ToolResult>((resolve) => {
    timer = setTimeout(
      () => resolve(errorResult('timeout', `No answer within ${timeoutMs} ms. It may still take effect.`)),
      timeoutMs,
    )
  })
  running.catch(() => {})
  return Promise.race([running, late]).finally(() => clearTimeout(timer))
}
