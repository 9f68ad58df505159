/**
 * Measures upstream MCP servers: a call through an mcp tool against the same call with the client of the official SDK in the
 * same run, and the list of an agent over fifty upstreams of a hundred tools each.
 */
import http from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startPeer } from './peer.ts'
import { report } from './report.ts'
import { key, kinds, openServer, type BenchServer } from './server.ts'
import { percentile, timed } from './statistics.ts'

const upstreams = 50
const toolsOfEach = 100
const calls = 300
/** Calls before the measurement, for both: the first ones run code that the engine has not compiled yet. */
const warmUp = 700

/** Prints milliseconds: of calls, direct and through Gatehouse, and of the first and later lists. */
export async function measureUpstreams(): Promise<void> {
  const upstream = await startPeer('sdk-upstream', String(toolsOfEach))
  const direct = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await direct.connect(new StreamableHTTPClientTransport(new URL(`${upstream.url}/0`)))
  for (const kind of kinds) {
    const server = await openServer(kind, { upstream: new URL(upstream.url).host })
    const toolIds = await makeTools(server, upstream.url)
    report('upstreams', `A call through an mcp tool on ${kind} against the SDK's client`, [
      { case: `${kind}, call`, figures: await compareCalls(server, direct, toolIds[0]!) },
    ])
    report('upstreams', `tools/list over ${upstreams} upstreams of ${toolsOfEach} tools on ${kind}`, [
      { case: `${kind}, list`, figures: await measureList(server, toolIds) },
    ])
    await server.close()
  }
  await direct.close()
  await upstream.close()
}

async function makeTools({ gql }: BenchServer, url: string): Promise<string[]> {
  const make =
    'mutation($input: CreateToolInput!) { createTool(input: $input) { ... on ToolPayload { tool { id } } } }'
  const ids: string[] = []
  for (let i = 0; i < upstreams; i++) {
    const input = { name: `far_${i}`, config: { mcp: { url: `${url}/${i}` } } }
    ids.push((await gql(make, { input }))['createTool'].tool.id)
  }
  return ids
}

/** Alternates between both, so that other load on the machine affects both. */
async function compareCalls({ gql }: BenchServer, direct: Client, toolId: string) {
  const call = `mutation($input: CallToolInput!) { callTool(input: $input) {
    ... on ToolCallPayload { toolCall { status } } } }`
  const input = { toolId, action: 'tool_7', arguments: { word: 'hi' } }
  const times = { sdk: [] as number[], ours: [] as number[] }
  for (let i = -warmUp; i < calls; i++) {
    if (i === 0) times.sdk.length = times.ours.length = 0
    times.sdk.push(await timed(() => direct.callTool({ name: 'tool_7', arguments: { word: 'hi' } })))
    times.ours.push(await timed(() => gql(call, { input })))
  }
  const [sdk, ours] = [percentile(times.sdk, 0.5), percentile(times.ours, 0.5)]
  return {
    'SDK p50 ms': sdk,
    'ours p50 ms': ours,
    'overhead p50 ms': ours - sdk,
    'ratio p50': ours / sdk,
    'SDK p99 ms': percentile(times.sdk, 0.99),
    'ours p99 ms': percentile(times.ours, 0.99),
  }
}

async function measureList({ gql, url: at }: BenchServer, toolIds: string[]) {
  const made = await gql(
    'mutation($input: CreateAgentInput!) { createAgent(input: $input) { ... on AgentPayload { agent { id } } } }',
    { input: { name: 'far', toolIds, mcp: { enabled: true } } },
  )
  const url = `${at}/mcp/${made['createAgent'].agent.id as string}`
  const first = await timed(() => list(url))
  const later: number[] = []
  for (let i = 0; i < 20; i++) later.push(await timed(() => list(url)))
  return { tools: upstreams * toolsOfEach, 'first ms': first, 'p50 ms': percentile(later, 0.5) }
}

function list(url: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    authorization: `Bearer ${key}`,
  }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers }, (response) => {
      let size = 0
      response.on('data', (chunk: Buffer) => (size += chunk.length))
      response.on('end', () => (size > 100_000 ? resolve(size) : reject(new Error('the list is too short'))))
    })
    request.on('error', reject)
    request.end(body)
  })
}
