/** Serves one HTTP request with an SDK server of its own, over the transport of its protocol era. */
import {
  createMcpHandler,
  WebStandardStreamableHTTPServerTransport,
  type Server,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { packed } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { withTypedBody, withTypedErrors } from './typed-errors.ts'

/** Interval of the comments that keep a stream alive, in milliseconds. */
const keepAliveMs = 10_000

/** A request whose body has been read. */
export interface Inbound {
  request: Request
  body: unknown
}

/** Serves a legacy request, with or without a handshake before it. `asJson`: a JSON response instead of a stream. */
export async function serveLegacy(
  makeServer: () => Server,
  { request, body }: Inbound,
  asJson: boolean,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: asJson,
    keepAliveMs,
  })
  const server = withTypedErrors(makeServer())
  await server.connect(transport)
  return withTypedBody(await transport.handleRequest(request, { parsedBody: packed(body) }))
}

/** Serves a modern request. `bus` feeds a `subscriptions/listen`, whose stream `close` ends. */
export function serveModern(
  makeServer: () => Server,
  { request, body }: Inbound,
  log: Log,
  bus?: ServerEventBus,
): { response: Promise<Response>; close(): Promise<void> } {
  const handler = createMcpHandler(() => withTypedErrors(makeServer()), {
    legacy: 'reject',
    keepAliveMs,
    ...(bus ? { bus } : {}),
    onerror: (error) => log.debug({ err: error }, 'an MCP request was refused'),
  })
  const response = handler.fetch(request, { parsedBody: packed(body) }).then(withTypedBody)
  return { response, close: handler.close }
}
