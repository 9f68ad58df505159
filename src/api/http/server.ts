/** The HTTP server: routes, body limits, health and the upgrade to sockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { createBodyBudget, maxBodyBytes, readBody, refuseBody, type BodyBudget } from './bodies.ts'
import { usualReaderLimits, watchReaders, type ReaderLimits } from './slow-readers.ts'

/** Time for a request's head and body to arrive, in milliseconds. */
const arrivalMs = 30_000

export interface Routes {
  /** Null on a process that only works. */
  graphql: GraphqlRoute | null
  /** The MCP bridge; null on a process that only works. */
  mcp: McpRoute | null
  /** Uploads, downloads and the REST spelling of presignUpload; null on a process that only works. */
  files: FileRoutes | null
  /** The return of logins for upstreams; null on a process that only works. */
  oauth: FileRoutes | null
  upgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null
  /** Why a request with this Host header is turned away, or null. Probes of health are not asked. */
  hostFault(host: string | undefined): string | null
  /** Takes one request of a sender without a key; answers the milliseconds after which another is served, or 0. */
  takeAnonymous(request: IncomingMessage): number
  /** Whether the database answers and its tables are there. */
  ready(): Promise<boolean>
  /** Null when the numbers are served at an address of their own only. */
  metrics: MetricsRoute | null
}

/** Writes Prometheus' text format, or refuses. */
export type MetricsRoute = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The GraphQL face: it says who is asking before a byte of the body is read. */
export interface GraphqlRoute {
  admit(request: IncomingMessage): Promise<Admission>
  /** Answers; the body has been read, or is not looked at when the admission refuses. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    admission: Admission,
    body: Buffer | null,
  ): Promise<void>
}

/** What is known of a request by its head. */
export interface Admission {
  /** Refused already: the body is not read. */
  refused: boolean
  /** What the body may have, in bytes. */
  maxBodyBytes: number
  /** Under which name its bytes are counted. */
  sender: string
}

/** Whoever serves files reads the bodies itself: they are longer than any other. */
export interface FileRoutes {
  serves(path: string): boolean
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** What is served outside /graphql by whoever knows the paths. */
export interface McpRoute {
  serves(path: string): boolean
  /**
   * `readBody` reads that of a POST, once the sender is known; null when it was refused, and the answer with it. Without
   * a call of it the body passes by unread.
   */
  serve(request: IncomingMessage, response: ServerResponse, readBody: ReadBody): Promise<void>
}

/** Reads a body in the name of a sender. */
export type ReadBody = (sender: string) => Promise<Buffer | null>

/** How much the server holds at once, whoever asks. */
export interface ServerLimits {
  /** Open connections; more are closed as they come. */
  maxConnections: number
  /** Bytes of request bodies that are kept at once. */
  maxBufferedBodies: number
  readers: ReaderLimits
}

export const usualServerLimits: ServerLimits = {
  maxConnections: 20_000,
  maxBufferedBodies: 128 * 1024 * 1024,
  readers: usualReaderLimits,
}

export interface HttpServer {
  /** Where it listens, without a slash at the end. */
  url: string
  port: number
  /** Takes no more requests; waits for those under way, at most `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Listens. Port 0 takes a free one. */
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

/** An address that serves nothing but the numbers. */
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
  // A stream of events has no end of its own; its client goes on elsewhere from its cursor.
  for (const response of open) {
    if (isEventStream(response)) response.destroy()
    // A client that keeps its connection would go on with it until the grace is over and cut a request off.
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
    // The bridge judges the name itself, and answers in its protocol.
    if (routes.mcp?.serves(path)) return await mcp(routes.mcp, budget, request, response)
    const fault = routes.hostFault(request.headers.host)
    if (fault) return send(response, 403, { error: fault })
    if (path === '/graphql' && routes.graphql) await graphql(routes.graphql, budget, request, response)
    else if (routes.files?.serves(path)) await routes.files.serve(request, response)
    else if (path === '/metrics' && routes.metrics) await routes.metrics(request, response)
    else await withoutKey(routes, path, request, response)
  } catch {
    if (response.headersSent) response.destroy()
    else send(response, 500, { error: 'Unexpected error.' })
  }
}

/** What asks for no key. */
async function withoutKey(
  routes: Routes,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const waitMs = routes.takeAnonymous(request)
  if (waitMs > 0) {
    response.setHeader('retry-after', Math.ceil(waitMs / 1000))
    return send(response, 429, { error: 'This address asks too often without a key.' })
  }
  if (routes.oauth?.serves(path)) await routes.oauth.serve(request, response)
  else send(response, 404, { error: 'Not found. The API is at /graphql, MCP at /mcp.' })
}

async function graphql(
  route: GraphqlRoute,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const admission = await route.admit(request)
  // What comes of a refused body passes by unread, with the answer on its way.
  if (admission.refused || request.method !== 'POST') return route.serve(request, response, admission, null)
  // Read here, so that the limit holds for bodies without a length too.
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

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
