/**
 * Runs an operation of Gatehouse in this process, with the requester's present rights and no others; gates are changed
 * only for a requester whose policy names that action.
 */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import { principalById, withoutGates, type Services, type Requester } from '../../access/index.ts'
import { notValidResult, type SendOutcome } from '../outcome.ts'

export interface PlatformRun {
  action: string
  args: JsonObject
  /** The requester: the id of a key or subject. A revoked or expired one may do nothing. */
  requestedBy: string
  /** The rights of a person with a token; null for a key. */
  requester: Requester | null
  /** The tool call's id; the audit records it as the request id. */
  callId: string
  trace?: TraceContext | undefined
  /** Time limit in milliseconds. */
  timeoutMs: number
  /** Called just before the operation starts; with false it does not start. */
  mayStart(): boolean
}

/**
 * Never throws: a refusal, invalid arguments and a timeout are results with `isError`. `lost` is true after a timeout,
 * an internal error and a fault of the database: what the operation wrote may have been committed.
 */
export async function runPlatformTool(services: Services, run: PlatformRun): Promise<SendOutcome> {
  const found = await principalById(services.db, run.requestedBy, services.clock.now(), run.requester)
  if (!found) return { result: notValidResult(), sent: false, lost: false }
  const principal = { ...found, policy: withoutGates(found.policy) }
  const ctx = { ...services, principal, requestId: run.callId, remoteAddress: null, trace: run.trace }
  if (!run.mayStart()) {
    const result = errorResult('withheld', 'The operation was withheld; nothing was run.')
    return { result, sent: false, lost: false }
  }
  try {
    return await within(run.timeoutMs, services.actions.run(ctx, run.action, run.args))
  } catch (error) {
    if (error instanceof AppError)
      return { result: refusalOf(error), sent: true, lost: error.code === 'UNAVAILABLE' }
    services.log.error({ err: error, callId: run.callId }, 'a platform action failed with an internal error')
    const result = errorResult('internal', 'An internal error occurred. It has been logged.')
    return { result, sent: true, lost: true }
  }
}

/** Turns the refusal of an operation into a tool result. */
export function refusalOf({ code, message, details }: AppError): ToolResult {
  const issues = details.issues?.map(({ path, message: fault }) => ({ path, message: fault }))
  return errorResult(code.toLowerCase(), message, issues ? { issues } : {})
}

/** An operation cannot be aborted: after the timeout it continues, and the caller gets a timeout error. */
async function within(timeoutMs: number, running: Promise<ToolResult>): Promise<SendOutcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<SendOutcome>((resolve) => {
    const result = errorResult(
      'timeout',
      `No result within ${timeoutMs} ms. The operation may still take effect.`,
    )
    timer = setTimeout(() => resolve({ result, sent: true, lost: true }), timeoutMs)
  })
  const done = running.then((result) => ({ result, sent: true, lost: false }))
  done.catch(() => {})
  return Promise.race([done, late]).finally(() => clearTimeout(timer))
}
