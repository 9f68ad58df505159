/**
 * Measures the MCP endpoint of an agent against the server of the official SDK in the same run. The SDK server has the same
 * tools over the same upstream, but no credentials, validation, ledger, audit log and database.
 */
import http from 'node:http'
import { startPeer, type Peer } from './peer.ts'
import { report, type Row } from './report.ts'
import { cpuDuring, key, kinds, openServer, type BenchServer } from './server.ts'
import { inLanes } from './statistics.ts'

const inputSchema = {
  type: 'object' as const,
  properties: { word: { type: 'string', description: 'Any word.' } },
  required: ['word'],
  additionalProperties: false,
}
const counts = [10, 100, 1000]

/** Prints requests per second and their ratio, for calls and lists, with one and sixteen concurrent requests. */
export async function measureBridge(): Promise<void> {
  const upstream = await startPeer('http-service')
  const sdk = await startPeer('sdk-bridge', upstream.url)
  for (const kind of kinds) {
    const server = await openServer(kind, { upstream: new URL(upstream.url).host })
    const rows: Row[] = []
    const agents = await makeAgents(server, upstream.url)
    for (const concurrency of [1, 16]) {
      rows.push(await compare('tools/call', 10, concurrency, { server, sdk, agentId: agents.get(10)! }))
      for (const count of counts)
        rows.push(
          await compare('tools/list', count, concurrency, { server, sdk, agentId: agents.get(count)! }),
        )
    }
    await server.close()
    const named = rows.map((row) => ({ ...row, case: `${kind}, ${row.case}` }))
    report(
      'bridge',
      `The MCP endpoint on ${kind} against the SDK's stateless server, requests per second`,
      named,
    )
  }
  await sdk.close()
  await upstream.close()
}

async function makeAgents({ gql }: BenchServer, upstream: string): Promise<Map<number, string>> {
  const make =
    'mutation($input: CreateToolInput!) { createTool(input: $input) { ... on ToolPayload { tool { id } } } }'
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
      'mutation($input: CreateAgentInput!) { createAgent(input: $input) { ... on AgentPayload { agent { id } } } }',
      { input },
    )
    agents.set(count, made['createAgent'].agent.id)
  }
  return agents
}

interface Sides {
  server: BenchServer
  sdk: Peer
  agentId: string
}

/** The first rounds run code that the engine has not compiled yet: they are not measured. */
const rounds = { first: 3, measured: 4 }

/** Alternates between both, so that other load on the machine affects both; the best round of each counts. */
async function compare(method: string, tools: number, concurrency: number, sides: Sides): Promise<Row> {
  const params = method === 'tools/call' ? { name: 'tool_7', arguments: { word: 'hi' } } : {}
  // One after another as many as eight at once: after 60 requests a process still interprets half of what it runs.
  const total = Math.max(concurrency, 8) * (method === 'tools/list' && tools === 1000 ? 8 : 60)
  const best = { ours: 0, sdk: 0 }
  const cpu = { ours: Infinity, sdk: Infinity }
  for (let round = 0; round < rounds.first + rounds.measured; round++)
    for (const [name, peer, url] of [
      ['ours', sides.server, `${sides.server.url}/mcp/${sides.agentId}`],
      ['sdk', sides.sdk, `${sides.sdk.url}/${tools}`],
    ] as const) {
      const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency })
      let seconds = 0
      const used = await cpuDuring(peer, async () => {
        seconds = await inLanes(total, concurrency, () => ask(url, agent, method, params))
      })
      agent.destroy()
      if (round < rounds.first) continue
      best[name] = Math.max(best[name], total / seconds)
      cpu[name] = Math.min(cpu[name], used / total)
    }
  const figures = {
    'ours/s': best.ours,
    'SDK/s': best.sdk,
    'ratio requests/s': best.ours / best.sdk,
    'ours CPU ms': cpu.ours,
    'SDK CPU ms': cpu.sdk,
  }
  return { case: `${method} of ${tools} tools, ${concurrency} at once`, figures }
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
