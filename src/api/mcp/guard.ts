/** Who may knock at all: browsers of other sites and names that lead here by a trick are turned away. */
import { hostFault } from '../../core/host-names.ts'

export interface GuardRules {
  /** Names in the Host header that are served beside this machine's own and plain addresses; `*` serves every name. */
  allowedHosts: readonly string[]
  /** Origins of browsers that may call beside the server's own. */
  corsOrigins: readonly string[]
}

/**
 * Why a request is refused, or null. A page on another site can make a browser send requests here, also under a name
 * that it has pointed at this machine: so Host must be a name of ours, and Origin our own or allowed.
 */
export function refusalOf(
  host: string | undefined,
  origin: string | undefined,
  rules: GuardRules,
): string | null {
  const fault = hostFault(host, rules.allowedHosts)
  if (fault) return fault
  if (origin === undefined || rules.corsOrigins.includes(origin)) return null
  return URL.canParse(origin) && new URL(origin).host === host
    ? null
    : 'Requests of this origin are not served. The operator can add it with GATEHOUSE_CORS_ORIGINS.'
}
