/** What the APIs of OpenAI have in common: their error bodies, and the key of a request that may be repeated. */
import { invalidAt, type AppError } from '../../../core/errors.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { statusOf } from '../../http/replies.ts'

/** The body of an error. The first input that is wrong is `param`. */
export function openaiError(error: AppError): object {
  const { code, message, details } = error
  const status = statusOf(error)
  const named = status === 413 ? 'request_too_large' : code.toLowerCase()
  const param = details.issues?.[0]?.path.join('.') || null
  return { error: { message, type: typeOf(status), code: named, param } }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** The Idempotency-Key header, null without one. INVALID for an empty one, and beyond 200 characters. */
export function keyOf({ idempotencyKey: key }: AuthenticatedRequest): string | null {
  if (key !== null && (key.length === 0 || key.length > 200))
    throw invalidAt(['Idempotency-Key'], 'must have 1 to 200 characters')
  return key
}
