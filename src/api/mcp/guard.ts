/** Who may knock at all: browsers of other sites and names that lead here by a trick are turned away. */
import { isIP } from 'node:net'

export interface GuardRules {
  /** Names in the Host header that are served beside this machine's own and plain addresses; `*` serves every name. */
  allowedHosts: readonly string[]
  /** Origins of browsers that may call beside the server's own. */
  corsOrigins: readonly string[]
}

/**
 * Why a request is refused, or null. A page on another site can make a browser send requests here, also under a name
 * that it has pointed at this machine (DNS rebinding): so Host must be a name of ours, and Origin our own or allowed.
 */
export function refusalOf(
  host: string | undefined,
  origin: string | undefined,
  rules: GuardRules,
): string | null {
  const name = hostnameOf(`http://${host ?? ''}`)
  if (name === null || !isServed(name, rules.allowedHosts))
    return 'This host name is not served here. The operator can add it with GATEHOUSE_ALLOWED_HOSTS.'
  if (origin === undefined || rules.corsOrigins.includes(origin)) return null
  return URL.canParse(origin) && new URL(origin).host === host
    ? null
    : 'Requests of this origin are not served. The operator can add it with GATEHOUSE_CORS_ORIGINS.'
}

function isServed(name: string, allowed: readonly string[]): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  // Nobody can point an address somewhere else.
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true
  return allowed.some((one) => one === '*' || one.toLowerCase() === name)
}

function hostnameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() || null : null
}
