/** Request headers that a caller may set, and response headers as the global `Headers`. */

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
