/** When the outcome of a call is known, and when nobody can know it (decision 15). Pure. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { asText, isJsonObject, type JsonObject } from '../../core/json.ts'
import { isIdempotent, type CallDefinition } from './tool.ts'

/** `unknown`: the call was sent, no final answer came, and it may not be repeated. It may have taken effect. */
export type Outcome = 'known' | 'unknown'

/** A call that has ended. */
export interface Finished {
  result: ToolResult
  outcome: Outcome
}

/** What the runner of a kind tells. */
export interface Sending {
  result: ToolResult
  /** It was sent, and no final answer came: it may have taken effect. */
  lost: boolean
}

/** An end about which there is no doubt: nothing was sent, or the answer came. */
export function known(result: ToolResult): Finished {
  return { result, outcome: 'known' }
}

/** A lost answer of an idempotent call is an error like any other: the call may be repeated. Of any other it is unknown. */
export function judged(definition: CallDefinition, { result, lost }: Sending): Finished {
  return lost && !isIdempotent(definition)
    ? { result: unknownResult(result), outcome: 'unknown' }
    : known(result)
}

/** The status of a call that has ended so. */
export function statusOf({ result, outcome }: Finished): 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN' {
  if (outcome === 'unknown') return 'UNKNOWN'
  return result.isError ? 'ERRORED' : 'SUCCEEDED'
}

/** What the model or caller is told when nobody can know whether the call took effect. Without a cause: we stopped. */
export function unknownResult(cause: ToolResult | null = null): ToolResult {
  const error = cause && (cause.structuredContent as { error?: JsonObject } | undefined)?.error
  if (!isJsonObject(error)) return unknown('The server stopped while this call was under way', {})
  const { code, message, ...facts } = error
  return unknown(`This call was sent, and no final answer came (${asText(message)})`, {
    ...facts,
    reason: code!,
  })
}

/** How often a call may be sent that loses its worker each time: it may be what brings the worker down. */
const maxLost = 5

/** Whether an idempotent call was sent so often without anybody hearing of its end that it is not sent again. */
export function isGivenUp({ attempts }: { attempts: readonly { endedAt?: string }[] }): boolean {
  return attempts.filter((attempt) => attempt.endedAt === undefined).length >= maxLost
}

/** What the model or caller is told of such a call. */
export function givenUpResult(): ToolResult {
  return errorResult(
    'too_many_attempts',
    `This call was sent ${maxLost} times, and each time the server stopped before it ended. It may have taken effect, ` +
      'and is not sent again.',
  )
}

function unknown(why: string, more: JsonObject): ToolResult {
  return errorResult(
    'outcome_unknown',
    `${why}, so its outcome is unknown: it may have taken effect. ` +
      'It was not repeated. Check the other side before you try again.',
    more,
  )
}
