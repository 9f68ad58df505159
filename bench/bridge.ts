/**
 * Measures the MCP endpoint of an agent against the server of the official SDK in the same run. The SDK server has the same
 * tools over the same upstream, but no credentials, validation, ledger, audit log and database.
 */
import http, { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { openServer, key, type BenchServer } from './server.ts'
import { inLanes, ms, show } from './table.ts'

const inputSchema = {
  type: 'object' as const,
  properties: { word: { type: 'string', description: 'Any word.' } },
  required: ['word'],
  additionalProperties: false,
}
const counts = [10, 100, 1000]

/** Prints requests per second and their ratio, for calls and lists, with one and sixteen concurrent requests. */
export async function measureBridge(): Promise<void> {
  const upstream = await listen((_request, response) => response.end('done'))
  const sdk = await listen(sdkServer(upstream.url))
  for (const kind of ['pglite', 'postgres'] as const) {
    const services = await openServer(kind, new URL(upstream.url).host)
    const rows = []
    const agents = await makeAgents(services, upstream.url)
    for (const concurrency of [1, 16]) {
      const ours = `${services.app.url}/mcp/${agents.get(10)}`
      rows.push(await compare('tools/call', 10, concurrency, ours, `${sdk.url}/10`))
      for (const count of counts) {
        const at = `${services.app.url}/mcp/${agents.get(count)}`
        rows.push(await compare('tools/list', count, concurrency, at, `${sdk.url}/${count}`))
      }
    }
    await services.close()
    show(`The MCP endpoint on ${kind} against the SDK's stateless server, requests per second`, rows)
  }
  for (const one of [upstream, sdk]) one.close()
}

interface Listening {
  url: string
  close(): void
}

function listen(handler: http.RequestListener): Promise<Listening> {
  const server: HttpServer = createServer(handler)
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      }),
    ),
  )
}

/** The low-level server of the SDK, its fastest form. The path is the number of its tools. */
function sdkServer(upstream: string): http.RequestListener {
  const handlers = new Map(
    counts.map((count) => {
      const tools = Array.from({ length: count }, (_, i) => ({
        name: `tool_${i}`,
        description: `The tool ${i}.`,
        inputSchema,
      }))
      const make = () => {
        const server = new Server({ name: 'sdk', version: '1' }, { capabilities: { tools: {} } })
        server.setRequestHandler('tools/list', () => ({ tools }))
        server.setRequestHandler('tools/call', async ({ params }) => {
          const answer = await fetch(`${upstream}/x`, {
            method: 'POST',
            body: JSON.stringify(params.arguments),
          })
          return { content: [{ type: 'text', text: await answer.text() }] }
        })
        return server
      }
      return [`/${count}`, createMcpHandler(make)] as [string, ReturnType<typeof createMcpHandler>]
    }),
  )
  return async (incoming, outgoing) => {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const headers = new Headers(incoming.headers as Record<string, string>)
    const request = new Request(`http://127.0.0.1${incoming.url!}`, { method: 'POST', headers })
    const answer = await handlers
      .get(incoming.url!)!
      .fetch(request, { parsedBody: JSON.parse(text) as unknown })
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    outgoing.end(Buffer.from(await answer.arrayBuffer()))
  }
}

async function makeAgents({ gql }: BenchServer, upstream: string): Promise<Map<number, string>> {
  const make =
    'mutation($input: CreateToolInput!) { createTool(input: $input) { ... on CreateToolPayload { tool { id } } } }'
  const toolIds: string[] = []
  for (let i = 0; i < Math.max(...counts); i++) {
    const config = { http: { url: `${upstream}/x`, method: 'POST', inputSchema } }
    const input = { name: `tool_${i}`, description: `The tool ${i}.`, config }
    toolIds.push((await gql(make, { input }))['createTool'].tool.id)
  }
  const agents = new Map<number, string>()
  for (const count of counts) {
    const input = { name: `agent_${count}`, toolIds: toolIds.slice(0, count), mcp: { enabled: true } }
    const made = await gql(
      'mutation($input: CreateAgentInput!) { createAgent(input: $input) { ... on CreateAgentPayload { agent { id } } } }',
      { input },
    )
    agents.set(count, made['createAgent'].agent.id)
  }
  return agents
}

/** Alternates between both, so that other load on the machine affects both; the best round of each counts. */
async function compare(method: string, tools: number, concurrency: number, ours: string, sdk: string) {
  const params = method === 'tools/call' ? { name: 'tool_7', arguments: { word: 'hi' } } : {}
  const total = concurrency * (method === 'tools/list' && tools === 1000 ? 8 : 60)
  const best = { ours: 0, sdk: 0 }
  for (let round = 0; round < 4; round++)
    for (const [name, url] of [
      ['ours', ours],
      ['sdk', sdk],
    ] as const) {
      const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency })
      const seconds = await inLanes(total, concurrency, () => ask(url, agent, method, params))
      agent.destroy()
      if (round > 0) best[name] = Math.max(best[name], total / seconds)
    }
  const ratio = Number((best.ours / best.sdk).toFixed(2))
  return { method, tools, 'at once': concurrency, ours: ms(best.ours), SDK: ms(best.sdk), ratio }
}

function ask(url: string, agent: http.Agent, method: string, params: object): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...('name' in params ? { 'mcp-name': String(params.name) } : {}),
  }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += text.length < 2000 ? chunk.toString() : ''))
      response.on('end', () =>
        response.statusCode === 200 && !text.includes('"error"') ? resolve() : reject(new Error(text)),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}
