/** Runs that did not complete: how a client is told. */
import type { Generation } from '../../../domain/generations/index.ts'
import { failureText } from '../segments/texts.ts'

export interface Failure {
  status: number
  body: { error: { message: string; type: string; code: string; param: null } }
}

/** The status and code of a failure; clients send a request again by themselves when waiting may help. */
const failures: Record<string, [status: number, type: string, code: string]> = {
  MODEL_RATE_LIMITED: [429, 'rate_limit_error', 'rate_limit_exceeded'],
  MODEL_BAD_REQUEST: [400, 'invalid_request_error', 'invalid_prompt'],
  CONTEXT_OVERFLOW: [400, 'invalid_request_error', 'context_length_exceeded'],
}
const serverError: [number, string, string] = [500, 'server_error', 'server_error']

/** How the end of the run is told as an error; null for one that completed. */
export function failureOf(ended: Generation): Failure | null {
  const { storedStatus, error } = ended
  if (storedStatus === 'COMPLETED') return null
  // Nobody sends a 400 again by itself: somebody has cancelled the run, or its time is over.
  const [status, type, code] =
    storedStatus === 'FAILED'
      ? (failures[error?.code ?? ''] ?? serverError)
      : [400, 'invalid_request_error', `run_${storedStatus.toLowerCase()}`]
  const message = storedStatus === 'CANCELLED' ? 'The run was cancelled.' : failureText(ended)
  return { status, body: { error: { message, type, code, param: null } } }
}
