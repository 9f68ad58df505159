/** The two eras of the protocol on one address: each request is served by a server of its own. */
import {
  createMcpHandler,
  WebStandardStreamableHTTPServerTransport,
  type Server,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import type { Log } from '../../core/log.ts'
import { withTypedBody, withTypedErrors } from './typed-errors.ts'

/** Comments that keep a stream alive, in milliseconds. */
const keepAliveMs = 10_000

/** A request whose body has been read. */
export interface Inbound {
  request: Request
  body: unknown
}

/**
 * Serves a request with a handshake somewhere before it, or none at all. `json` answers in one piece instead of a
 * stream; `over` is called when nothing more follows.
 */
export async function legacyLeg(
  make: () => Server,
  { request, body }: Inbound,
  json: boolean,
  over: () => void,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: json,
    keepAliveMs,
  })
  const server = withTypedErrors(make())
  await server.connect(transport)
  const response = await withTypedBody(await transport.handleRequest(request, { parsedBody: body }))
  if (json || response.body === null) over()
  return json || response.body === null ? response : withEnd(response, over)
}

/** The same answer; `over` is called when its stream has ended or nobody reads it any more. */
function withEnd(response: Response, over: () => void): Response {
  const reader = response.body!.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      over()
      controller.close()
    },
    async cancel(reason) {
      over()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

export interface ModernOptions {
  make(): Server
  /** What tells open subscriptions that something changed. */
  bus?: ServerEventBus
  log: Log
}

/** Serves a request of the new era. `close` ends a subscription that it has opened. */
export function modernLeg(
  { make, bus, log }: ModernOptions,
  { request, body }: Inbound,
): { response: Promise<Response>; close(): Promise<void> } {
  const handler = createMcpHandler(() => withTypedErrors(make()), {
    legacy: 'reject',
    keepAliveMs,
    ...(bus ? { bus } : {}),
    onerror: (error) => log.debug({ err: error }, 'an MCP request was refused'),
  })
  const response = handler.fetch(request, { parsedBody: body }).then(withTypedBody)
  return { response, close: handler.close }
}
