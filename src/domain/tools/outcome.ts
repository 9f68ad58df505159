/** When the outcome of a call is known, and when it cannot be known (decision 15). Pure. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { asText, isJsonObject, type JsonObject } from '../../core/json.ts'
import { isIdempotent, type CallDefinition } from './callable.ts'

/** `unknown`: the call was sent, no final response arrived, and it may not be repeated. It may have taken effect. */
export type Outcome = 'known' | 'unknown'

/** A call that has ended. */
export interface FinishedCall {
  result: ToolResult
  outcome: Outcome
  /** No attempt of the call was sent. */
  isUnsent?: true
  /** The person who must log in at the server of the tool before it can run; no attempt of the call was acted on. */
  loginOf?: string
  /** What the call ends with after all, where its outcome is unknown and may still become known. Never rejects. */
  late?: Promise<FinishedCall>
}

/** What the executor of a tool kind returns. */
export interface SendOutcome {
  result: ToolResult
  /** False only when the call certainly had no effect: nothing of it was sent, or none of it was acted on. */
  sent: boolean
  /** The call was sent and no final response arrived: it may have taken effect. */
  lost: boolean
  /** The person who must log in at the server of the tool before the call can run. */
  loginOf?: string
  /** The same once more, when the final response may still arrive. Never rejects. */
  late?: Promise<SendOutcome>
}

/** A call with a certain outcome: nothing was sent, or the response arrived. */
export function finish(result: ToolResult): FinishedCall {
  return { result, outcome: 'known' }
}

/**
 * A lost response is an ordinary error for an idempotent call, which may be repeated; for any other it is unknown. So is a
 * call that was not sent although an earlier attempt may have run (`wasSent`).
 */
export function finishedOf(
  definition: CallDefinition,
  { result, sent, lost, loginOf }: SendOutcome,
  wasSent: boolean,
): FinishedCall {
  return (lost || (wasSent && !sent)) && !isIdempotent(definition)
    ? { result: unknownResult(result), outcome: 'unknown' }
    : { ...finish(result), ...(sent || wasSent ? {} : { isUnsent: true, ...(loginOf && { loginOf }) }) }
}

/** The outcome of a call of which no attempt was sent. */
export function finishUnsent(result: ToolResult): FinishedCall {
  return { ...finish(result), isUnsent: true }
}

/** What is told of a call whose outcome the database refuses to store. */
export function notStored({ isUnsent }: FinishedCall): FinishedCall {
  if (isUnsent)
    return finishUnsent(
      errorResult('not_stored', 'This call was not sent, and the database refused to store the reason.'),
    )
  const why = 'This call was sent and answered, and the database refused to store the answer'
  return { result: unknown(why, { reason: notStoredReason }), outcome: 'unknown' }
}

const notStoredReason = 'not_stored'

/** The status of a finished call. */
export function statusOf({ result, outcome }: FinishedCall): 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN' {
  if (outcome === 'unknown') return 'UNKNOWN'
  return result.isError ? 'ERRORED' : 'SUCCEEDED'
}

/** The result of a call whose outcome cannot be known. Without a cause: the process that ran it stopped. */
export function unknownResult(cause: ToolResult | null = null): ToolResult {
  const error = cause && (cause.structuredContent as { error?: JsonObject } | undefined)?.error
  if (!isJsonObject(error)) return unknown('The server stopped while this call was running', {})
  const { code, message, ...facts } = error
  return unknown(`This call was sent, and no final response arrived (${asText(message)})`, {
    ...facts,
    reason: code!,
  })
}

/** Why the outcome of a call with this result, made by unknownResult, cannot be known. */
export function unknownReasonOf({
  structuredContent,
}: ToolResult): 'NO_RESPONSE' | 'NOT_STORED' | 'WORKER_LOST' {
  const error = (structuredContent as { error?: JsonObject } | undefined)?.error
  if (error?.['reason'] === notStoredReason) return 'NOT_STORED'
  return error?.['reason'] === undefined ? 'WORKER_LOST' : 'NO_RESPONSE'
}

/** How often an idempotent call is sent whose worker stops each time: the call itself may stop the worker. */
const maxLost = 5

/** Whether a call was sent this often without a recorded end, so that it is not sent again. */
export function isGivenUp({ attempts }: { attempts: readonly { endedAt?: string | undefined }[] }): boolean {
  return attempts.filter((attempt) => attempt.endedAt === undefined).length >= maxLost
}

/** The result of such a call. */
export function givenUpResult(): ToolResult {
  return errorResult(
    'too_many_attempts',
    `This call was tried ${maxLost} times, and each time the server stopped before it ended. ` +
      'It may have taken effect, and is not sent again.',
  )
}

function unknown(why: string, more: JsonObject): ToolResult {
  return errorResult(
    'outcome_unknown',
    `${why}, so its outcome is unknown: it may have taken effect. ` +
      'It was not repeated. Check the other system before you try again.',
    more,
  )
}

/** The result of a call whose requester is no longer valid. */
export function notValidResult(): ToolResult {
  return errorResult(
    'forbidden',
    'The key that requested this call, or the person for whom it was requested, is no longer valid; the call was not run.',
  )
}
