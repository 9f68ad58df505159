/** The parameters of a database address that are for a client and not for the server. */

/**
 * libpq's own. The driver would send them to the server, which refuses what it does not know. Every connection is led to a
 * primary anyway, and has a name by which Gatehouse finds it.
 */
const ofClients =
  /^(target_session_attrs|(fallback_)?application_name|channel_binding|keepalives\w*|tcp_user_timeout|gssencmode|load_balance_hosts|sslsni|sslcompression|passfile)$/

/** The address as the driver understands it. Several hosts stay as they are. */
export function driverAddress(url: string): string {
  const [address, query] = splitOnce(url)
  if (query === undefined) return url
  const kept = [...new URLSearchParams(query)].filter(([name]) => !ofClients.test(name))
  return kept.length === 0 ? address : `${address}?${new URLSearchParams(kept).toString()}`
}

/** What the driver cannot hold of that which an address demands, as the name of its parameter; null: nothing. */
export function unsupportedDemand(url: string): string | null {
  const [, query = ''] = splitOnce(url)
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'channel_binding' && value === 'require') return 'channel_binding=require'
    if (/^ssl(cert|key|crl|crldir|password)$/.test(name)) return name
    if (name === 'sslrootcert' && value !== 'system') return name
  }
  return null
}

function splitOnce(url: string): [string, string | undefined] {
  const at = url.indexOf('?')
  return at < 0 ? [url, undefined] : [url.slice(0, at), url.slice(at + 1)]
}
