/**
 * Addresses: the IP address of a client, also behind trusted proxies, and the name under which it reached this
 * machine.
 */
import { BlockList, isIP } from 'node:net'

/** Addresses and networks (`10.0.0.0/8`, `fd00::/8`, `192.0.2.7`) as a BlockList. Null when one of them is invalid. */
export function networksOf(names: readonly string[]): BlockList | null {
  const list = new BlockList()
  for (const name of names) {
    const [address = '', bits, ...rest] = name.split('/')
    const version = isIP(address)
    const most = version === 4 ? 32 : 128
    if (version === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null
    if (bits !== undefined && Number(bits) > most) return null
    list.addSubnet(address, bits === undefined ? most : Number(bits), version === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/**
 * The address of the client: that of the connection, or, when the connection comes from a trusted proxy, the last
 * address in X-Forwarded-For that is not a trusted proxy. The client can write anything before that entry.
 */
export function clientAddress(
  connection: string | undefined,
  forwardedFor: string | string[] | undefined,
  trusted: BlockList,
): string | null {
  if (connection === undefined) return null
  let address = plain(connection)
  if (forwardedFor === undefined || !isIn(trusted, address)) return address
  const hops = String(forwardedFor).slice(-2000).split(',').toReversed()
  for (const hop of hops) {
    const named = plain(
      hop
        .trim()
        .replace(/^\[(.*)\](?::\d+)?$/, '$1')
        .replace(/^([\d.]+):\d+$/, '$1'),
    )
    if (isIP(named) === 0) return address
    address = named
    if (!isIn(trusted, address)) return address
  }
  return address
}

/** An IPv4 address unchanged; for an IPv6 address its /64 network, because one client usually controls all of it. */
export function countedAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  // A dotted IPv4 tail is written as one part but takes two groups, in the last 64 bits.
  const written = before.length + after.length + (address.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? 0 : 8 - written
  const all = [...before, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...after]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/**
 * The name under which a connection from this address is counted; null for one of a trusted proxy, which brings requests of
 * many clients.
 */
export function connectionName(connection: string | undefined, trusted: BlockList): string | null {
  const address = plain(connection ?? '')
  return isIn(trusted, address) ? null : countedAddress(address)
}

/** Turns an IPv4-mapped IPv6 address into the IPv4 address. */
function plain(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

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
