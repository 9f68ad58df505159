/** Checks the Host header against DNS rebinding: a web page can make its own name resolve to this machine. */
import { isIP } from 'node:net'

/**
 * Why a request with this Host header is refused, or null. Accepted are `localhost` and its subdomains, IP addresses
 * (DNS rebinding needs a name), and the allowed names; `*` allows every name.
 */
export function hostFault(host: string | undefined, allowed: readonly string[]): string | null {
  const name = hostnameOf(`http://${host ?? ''}`)
  return name !== null && isServed(name, allowed)
    ? null
    : 'This host name is not served here. The operator can add it with GATEHOUSE_ALLOWED_HOSTS.'
}

function isServed(name: string, allowed: readonly string[]): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true
  return allowed.some((one) => one === '*' || one.toLowerCase() === name)
}

function hostnameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() || null : null
}

/**
 * A name or an address, as URLs write it (small letters, Punycode, brackets around IPv6). Null for anything else, as with a scheme,
 * a port, a path or a `*`.
 */
export function hostNameOf(text: string): string | null {
  const host = isIP(text) === 6 ? `[${text}]` : text
  return /^(\[[\da-f:.]+\]|[^\s:/?#@*%,[\]\\.][^\s:/?#@*%,[\]\\]*)$/i.test(host)
    ? hostnameOf(`http://${host}`)
    : null
}

/** `host:port` with the host as URLs write it, without a final dot; null when it is none. */
export function hostPortOf(text: string): string | null {
  const [, host, port] = /^(\[.+\]|[^:]+):(\d{1,5})$/.exec(text.trim()) ?? []
  const name = host && Number(port) <= 65_535 ? hostNameOf(host) : null
  return name && `${name.replace(/\.$/, '')}:${Number(port)}`
}

/** Whether a name or address, without brackets, is of this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')
