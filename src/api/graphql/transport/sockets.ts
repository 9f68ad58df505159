/**
 * GraphQL over WebSocket (graphql-transport-ws), with the limits of HTTP. A failed operation does not end the others.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, type Context } from 'graphql-ws'
import { useServer } from 'graphql-ws/use/ws'
import { getOperationAST, GraphQLError, type FormattedExecutionResult } from 'graphql'
import { WebSocketServer, type WebSocket } from 'ws'
import { isAllowedOrigin, type OriginRules } from '../../../core/cookies.ts'
import { invalidAt } from '../../../core/errors.ts'
import { NumberRangeError, packValue, unpackValue } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { shortText } from '../../../core/text.ts'
import { personNamedIn, type Services } from '../../../domain/access/index.ts'
import { refuseUpgrade } from '../../http/server.ts'
import type { Documents } from './documents.ts'
import { maskError, withoutHttp } from '../builder/errors.ts'
import type { OperationParts } from './operations.ts'
import { defaultLimits, type SocketLimits, allowLargeMessages, exact, watchSockets } from './socket-limits.ts'
import {
  createSocketIds,
  neverSettles,
  type IdUse,
  type SocketIds,
  openSocketStream,
  runOnSocket,
  type SocketOperation,
} from './socket-streams.ts'
import { shownPrincipal, type ContextOf, type Credentials } from './http-route.ts'

/** Close code 1013 of the registry of RFC 6455: the server cannot serve now, and clients reconnect by themselves. */
const tryAgainLater = 1013

export interface SocketOptions extends OriginRules {
  documents: Documents
  parts: OperationParts
  log: Log
  contextOf: ContextOf
  /** The address of the client, behind trusted proxies. */
  addressOf(request: IncomingMessage): string | null
  /** The token in the session cookie of an upgrade for which it counts; else null. */
  sessionOf(request: IncomingMessage): string | null
  /** Closes a socket when its key or session ends. */
  revocations: Services['revocations']
  /** Limits that differ from the defaults. */
  limits?: Partial<SocketLimits> | undefined
}

interface Extra extends Record<PropertyKey, unknown> {
  socket: WebSocket
  request: IncomingMessage
  credentials?: Credentials
  ids?: SocketIds
  /** Stops watching the key of the socket for revocation. */
  unwatch?: () => void
}

export interface Sockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  count(): number
  /** Closes all sockets with 1001; clients reconnect and resume by cursor. */
  close(): Promise<void>
}

export function openSockets(options: SocketOptions): Sockets {
  const limits = { ...defaultLimits, ...options.limits }
  const { initTimeoutMs, keepAliveMs } = limits
  const wss = openServer(limits)
  const introduced = new WeakSet<WebSocket>()
  const readers = watchSockets(wss.clients, limits)
  const server = useServer<Record<string, unknown>, Extra>(
    {
      // Otherwise the close reason would disclose the message of an unexpected error.
      isProd: true,
      connectionInitWaitTimeout: initTimeoutMs,
      execute: (args: unknown) => runOnSocket(options.parts, args as SocketOperation) as never,
      subscribe: (args: unknown) => openSocketStream(options.parts, args as SocketOperation) as never,
      onConnect: (ctx) => connect(options, limits, introduced, ctx),
      onSubscribe: (ctx, id, payload) => subscribe(options, limits, ctx, id, payload),
      // graphql-ws declares what it gets with undefined in it, and what it wants back without.
      onNext: (_ctx, _id, _payload, _args, result) =>
        packValue(
          result.errors ? { ...result, errors: result.errors.map(withoutHttp) } : result,
        ) as FormattedExecutionResult,
      onError: (_ctx, _id, _payload, errors) => errors.map(withoutHttp),
      onClose: ({ extra }) => extra.unwatch?.(),
    },
    wss,
    keepAliveMs,
  )
  wss.on('connection', (socket: WebSocket) => guard(socket, limits, introduced))
  return {
    upgrade: (request, socket, head) => {
      const refusal = refusalOf(request, options)
      if (refusal) refuseUpgrade(socket, refusal)
      else wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', exact(ws), request))
    },
    count: () => wss.clients.size,
    async close() {
      await server.dispose()
      readers.stop()
    },
  }
}

/** A socket whose client does not confirm its close is cut off after `closeMs`. */
function openServer({ maxPayload, closeMs: closeTimeout }: SocketLimits): WebSocketServer {
  const options = { noServer: true, maxPayload, perMessageDeflate: false, closeTimeout }
  return new WebSocketServer(options)
}

/**
 * The status line with which an upgrade is refused, or null. Browsers send no CORS preflight for sockets: check the
 * origin.
 */
function refusalOf({ headers }: IncomingMessage, rules: OriginRules): string | null {
  return isAllowedOrigin(headers, rules) ? null : '403 Forbidden'
}

/** Limits the rate of messages, and the time until the socket has shown a valid key. */
function guard(socket: WebSocket, limits: SocketLimits, introduced: WeakSet<WebSocket>): void {
  // graphql-ws prints the first error to the console and lets a second one end the process. ws closes by itself.
  socket.removeAllListeners('error').on('error', () => {})
  // graphql-ws waits for connection_init only, and not for what becomes of it.
  const late = setTimeout(() => {
    if (!introduced.has(socket)) socket.close(tryAgainLater, 'Try again later')
  }, limits.initTimeoutMs)
  let messages = 0
  let windowStart = Date.now()
  socket.on('message', () => {
    if (Date.now() - windowStart > 10_000) {
      windowStart = Date.now()
      messages = 0
    }
    if (++messages > limits.messages) socket.close(4429, 'Too many messages')
  })
  socket.once('close', () => clearTimeout(late))
}

type Connection = Context<Record<string, unknown>, Extra>

/** The longest reason of a close frame, in characters of ASCII: with an ellipsis at its end it has 122 bytes. */
const longestReason = 120

/** What a socket says of the person for whom its operations are; what it says twice is no id. */
function personNamed(param: unknown, { headers }: IncomingMessage): unknown {
  const header = personNamedIn(headers)
  if (param === undefined) return header
  return header === undefined ? param : [param, header]
}

/**
 * Authenticates a socket: 4403 without valid credentials, and 4400, with the reason, for what its key may not. Closes the socket later when its key is revoked or expires.
 */
async function connect(
  options: SocketOptions,
  { maxKnownPayload }: SocketLimits,
  introduced: WeakSet<WebSocket>,
  { connectionParams, extra }: Connection,
): Promise<boolean> {
  const given = connectionParams?.['authorization'] ?? connectionParams?.['Authorization']
  const header = extra.request.headers.authorization
  try {
    extra.credentials = {
      authorization: typeof given === 'string' ? given : (header ?? null),
      session: options.sessionOf(extra.request),
      shown: shownPrincipal(connectionParams?.['principal']),
      actsFor: personNamed(connectionParams?.['actsFor'], extra.request),
      remoteAddress: options.addressOf(extra.request),
      requestId: crypto.randomUUID(),
    }
    const { principal } = (await options.contextOf(extra.credentials)).ctx
    // A socket that closed meanwhile would never be unwatched.
    if (extra.socket.readyState !== extra.socket.OPEN) return false
    introduced.add(extra.socket)
    allowLargeMessages(extra.socket, maxKnownPayload)
    // Watched before its operations are: the close code tells the client more than their errors.
    extra.unwatch = options.revocations.onRevoked(principal, () =>
      extra.socket.close(CloseCode.Forbidden, 'Forbidden'),
    )
  } catch (error) {
    const { message, extensions } = maskError(error, options.log)
    const { code } = extensions
    // A client that connects again would be refused again.
    if (code === 'INVALID' || code === 'FORBIDDEN')
      extra.socket.close(CloseCode.BadRequest, shortText(message, longestReason))
    else if (code !== 'UNAUTHENTICATED') extra.socket.close(tryAgainLater, 'Try again later')
    return false
  }
  return true
}

/** The payload of a subscribe message. */
interface Payload {
  query: string
  operationName?: string | null | undefined
  variables?: Record<string, unknown> | null | undefined
}

/** Prepares an operation. Never resolves when the client has used its id again meanwhile. */
async function subscribe(
  options: SocketOptions,
  limits: SocketLimits,
  ctx: Connection,
  id: string,
  payload: Payload,
) {
  const use = (ctx.extra.ids ??= createSocketIds()).begin(id)
  const prepared = await prepare(options, limits, ctx, use, id, payload)
  if (!use.isCurrent()) return neverSettles()
  // graphql-ws responds by itself when the document has no such operation.
  if (Array.isArray(prepared) || prepared.operation === null) use.end()
  return prepared
}

/**
 * Prepares an operation, or returns its errors. An error thrown here would close the socket with 4500 and the message
 * of the parser, and end the other operations.
 */
async function prepare(
  options: SocketOptions,
  { operations }: SocketLimits,
  ctx: Connection,
  use: IdUse,
  id: string,
  payload: Payload,
) {
  try {
    if (Object.keys(ctx.subscriptions).length > operations) {
      const message = `At most ${operations} operations at once on one socket.`
      return [new GraphQLError(message, { extensions: { code: 'LIMITED' } })]
    }
    // Authenticated again for each operation: the key may have been revoked since the socket was opened.
    const contextValue = await options.contextOf(ctx.extra.credentials!)
    const prepared = options.documents.prepare(payload.query)
    if ('errors' in prepared) return prepared.errors.map((error) => maskError(error, options.log))
    const { document } = prepared
    const { operationName } = payload
    const variableValues = unpackValue(payload.variables, (path, token) => {
      throw invalidAt(['variables', ...path], new NumberRangeError(path, token).message)
    }) as Payload['variables']
    const operation = getOperationAST(document, operationName)
    const { schema } = options.documents
    const { socket } = ctx.extra
    return { schema, document, operation, operationName, variableValues, contextValue, id, use, socket }
  } catch (error) {
    return [maskError(error, options.log)]
  }
}
