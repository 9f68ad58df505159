/**
 * Measures what a large catalog takes in the requests to a model, on the wire of each kind of provider, and in `tools/list`: all of
 * 197 recorded tools, and with a search. Bytes, which no other load on the machine changes.
 */
import { largeCatalog, serveCatalog } from '../test/support/large-catalog.ts'
import { mutate } from '../test/support/ask.ts'
import { startStrictProvider, testKey } from '../test/support/strict-provider.ts'
import { report, type Row } from './report.ts'
import { key, openServer, type BenchServer } from './server.ts'

const wires = ['openai', 'anthropic', 'google', 'compatible'] as const
const query = 'list the collections of a database'

export async function measureToolSearch(): Promise<void> {
  const upstream = await serveCatalog(largeCatalog())
  const provider = await startStrictProvider()
  const hosts = [upstream, provider].map(({ url }) => new URL(url).host)
  const server = await openServer('pglite', { upstream: hosts.join(',') })
  const make = makerOn(server)
  await make('setSecret', { name: 'KEY', value: testKey }, 'secret { name }')
  const config = { mcp: { url: upstream.url } }
  const { tool } = await make('createTool', { name: 'big', config }, 'tool { id }')
  const rows: Row[] = []
  for (const wire of wires) {
    const { baseUrl } = provider.settings(wire)
    const own = { name: wire, kind: wire.toUpperCase(), baseUrl, secretName: 'KEY', defaultModel: 'm' }
    await make('setProvider', own, 'provider { name }')
    const bytesOf = async (toolLoading: string, answers: object[]) => {
      const input = { name: `${wire} ${toolLoading}`, model: `${wire}/m`, toolIds: [tool.id], toolLoading }
      const { agent } = await make('createAgent', input, 'agent { id }')
      const before = provider.journal.length
      provider.script(...(answers as []))
      const run = { agentId: agent.id, prompt: 'Go.' }
      const { generation } = await make('startGeneration', run, 'generation { id }')
      await ended(server, generation.id)
      return provider.journal.slice(before).map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
    }
    const [all] = await bytesOf('ALL', [{ text: 'done' }])
    const search = { calls: [{ name: 'search_tools', arguments: JSON.stringify({ query }) }] }
    const [first, second] = await bytesOf('SEARCH', [search, { text: 'done' }])
    const figures = {
      'all, bytes': all!,
      'search, bytes': first!,
      'after a search, bytes': second!,
      'ratio first': all! / first!,
      'ratio after': all! / second!,
    }
    rows.push({ case: wire, figures })
  }
  report('tool-search', 'Requests to a model with 197 tools', rows)
  report('tool-search', 'tools/list of an agent with 197 tools', [await listRow(server, tool.id)])
  await server.close()
  await provider.close()
  await upstream.close()
}

const makerOn = (server: BenchServer) => (name: string, input: object, fields: string) =>
  mutate(server.url, key, name, input, fields)

async function ended({ gql }: BenchServer, id: string): Promise<void> {
  const read = 'query($id: ID!) { generation(id: $id) { status error { message } } }'
  for (;;) {
    const { generation } = await gql(read, { id })
    if (generation.status === 'COMPLETED') return
    if (generation.status === 'FAILED') throw new Error(generation.error.message)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function listRow(server: BenchServer, toolId: string): Promise<Row> {
  const bytes: number[] = []
  for (const toolLoading of ['ALL', 'SEARCH']) {
    const input = { name: `served ${toolLoading}`, toolIds: [toolId], toolLoading, mcp: { enabled: true } }
    const { agent } = await makerOn(server)('createAgent', input, 'agent { id }')
    const response = await fetch(`${server.url}/mcp/${agent.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-api-key': key },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    bytes.push(Buffer.byteLength(await response.text()))
  }
  const [all, search] = bytes as [number, number]
  return { case: 'tools/list', figures: { 'all, bytes': all, 'search, bytes': search, ratio: all / search } }
}
