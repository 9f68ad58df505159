/**
 * Serves one HTTP request with an SDK server of its own, over the transport of its protocol era: with exact numbers
 * and typed errors.
 */
import {
  Server,
  type JSONRPCMessage,
  createMcpHandler,
  WebStandardStreamableHTTPServerTransport,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import {
  packValue,
  unpackValue,
  asText,
  isJsonObject,
  type JsonObject,
  readJson,
  writeJson,
} from '../../../core/json.ts'
import { codes } from './errors.ts'
import type { Log } from '../../../core/log.ts'

/**
 * Creates a server. Its requests come in packed (`transports.ts`), handlers get them as they were sent, and results go out
 * packed, until `writeReply` completes their text.
 */
export function exactServer(...given: ConstructorParameters<typeof Server>): Server {
  const server = new Server(...given)
  const set = server.setRequestHandler.bind(server) as (...parts: unknown[]) => void
  server.setRequestHandler = (...parts: unknown[]) => {
    const handler = parts.pop() as (request: unknown, context: unknown) => unknown
    set(...parts, async (request: unknown, context: unknown) =>
      packValue(await handler(unpackValue(request), context)),
    )
  }
  return server
}

const types: Record<number, string> = {
  [codes.parse]: 'parse_error',
  [codes.invalidRequest]: 'invalid_request',
  [codes.unknownMethod]: 'unknown_method',
  [codes.invalidParams]: 'invalid_params',
  [codes.internal]: 'internal_error',
  [codes.headerMismatch]: 'header_mismatch',
  [-32021]: 'missing_client_capability',
  [-32022]: 'unsupported_protocol_version',
}

/** The server, changed so that every error it sends has a type. */
function withTypedErrors(server: Server): Server {
  const connect = server.connect.bind(server)
  server.connect = (transport) => {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(withType(message), options)
    return connect(transport)
  }
  return server
}

/** The same for an HTTP error response that the SDK made without a server. */
async function withTypedBody(response: Response): Promise<Response> {
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json'))
    return response
  const body = withType(readJson(await response.text()) as JSONRPCMessage)
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(writeJson(body), { status: response.status, headers })
}

function withType(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJsonObject(message) || !isJsonObject(message['error'])) return message
  const data = isJsonObject(message['error']['data']) ? message['error']['data'] : {}
  if (typeof data['type'] === 'string') return message
  const error = maskedError(message['error'])
  return { ...message, error: { ...error, data: { ...data, type: types[error.code] ?? 'refused' } } }
}

/** The SDK reports invalid params as an internal error whose message lists what its validator found. */
function maskedError({ code: given, message: text }: JsonObject): { code: number; message: string } {
  const [code, message] = [Number(given), asText(text)]
  if (code !== codes.internal) return { code, message }
  return message.trimStart().startsWith('[')
    ? { code: codes.invalidParams, message: 'Invalid params' }
    : { code, message: 'Internal error' }
}

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
  return withTypedBody(await transport.handleRequest(request, { parsedBody: packValue(body) }))
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
  const response = handler.fetch(request, { parsedBody: packValue(body) }).then(withTypedBody)
  return { response, close: handler.close }
}
