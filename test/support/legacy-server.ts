/** A legacy server with sessions, made with SDK v1: tests add tools and drop sessions. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'

export interface LegacyServer {
  url: string
  /** Sessions opened so far. */
  opened(): number
  /** Every `tools/call` that the server executed. */
  calls: string[]
  /** Adds a tool to every session; each one notifies its client. */
  add(name: string): void
  /**
   * Current subscriptions: a name for each session and resource. Resources that begin with `refused:` cannot be
   * subscribed.
   */
  watched: Set<string>
  /** Notifies the subscribed sessions that a resource was updated; `named` is the URI in the notification. */
  updated(uri: string, named?: string): Promise<void>
  /** Drops all sessions, as a restart does; their streams end. */
  forget(): Promise<void>
  /** Responds to every GET with this status from now on, like servers without notifications; null: opens streams. */
  refuseStreams(status: number | null): void
  close(): Promise<void>
}

export async function startLegacy(): Promise<LegacyServer> {
  const sessions = new Map<string, { server: McpServer; transport: StreamableHTTPServerTransport }>()
  const sockets = new Set<Socket>()
  const calls: string[] = []
  const names = ['one']
  const watched = new Set<string>()
  let opened = 0
  let streamless: number | null = null
  const tool = (server: McpServer, name: string) =>
    server.registerTool(name, { description: `The tool ${name}.` }, async () => {
      calls.push(name)
      return { content: [{ type: 'text', text: name }] }
    })
  const watchable = (server: McpServer) => {
    server.registerResource('doc', 'doc://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }))
    server.registerResource('other', 'refused:two', {}, (uri) => ({
      contents: [{ uri: uri.href, text: '2' }],
    }))
    server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }, { sessionId }) => {
      if (uri.startsWith('refused:')) throw Object.assign(new Error('No.'), { code: -32602 })
      watched.add(`${sessionId} ${uri}`)
      return {}
    })
    server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }, { sessionId }) => {
      watched.delete(`${sessionId} ${uri}`)
      return {}
    })
  }
  const open = async () => {
    const server = new McpServer(
      { name: 'legacy', version: '1.0.0' },
      { capabilities: { logging: {}, resources: { subscribe: true } } },
    )
    for (const name of names) tool(server, name)
    server.registerTool('ask', { description: 'Asks its caller.' }, async (extra) => {
      const answer = await server.server.elicitInput({
        message: 'Who are you?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      })
      await extra.sendNotification({
        method: 'notifications/message',
        params: { level: 'info', data: 'asked' },
      })
      const name = (answer.content as { name?: string } | undefined)?.name
      return { content: [{ type: 'text', text: `${answer.action} ${name ?? ''}` }] }
    })
    // Sends every line, whichever level its client has set.
    server.registerTool('chat', { description: 'Logs two lines.' }, async (extra) => {
      for (const level of ['info', 'error'] as const)
        await extra.sendNotification({
          method: 'notifications/message',
          params: { level, data: `chat ${level}` },
        })
      return { content: [{ type: 'text', text: 'done' }] }
    })
    watchable(server)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        opened += 1
        sessions.set(id, { server, transport })
      },
    })
    await server.connect(transport)
    return transport
  }
  const http = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (request.method === 'GET' && streamless !== null) return response.writeHead(streamless).end()
    const message = body ? JSON.parse(body) : undefined
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id)?.transport : undefined
    const transport = known ?? (message?.method === 'initialize' ? await open() : null)
    if (transport) return transport.handleRequest(request, response, message)
    response.writeHead(id ? 404 : 400, { 'content-type': 'application/json' })
    response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
  })
  http.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const forget = async () => {
    const all = [...sessions.values()]
    sessions.clear()
    watched.clear()
    await Promise.all(all.map(({ transport }) => transport.close()))
  }
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    opened: () => opened,
    calls,
    add(name) {
      names.push(name)
      for (const { server } of sessions.values()) tool(server, name)
    },
    watched,
    async updated(uri, named = uri) {
      for (const [id, { server }] of sessions)
        if (watched.has(`${id} ${uri}`)) await server.server.sendResourceUpdated({ uri: named })
    },
    forget,
    refuseStreams: (status) => (streamless = status),
    async close() {
      await forget()
      await new Promise<void>((resolve) => {
        http.close(() => resolve())
        sockets.forEach((socket) => socket.destroy())
      })
    },
  }
}
