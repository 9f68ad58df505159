/** The HTTP server: routes, body limits, health checks and the upgrade to WebSocket, the only other protocol. */
import { type IncomingMessage, type Server, createServer, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AddressInfo, Socket } from 'node:net'
import { createBodyBudget, maxBodyBytes, readBody, refuseBody, type BodyBudget } from './bodies.ts'
import { retryAfter, sendJson } from './replies.ts'
import { pathOf, type RouteGroup } from './route.ts'
import { defaultReaderLimits, watchReaders, type ReaderLimits } from './slow-readers.ts'

/** How long the client of a refused upgrade may keep its side of the connection open, in milliseconds. */
const lingerMs = 1000

/** Refuses an upgrade, such as `403 Forbidden`. Nothing else would end a connection that its client keeps half-open. */
export function refuseUpgrade(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  // Unread bytes would hide that the client has closed its side.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/** Whether a client asks for a WebSocket. Others offer HTTP/2 with each request, as that of Java does, and take HTTP/1.1 as well. */
function isForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.trim().toLowerCase() === 'websocket'
}

/**
 * Serves a request as if it did not ask for another protocol (RFC 9110, section 7.8): Node, which has let go of the
 * connection, reads it again without that.
 */
function serveWithoutUpgrade(
  server: Server,
  { method, url, httpVersion, rawHeaders, headers }: IncomingMessage,
  socket: Duplex,
  rest: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!/^(?:connection|upgrade|http2-settings)$/i.test(rawHeaders[i]!))
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  if (/\bclose\b/i.test(headers.connection ?? '')) lines.push('Connection: close')
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]))
  server.emit('connection', socket)
}

/** Time for a request's head and body to arrive, in milliseconds. */
const arrivalMs = 30_000
/** How long a connection without a request stays open, in milliseconds: longer than load balancers keep theirs, usually 60 s. */
const keepAliveMs = 65_000

export interface Routes {
  /** Sets the headers for browsers of other origins; true: it has answered. */
  allowOrigin(request: IncomingMessage, response: ServerResponse): boolean
  /** The MCP endpoints, which check the Host header themselves and respond in their protocol. */
  mcp: RouteGroup | null
  /** Routes that know their callers. */
  known: readonly RouteGroup[]
  /** Routes without a key, within the rate limit of the address. */
  open: readonly RouteGroup[]
  /** The dashboard; null when it was not built. */
  web: RouteGroup | null
  upgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null
  /** Why a request with this Host header is refused, or null. Not called for health checks. */
  hostFault(host: string | undefined): string | null
  /** Takes one request without a key from the limit of its address; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
  /** The name under which a connection is counted; null for one that is not, such as that of a trusted proxy. */
  connectionName(remoteAddress: string | undefined): string | null
  /** Whether the database responds and is migrated. */
  ready(isOverLimit: boolean): Promise<boolean>
  /** What /readyz says beside that. */
  release: () => object
}

/** Limits of the server for all clients together. */
export interface ServerLimits {
  /** The most open connections; further ones are closed at once. */
  maxConnections: number
  /** The most open connections of one address, whatever they show; further ones are closed at once. */
  maxConnectionsPerAddress: number
  /** The most bytes of request bodies that are buffered at once. */
  maxBufferedBodies: number
  readers: ReaderLimits
}

export const defaultServerLimits: ServerLimits = {
  maxConnections: 20_000,
  maxConnectionsPerAddress: 5000,
  maxBufferedBodies: 128 * 1024 * 1024,
  readers: defaultReaderLimits,
}

export interface HttpServer {
  /** The URL on which it listens, without a final slash. */
  url: string
  port: number
  /** Accepts no more requests, and waits at most `graceMs` for those in flight. */
  close(graceMs: number): Promise<void>
}

/** Starts the server. Port 0 takes a free port. Rejects when the port is in use. */
export async function listen(
  routes: Routes,
  host: string,
  port: number,
  limits: ServerLimits = defaultServerLimits,
): Promise<HttpServer> {
  const open = new Set<ServerResponse>()
  const readers = watchReaders(open, limits.readers)
  const budget = createBodyBudget(limits.maxBufferedBodies)
  const server = createServer((request, response) => {
    if (!server.listening) response.shouldKeepAlive = false
    open.add(response)
    response.once('close', () => open.delete(response))
    void handle(routes, budget, request, response)
  })
  server.requestTimeout = arrivalMs
  server.headersTimeout = arrivalMs
  server.keepAliveTimeout = keepAliveMs
  server.maxConnections = limits.maxConnections
  limitAddresses(server, routes, limits.maxConnectionsPerAddress)
  server.on('upgrade', (request, socket, head) => {
    if (!isForSocket(request)) return serveWithoutUpgrade(server, request, socket, head)
    socket.on('error', () => socket.destroy())
    if (routes.hostFault(request.headers.host) !== null) refuseUpgrade(socket, '403 Forbidden')
    else if (routes.upgrade && pathOf(request) === '/graphql') routes.upgrade(request, socket, head)
    else refuseUpgrade(socket, '404 Not Found')
  })
  const { url, port: taken } = await bind(server, host, port)
  return {
    url,
    port: taken,
    async close(graceMs) {
      await close(server, open, graceMs)
      readers.stop()
    },
  }
}

/** Starts a server that serves only /metrics. */
export async function listenForMetrics(metrics: RouteGroup, host: string, port: number): Promise<HttpServer> {
  const server = createServer((request, response) => {
    if (!metrics.serves(pathOf(request), request)) return sendJson(response, 404, { error: 'Not found.' })
    serveGroup(metrics, null, request, response).catch(() => response.destroy())
  })
  server.headersTimeout = arrivalMs
  server.maxConnections = 100
  return {
    ...(await bind(server, host, port)),
    close: (graceMs) => close(server, new Set(), graceMs),
  }
}

/** Closes connections of an address that has enough, before anything of them is read. */
function limitAddresses(server: Server, { connectionName }: Routes, most: number): void {
  const open = new Map<string, number>()
  const counted = new WeakSet<Socket>()
  server.on('connection', (socket) => {
    // A connection that is read again (see `serveWithoutUpgrade`) is the same one.
    if (counted.has(socket)) return
    counted.add(socket)
    const name = connectionName(socket.remoteAddress)
    if (name === null) return
    const count = open.get(name) ?? 0
    if (count >= most) return void socket.destroy()
    open.set(name, count + 1)
    socket.once('close', () => {
      const left = open.get(name)! - 1
      if (left > 0) open.set(name, left)
      else open.delete(name)
    })
  })
}

async function bind(server: Server, host: string, port: number): Promise<{ url: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host
  return { url: `http://${shown}:${address.port}`, port: address.port }
}

async function close(server: Server, open: ReadonlySet<ServerResponse>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // An event stream never ends by itself. Its client resumes from its cursor on another replica.
  for (const response of open) {
    if (isEventStream(response)) response.destroy()
    // On a connection that is kept alive, the client could send a request that is cut off at the end of the grace
    // period.
    else response.shouldKeepAlive = false
  }
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(timer)
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream')
}

async function handle(
  routes: Routes,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff')
  try {
    if (routes.allowOrigin(request, response)) return
    const path = pathOf(request)
    if (path === '/healthz') return sendJson(response, 200, { status: 'alive' })
    if (path === '/readyz') {
      const ready = await routes.ready(routes.takeAnonymous(request) > 0).catch(() => false)
      return sendJson(response, ready ? 200 : 503, {
        status: ready ? 'ready' : 'not ready',
        ...routes.release(),
      })
    }
    const serves = (group: RouteGroup | null) => group?.serves(path, request)
    if (serves(routes.mcp)) return await serveGroup(routes.mcp!, budget, request, response)
    const fault = routes.hostFault(request.headers.host)
    if (fault) return sendJson(response, 403, { error: fault })
    const open = routes.open.find(serves)
    // The dashboard is last: it responds with its page to whatever browsers open.
    const group = routes.known.find(serves) ?? (open || !serves(routes.web) ? null : routes.web)
    if (group) return await serveGroup(group, budget, request, response)
    const waitMs = routes.takeAnonymous(request)
    if (waitMs > 0)
      sendJson(
        response,
        429,
        { error: 'Too many requests without a key from this address. Try again later.' },
        retryAfter(waitMs),
      )
    else if (open) await serveGroup(open, budget, request, response)
    else sendJson(response, 404, { error: 'Not found. The API is at /graphql, MCP at /mcp.' })
  } catch {
    if (response.headersSent) response.destroy()
    else sendJson(response, 500, { error: 'Unexpected error.' })
  }
}

async function serveGroup(
  group: RouteGroup,
  budget: BodyBudget | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await group.serve(request, response, async (sender, maxBytes = maxBodyBytes) => {
    const body = await readBody(request, response, maxBytes, budget, sender)
    if ('bytes' in body) return body.bytes
    refuseBody(request, response, body, group.refusal)
    return null
  })
}
