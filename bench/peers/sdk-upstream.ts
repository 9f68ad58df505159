/** An upstream MCP server of the newest protocol whose tools respond at once. Its argument is the number of tools. */
import { createServer } from 'node:http'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { serveAsPeer } from '../peer.ts'
import { serveMcp } from './sdk-http.ts'

const inputSchema = { type: 'object' as const, properties: { word: { type: 'string' } }, required: ['word'] }
const tools = Array.from({ length: Number(process.argv[2]) }, (_, i) => ({
  name: `tool_${i}`,
  description: `The tool ${i} of an upstream server, described in a sentence or two.`,
  inputSchema,
}))
const handler = createMcpHandler(() => {
  const made = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  made.setRequestHandler('tools/list', () => ({ tools }))
  made.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'done' }] }))
  return made
})
serveAsPeer(createServer(serveMcp(() => handler)))
