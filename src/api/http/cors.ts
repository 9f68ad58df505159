/** CORS for every API: browsers of configured origins may call all of them, without cookies. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Response headers that a page may read. */
const exposed = [
  'mcp-session-id',
  'mcp-protocol-version',
  'www-authenticate',
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'x-request-id',
  'location',
  'link',
].join(', ')

/** A browser asks again after so long, in seconds. */
const maxAge = '600'

/**
 * Makes what is called first for a request: it sets the headers for a page of one of the origins, and answers a preflight of
 * one, for which it returns true. Other origins get no headers. Without configured origins nothing is done.
 */
export function allowOrigins(
  origins: readonly string[],
): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (origins.length === 0) return () => false
  return ({ method, headers }, response) => {
    // What a cache keeps for one origin is of no use for another.
    response.appendHeader('vary', 'Origin')
    const { origin } = headers
    if (origin === undefined || !origins.includes(origin)) return false
    response.setHeader('access-control-allow-origin', origin)
    const wanted = headers['access-control-request-method']
    if (method !== 'OPTIONS' || wanted === undefined) {
      response.setHeader('access-control-expose-headers', exposed)
      return false
    }
    response
      .writeHead(204, {
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
        'access-control-max-age': maxAge,
      })
      .end()
    return true
  }
}
