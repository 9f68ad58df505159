/** Rejects cross-origin browsers and DNS rebinding: validates Host and Origin. */
import { isAllowedOrigin, type OriginRules } from '../../../core/cookies.ts'
import { hostFault } from '../../../core/host-names.ts'

export interface GuardRules extends OriginRules {
  /** Host names that are served beside localhost and IP addresses; `*` allows every name. */
  allowedHosts: readonly string[]
}

/**
 * Why a request is refused, or null. A web page can make a browser send requests here, also under a host name that was
 * pointed at this machine. So Host must be one of ours, and Origin our own or allowed.
 */
export function refusalOf(
  host: string | undefined,
  origin: string | undefined,
  rules: GuardRules,
): string | null {
  const fault = hostFault(host, rules.allowedHosts)
  if (fault) return fault
  return isAllowedOrigin({ origin, host }, rules)
    ? null
    : 'Requests from this origin are not allowed. The operator can allow it with GATEHOUSE_CORS_ORIGINS.'
}
