/** The rules for outgoing requests: which URLs and which addresses are allowed. Pure; resolves no names. */
import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'
import { hostPortOf } from '../../core/addresses.ts'
import { writeJson } from '../../core/json.ts'
import { EgressError } from './egress-error.ts'

/** IPv4 ranges that are not public (RFC 6890 and the IANA special-purpose registry). */
const refusedIPv4 = [
  '0.0.0.0/8', // this network, unspecified
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // looks public, but is the host of every Azure guest
  '169.254.0.0/16', // link-local, metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map((range) => ipaddr.IPv4.parseCIDR(range))

/**
 * Of IPv6, only global unicast is public. That excludes loopback, unspecified, link-local, ULA,
 * multicast, IPv4-mapped and -compatible, NAT64 (both prefixes), discard-only and whatever is assigned later.
 */
const globalIPv6 = ipaddr.IPv6.parseCIDR('2000::/3')
const refusedIPv6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
].map((range) => ipaddr.IPv6.parseCIDR(range))

/** Whether this text is an address of the public internet in its canonical spelling. */
export function isPublicAddress(address: string): boolean {
  // A zone ("fe80::1%eth0") names an interface of this machine: never public.
  if (address.includes('%')) return false
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const parsed = ipaddr.IPv4.parse(address)
    return !refusedIPv4.some((range) => parsed.match(range))
  }
  if (!ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalIPv6) && !refusedIPv6.some((range) => parsed.match(range))
}

export interface EgressPolicy {
  /** Allow private, loopback and link-local targets. For development only. */
  allowPrivate: boolean
  /** `host:port` pairs that are allowed although their address is private (the demo upstream, a sidecar). */
  allowList: string[]
}

export interface Guard {
  /** The URL, or an EgressError (BAD_URL, BLOCKED_ADDRESS) when it can be refused by its text alone. */
  accept(url: string | URL): URL
  /** Whether a connection to `address` may be made for this host and port. */
  allows(host: string, port: string, address: string): boolean
}

/** Throws an Error when an entry of the allow-list is not `host:port`. */
export function createGuard(policy: EgressPolicy): Guard {
  const listed = new Set(policy.allowList.map(parseEntry))
  const isOpen = (host: string, port: string) =>
    policy.allowPrivate || listed.has(`${withoutDot(host.toLowerCase())}:${port}`)
  return {
    accept(text) {
      const url = parseUrl(text)
      const host = bareHost(url)
      if (!isOpen(url.hostname, portOf(url)) && isPrivateByName(host)) throw blockedError()
      return url
    },
    allows: (host, port, address) =>
      isPublicAddress(address) || isOpen(isIP(host) === 6 ? `[${host}]` : host, port),
  }
}

/** The error for a blocked address. Its message contains neither the host nor the address. */
export function blockedError(): EgressError {
  return new EgressError(
    'BLOCKED_ADDRESS',
    'This address is private or reserved, and the installation does not allow it.',
    false,
  )
}

/** The error for a name that resolves to a blocked address. Its message is that of a name that does not exist. */
export function blockedName(): EgressError {
  return new EgressError('BLOCKED_NAME', 'No connection could be made to the host.', false, blockedError())
}

/** The port as text, also the default port of the scheme. */
export function portOf(url: Pick<URL, 'port' | 'protocol'>): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80')
}

function parseUrl(text: string | URL): URL {
  const bad = (message: string) => new EgressError('BAD_URL', message, false)
  // The URL parser would leave line breaks out: what is checked and shown would differ from what was given.
  if ([...String(text)].some((char) => char < ' ' || char === '\u007f'))
    throw bad('A URL must not contain line breaks or other control characters.')
  const url = URL.canParse(String(text)) ? new URL(String(text)) : null
  if (!url) throw bad('This is not a valid URL.')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw bad('Only http and https URLs are allowed.')
  if (url.username !== '' || url.password !== '')
    throw bad('A URL must not contain a user name or a password.')
  return url
}

/** The host without brackets and final dot. The URL parser has already normalised every spelling of an IPv4 address. */
function bareHost(url: URL): string {
  return withoutDot(url.hostname.replace(/^\[|\]$/g, ''))
}

function isPrivateByName(host: string): boolean {
  return isIP(host) !== 0 ? !isPublicAddress(host) : host === 'localhost' || host.endsWith('.localhost')
}

function withoutDot(host: string): string {
  return host.replace(/\.$/, '')
}

function parseEntry(entry: string): string {
  const found = hostPortOf(entry)
  if (!found) throw new Error(`The egress allow-list entry ${writeJson(entry)} is not "host:port".`)
  return found
}
