/**
 * The rules of the fetch standard for a request: the headers that a caller may set, and the request that follows a
 * redirect. Pure.
 */
import { EgressError } from './egress-error.ts'

/** One request of a chain of redirects. Header names are lower case. */
export interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: Uint8Array | null
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])
const alwaysSensitive = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key']
const aboutTheBody = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]

/**
 * The target of a redirect, or null when the response is none that is followed. At 301 and 302 some services have acted on
 * the request and others have not: only GET and HEAD are sent again.
 */
export function targetOf(method: string, status: number, location: string | undefined): string | null {
  const isFollowed = redirectStatuses.has(status) && (isSafe(method) || (status !== 301 && status !== 302))
  return isFollowed && location ? location : null
}

/** Whether a method changes nothing (RFC 9110, section 9.2.1); of those that tools and upstreams use. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * The request that follows a redirect to `location` (fetch standard, "HTTP-redirect fetch"): at 303 it becomes GET, else it
 * keeps method and body. To another origin the sensitive headers are not sent: the well-known ones and those in `sensitive`
 * (lower case). Throws BAD_URL when the target is no URL; checks nothing else.
 */
export function nextHop(hop: Hop, status: number, location: string, sensitive: readonly string[]): Hop {
  if (!URL.canParse(location, hop.url.href))
    throw new EgressError('BAD_URL', 'A redirect points to no valid URL.', true)
  const url = new URL(location, hop.url)
  const turnsToGet = status === 303 && !isSafe(hop.method)
  const dropped = [
    ...(turnsToGet ? aboutTheBody : []),
    ...(url.origin === hop.url.origin ? [] : [...alwaysSensitive, ...sensitive]),
  ]
  const headers = Object.fromEntries(Object.entries(hop.headers).filter(([name]) => !dropped.includes(name)))
  return { url, headers, method: turnsToGet ? 'GET' : hop.method, body: turnsToGet ? null : hop.body }
}

/** Headers of the connection, not of the message. `host` would also change the site that responds. */
const ofTheConnection = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Whether a header (any case) is set by the connection and never by a caller. */
export function isConnectionHeader(name: string): boolean {
  return ofTheConnection.has(name.toLowerCase())
}

/** Lower-case names, without the headers of the connection. The last of two spellings of one name wins. */
export function ownHeaders(given: Record<string, string>): Record<string, string> {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return Object.fromEntries(entries.filter(([name]) => !isConnectionHeader(name)))
}

/** Headers that the global `Headers` refuses, such as values with control characters, are left out. */
export function webHeaders(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) appendIfLegal(headers, name, value)
  return headers
}

function appendIfLegal(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {
    // The response is usable without an invalid header.
  }
}
