/** How long a request is held while something runs or a person is asked: `Prefer: wait=N` of RFC 7240. */
import { invalidAt } from '../../../core/errors.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'

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
