/** The HTTP server: routes, body limits, health and the upgrade to sockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

/** A request body is read up to here; one that is longer is refused with 413 before anything looks at it. */
export const maxBodyBytes = 1024 * 1024
/** Time for a request's head and body to arrive, in milliseconds. */
const arrivalMs = 30_000
/** How long a body that is too long may go on arriving, in milliseconds. */
const lingerMs = 1000

export interface Routes {
  /** Null on a process that only works. */
  graphql: ((request: IncomingMessage, response: ServerResponse) => unknown) | null
  /** The MCP bridge; null on a process that only works. */
  mcp: McpRoute | null
  /** Uploads, downloads and the REST spelling of presignUpload; null on a process that only works. */
  files: FileRoutes | null
  /** The return of logins for upstreams; null on a process that only works. */
  oauth: FileRoutes | null
  upgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null
  /** Whether the database answers and its tables are there. */
  ready(): Promise<boolean>
  /** Prometheus' text format, with its content type. */
  metrics(): Promise<{ type: string; text: string }>
}

/** Whoever serves files reads the bodies itself: they are longer than any other. */
export interface FileRoutes {
  serves(path: string): boolean
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** What is served outside /graphql by whoever knows the paths. */
export interface McpRoute {
  serves(path: string): boolean
  /** `body` is that of a POST, read within the limit. */
  serve(request: IncomingMessage, response: ServerResponse, body: Buffer | null): Promise<void>
}

export interface HttpServer {
  /** Where it listens, without a slash at the end. */
  url: string
  port: number
  /** Takes no more requests; waits for those under way, at most `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Listens. Port 0 takes a free one. */
export async function listen(routes: Routes, host: string, port: number): Promise<HttpServer> {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    if (!server.listening) response.shouldKeepAlive = false
    open.add(response)
    response.once('close', () => open.delete(response))
    void handle(routes, request, response)
  })
  server.requestTimeout = arrivalMs
  server.headersTimeout = arrivalMs
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    if (routes.upgrade && pathOf(request) === '/graphql') routes.upgrade(request, socket, head)
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host
  return {
    url: `http://${shown}:${address.port}`,
    port: address.port,
    close: (graceMs) => close(server, open, graceMs),
  }
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

async function handle(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff')
  try {
    const path = pathOf(request)
    if (path === '/graphql' && routes.graphql) await graphql(routes.graphql, request, response)
    else if (routes.mcp?.serves(path)) await mcp(routes.mcp, request, response)
    else if (routes.files?.serves(path)) await routes.files.serve(request, response)
    else if (routes.oauth?.serves(path)) await routes.oauth.serve(request, response)
    else if (path === '/healthz') send(response, 200, { status: 'alive' })
    else if (path === '/readyz') {
      const ready = await routes.ready().catch(() => false)
      send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' })
    } else if (path === '/metrics') {
      const { type, text } = await routes.metrics()
      response.writeHead(200, { 'content-type': type }).end(text)
    } else send(response, 404, { error: 'Not found. The API is at /graphql, MCP at /mcp.' })
  } catch {
    if (response.headersSent) response.destroy()
    else send(response, 500, { error: 'Unexpected error.' })
  }
}

async function graphql(
  serve: NonNullable<Routes['graphql']>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'POST') {
    const body = await readBody(request)
    if (body === null) return refuseBody(request, response)
    // Read here, so that the limit holds for bodies without a length too.
    Object.assign(request, { body })
  }
  await serve(request, response)
}

async function mcp(route: McpRoute, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = request.method === 'POST' ? await readBody(request) : Buffer.alloc(0)
  if (body === null) return refuseBody(request, response)
  await route.serve(request, response, request.method === 'POST' ? body : null)
}

/** The whole body, or null as soon as it is too long; what comes after that is dropped. */
function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return resolve(null)
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBodyBytes) return void chunks.push(chunk)
      chunks.length = 0
      resolve(null)
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
  })
}

/**
 * Answers 413 at once, but closes only when the client has sent the rest, or after a moment: a connection that is
 * closed while the other side still writes is reset, and the answer is lost with it.
 */
function refuseBody(request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ errors: [{ message: `The body is larger than ${maxBodyBytes} bytes.` }] })
  response.writeHead(413, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.write(body)
  const timer = setTimeout(() => request.destroy(), lingerMs)
  request.once('close', () => {
    clearTimeout(timer)
    response.end()
  })
  request.resume()
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
