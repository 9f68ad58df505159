/** The HTTP server: routes, body limits, health checks and the upgrade to WebSocket. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { createBodyBudget, maxBodyBytes, readBody, refuseBody, type BodyBudget } from './bodies.ts'
import type { KeyedRoute } from '../keyed.ts'
import type { WebRoute } from './web.ts'
import { usualReaderLimits, watchReaders, type ReaderLimits } from './slow-readers.ts'

/** Time for a request's head and body to arrive, in milliseconds. */
const arrivalMs = 30_000

export interface Routes {
  /** Null in the role `worker`. */
  graphql: GraphqlRoute | null
  /** The MCP endpoints; null in the role `worker`. */
  mcp: McpRoute | null
  /** Upload, download and presignUpload over REST; null in the role `worker`. */
  files: FileRoutes | null
  /** The APIs that take a key in each request; none in the role `worker`. */
  keyed: readonly KeyedRoute[]
  /** OAuth login pages for upstreams; null in the role `worker`. */
  oauth: FileRoutes | null
  /** Pages of verdict links; null in the role `worker`. */
  verdicts: FileRoutes | null
  /** Interactions of Slack; null in the role `worker`. */
  slack: FileRoutes | null
  /** The dashboard; null in the role `worker`, and when it was not built. */
  web: WebRoute | null
  /** Sessions of browsers; null in the role `worker`. */
  sessions: FileRoutes | null
  upgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null
  /** Why a request with this Host header is refused, or null. Not called for health checks. */
  hostFault(host: string | undefined): string | null
  /** Takes one request without a key from the limit of its address; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
  /** Whether the database responds and is migrated. */
  ready(): Promise<boolean>
  /** Null when metrics are served only on a separate address. */
  metrics: MetricsRoute | null
}

/** Sends the metrics in the text format of Prometheus, or 401. */
export type MetricsRoute = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The GraphQL API. `admit` authenticates the caller before any byte of the body is read. */
export interface GraphqlRoute {
  admit(request: IncomingMessage): Promise<Admission>
  /** Sends the response. `body` is null when the admission refused the request or the method is not POST. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    admission: Admission,
    body: Buffer | null,
  ): Promise<void>
}

/** The result of checking the head of a request. */
export interface Admission {
  /** Whether the request is refused; then the body is not read. */
  refused: boolean
  /** The largest body, in bytes. */
  maxBodyBytes: number
  /** The key under which the bytes of the body count in the budget. */
  sender: string
}

/** A route that reads request bodies itself, such as uploads. */
export interface FileRoutes {
  serves(path: string): boolean
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** The MCP endpoints. */
export interface McpRoute {
  serves(path: string): boolean
  /**
   * `readBody` reads the body of a POST, to be called when the sender is known. It returns null when the body was
   * refused and the response has been sent. A body for which it is not called is discarded.
   */
  serve(request: IncomingMessage, response: ServerResponse, readBody: ReadBody): Promise<void>
}

/** Reads the body; its bytes count in the budget of this sender. */
export type ReadBody = (sender: string) => Promise<Buffer | null>

/** Limits of the server for all clients together. */
export interface ServerLimits {
  /** The most open connections; further ones are closed at once. */
  maxConnections: number
  /** The most bytes of request bodies that are buffered at once. */
  maxBufferedBodies: number
  readers: ReaderLimits
}

export const usualServerLimits: ServerLimits = {
  maxConnections: 20_000,
  maxBufferedBodies: 128 * 1024 * 1024,
  readers: usualReaderLimits,
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
  limits: ServerLimits = usualServerLimits,
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
  server.maxConnections = limits.maxConnections
  server.on('upgrade', (request, socket, head) => {
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
export async function listenForMetrics(
  metrics: MetricsRoute,
  host: string,
  port: number,
): Promise<HttpServer> {
  const server = createServer((request, response) => {
    if (pathOf(request) !== '/metrics') return send(response, 404, { error: 'Not found.' })
    metrics(request, response).catch(() => response.destroy())
  })
  server.headersTimeout = arrivalMs
  server.maxConnections = 100
  return {
    ...(await bind(server, host, port)),
    close: (graceMs) => close(server, new Set(), graceMs),
  }
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

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
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

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0]!
}

async function handle(
  routes: Routes,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff')
  try {
    const path = pathOf(request)
    if (path === '/healthz') return send(response, 200, { status: 'alive' })
    if (path === '/readyz') {
      const ready = await routes.ready().catch(() => false)
      return send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' })
    }
    // The MCP endpoints check the Host header themselves and respond in their protocol.
    if (routes.mcp?.serves(path)) return await mcp(routes.mcp, budget, request, response)
    const fault = routes.hostFault(request.headers.host)
    if (fault) return send(response, 403, { error: fault })
    const api = routes.keyed.find((route) => route.serves(path))
    const open = [routes.oauth, routes.verdicts, routes.slack].find((route) => route?.serves(path))
    if (path === '/graphql' && routes.graphql) await graphql(routes.graphql, budget, request, response)
    else if (routes.files?.serves(path)) await routes.files.serve(request, response)
    else if (api) await keyed(api, budget, request, response)
    else if (routes.sessions?.serves(path)) await routes.sessions.serve(request, response)
    else if (path === '/metrics' && routes.metrics) await routes.metrics(request, response)
    else if (open) await withoutKey(routes, open, request, response)
    // Last: it responds with its page to whatever browsers open.
    else if (routes.web?.serves(request, path)) routes.web.serve(request, response, path)
    else await withoutKey(routes, null, request, response)
  } catch {
    if (response.headersSent) response.destroy()
    else send(response, 500, { error: 'Unexpected error.' })
  }
}

/** Routes without authentication, within the rate limit of the address. Null: there is nothing at the path. */
async function withoutKey(
  routes: Routes,
  route: FileRoutes | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const waitMs = routes.takeAnonymous(request)
  if (waitMs > 0) {
    response.setHeader('retry-after', Math.ceil(waitMs / 1000))
    return send(response, 429, {
      error: 'Too many requests without a key from this address. Try again later.',
    })
  }
  if (route) await route.serve(request, response)
  else send(response, 404, { error: 'Not found. The API is at /graphql, MCP at /mcp.' })
}

async function graphql(
  route: GraphqlRoute,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const admission = await route.admit(request)
  // The body of a refused request is discarded while the response is sent.
  if (admission.refused || request.method !== 'POST') return route.serve(request, response, admission, null)
  // The bytes are counted while reading, because a body may come without a Content-Length.
  const body = await readBody(request, response, admission.maxBodyBytes, budget, admission.sender)
  if (!('bytes' in body)) return refuseBody(request, response, body)
  await route.serve(request, response, admission, body.bytes)
}

async function mcp(
  route: McpRoute,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await route.serve(request, response, async (sender) => {
    const body = await readBody(request, response, maxBodyBytes, budget, sender)
    if ('bytes' in body) return body.bytes
    refuseBody(request, response, body)
    return null
  })
}

async function keyed(
  route: KeyedRoute,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await route.serve(request, response, async (sender) => {
    const body = await readBody(request, response, maxBodyBytes, budget, sender)
    if ('bytes' in body) return body.bytes
    refuseBody(request, response, body, (status, message) => route.refusal(status, message))
    return null
  })
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
