/** Real MCP servers on loopback, as upstreams of tests: programs from npm, and a modern server in this process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { createMcpHandler, Server, type McpHttpHandler } from '@modelcontextprotocol/server'
import { peerFile } from './peers.ts'

export interface RunningServer {
  /** The URL of its MCP endpoint. */
  url: string
  port: number
  /** Ends it at once, as a crash does; resolves when it has stopped. */
  kill(): Promise<void>
  /** Starts the same server again on the same port. */
  restart(): Promise<void>
}

/** The reference server with every feature, over either legacy transport. */
export function startEverything(transport: 'streamableHttp' | 'sse'): Promise<RunningServer> {
  const program = peerFile('node_modules/@modelcontextprotocol/server-everything/dist/index.js')
  return startProgram(
    (port) => ({ args: [program, transport], env: { PORT: String(port) } }),
    transport === 'sse' ? '/sse' : '/mcp',
  )
}

/** The reference server for files, which supports stdio only, behind a proxy that serves HTTP. */
export function startFilesystem(folder: string): Promise<RunningServer> {
  const proxy = peerFile('node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs')
  const program = peerFile('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
  return startProgram(
    (port) => ({
      args: [proxy, '--host', '127.0.0.1', '--port', String(port), '--', process.execPath, program, folder],
      env: {},
    }),
    '/mcp',
  )
}

/** A fastmcp server, see tools/peers/fastmcp-server.js. */
export function startFastMcp(): Promise<RunningServer> {
  const program = peerFile('fastmcp-server.js')
  return startProgram((port) => ({ args: [program], env: { PORT: String(port) } }), '/mcp')
}

async function startProgram(
  commandFor: (port: number) => { args: string[]; env: Record<string, string> },
  path: string,
): Promise<RunningServer> {
  const port = await freePort()
  let child: ChildProcess | null = null
  const start = async () => {
    const { args, env } = commandFor(port)
    child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    await listening(port, child)
  }
  const kill = async () => {
    const ending = child
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    await new Promise<void>((resolve) => {
      ending.once('exit', () => resolve())
      ending.kill('SIGKILL')
    })
  }
  await start()
  return { url: `http://127.0.0.1:${port}${path}`, port, kill, restart: async () => (await kill(), start()) }
}

/** A port that was free just now. */
export async function freePort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (const until = Date.now() + 20_000; Date.now() < until;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    if (await answers(port)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the server does not listen')
}

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/nothing-here`, { signal: AbortSignal.timeout(2000) }).then(
    async (response) => (await response.body?.cancel(), true),
    () => false,
  )
}

export interface ModernTool {
  name: string
  description?: string
  inputSchema?: object
  outputSchema?: object
  [key: string]: unknown
}

/** The implementation of a tool of the modern server; `context` is the SDK's own. */
export type Behaviour = (args: Record<string, unknown>, context: any) => unknown

export interface ModernServer extends RunningServer {
  /** Its tools; change them, then `changed()`. */
  tools: Map<string, { tool: ModernTool; run: Behaviour }>
  /** Requests by method, with their headers and parameters. */
  seen: { method: string; headers: IncomingMessage['headers']; params: any }[]
  changed(): void
  /** Notifies subscribed clients that a resource was updated. */
  updated(uri: string): void
  /** Called with each request before MCP handles it; returns true when it has responded. */
  guard:
    | ((request: IncomingMessage, response: ServerResponse, body: string) => boolean | Promise<boolean>)
    | null
}

/** A modern-only server (2026-07-28), made with the official SDK. */
export async function startModern(options: { ttlMs?: number } = {}): Promise<ModernServer> {
  const port = await freePort()
  const made: Pick<ModernServer, 'tools' | 'seen' | 'guard'> = { tools: new Map(), seen: [], guard: null }
  const handler = createMcpHandler(() => serverOver(made.tools, options), {
    legacy: 'reject',
    responseMode: 'auto',
  })
  const sockets = new Set<Socket>()
  let http: HttpServer | null = null
  const start = async () => {
    http = createServer((request, response) => void serve(handler, made, request, response))
    http.on('connection', (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => http!.listen(port, '127.0.0.1', resolve))
  }
  const kill = async () => {
    const ending = http
    if (!ending) return
    http = null
    const closed = new Promise((resolve) => ending.close(resolve))
    sockets.forEach((socket) => socket.destroy())
    await closed
  }
  await start()
  return Object.assign(made, {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    changed: () => handler.notify.toolsChanged(),
    updated: (uri: string) => handler.notify.resourceUpdated(uri),
    kill,
    restart: async () => (await kill(), start()),
  })
}

function serverOver(tools: ModernServer['tools'], { ttlMs }: { ttlMs?: number }): Server {
  const server = new Server(
    { name: 'modern', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true },
        logging: {},
      },
      instructions: 'Ask \u001b[31mnicely\u001b[0m.',
      ...(ttlMs ? { cacheHints: { 'tools/list': { ttlMs, cacheScope: 'private' as const } } } : {}),
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools.values()].map(({ tool }) => ({
      inputSchema: { type: 'object' },
      ...tool,
    })) as never,
  }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const found = tools.get(request.params.name)
    if (!found) throw Object.assign(new Error(`Unknown tool: ${request.params.name}`), { code: -32602 })
    return (await found.run(request.params.arguments ?? {}, context)) as never
  })
  server.setRequestHandler('prompts/list', () => ({
    prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }],
  }))
  server.setRequestHandler('prompts/get', (request) => ({
    messages: [
      {
        role: 'user',
        content: { type: 'text', text: `Hello ${request.params.arguments?.['who'] ?? 'you'}` },
      },
    ],
  }))
  server.setRequestHandler('resources/list', () => ({
    resources: [{ uri: 'test://one', name: 'one', mimeType: 'text/plain' }],
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://{id}', name: 'any' }],
  }))
  server.setRequestHandler('resources/read', (request) => ({
    contents: [{ uri: request.params.uri, text: 'the text' }],
  }))
  return server
}

async function serve(
  handler: McpHttpHandler,
  made: Pick<ModernServer, 'seen' | 'guard'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  if (await made.guard?.(request, response, body)) return
  const message = body ? (JSON.parse(body) as { method?: string; params?: unknown }) : {}
  made.seen.push({ method: message.method ?? '', headers: request.headers, params: message.params })
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const answer = await handler.fetch(
    new Request(`http://127.0.0.1${request.url}`, {
      method: request.method!,
      headers: request.headers as Record<string, string>,
      signal: gone.signal,
      ...(body ? { body } : {}),
    }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.flushHeaders()
  if (answer.body)
    Readable.fromWeb(answer.body as never)
      .on('error', () => response.destroy())
      .pipe(response)
  else response.end()
}
