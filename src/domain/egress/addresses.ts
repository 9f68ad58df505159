/** Which IP addresses are on the public internet. Resolves no names. */
import ipaddr from 'ipaddr.js'

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
