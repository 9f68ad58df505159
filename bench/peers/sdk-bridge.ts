/**
 * The low-level server of the official SDK, its fastest form. The path is the number of its tools; its argument is the URL
 * of the service that its tools call.
 */
import { createServer } from 'node:http'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { serveAsPeer } from '../peer.ts'
import { serveMcp } from './sdk-http.ts'

const upstream = process.argv[2]!
const inputSchema = {
  type: 'object' as const,
  properties: { word: { type: 'string', description: 'Any word.' } },
  required: ['word'],
  additionalProperties: false,
}

type Handler = ReturnType<typeof createMcpHandler>

function handlerOf(count: number): Handler {
  const tools = Array.from({ length: count }, (_, i) => ({
    name: `tool_${i}`,
    description: `The tool ${i}.`,
    inputSchema,
  }))
  return createMcpHandler(() => {
    const server = new Server({ name: 'sdk', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const answer = await fetch(`${upstream}/x`, { method: 'POST', body: JSON.stringify(params.arguments) })
      return { content: [{ type: 'text', text: await answer.text() }] }
    })
    return server
  })
}

const handlers = new Map<string, Handler>()
serveAsPeer(
  createServer(
    serveMcp((path) => {
      if (!handlers.has(path)) handlers.set(path, handlerOf(Number(path.slice(1))))
      return handlers.get(path)!
    }),
  ),
)
