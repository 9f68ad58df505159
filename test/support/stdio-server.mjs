/**
 * A small MCP server over standard input and output, made with the SDK. It writes a line to the file of its first argument when
 * it starts, and for calls of `note`, `hang` and `until`.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const [file] = process.argv.slice(2)
const write = (line) => appendFileSync(file, `${line}\n`)
const said = (text) => ({ content: [{ type: 'text', text }] })
const server = new McpServer({ name: 'small', version: '1.0.0' })
const input = { text: z.string() }

server.registerTool('note', { inputSchema: input }, ({ text }) => {
  write(`note ${text}`)
  return said(`noted ${text}`)
})
server.registerTool('hang', { inputSchema: input }, ({ text }, { signal }) => {
  write(`hang ${text}`)
  signal.addEventListener('abort', () => write(`cancelled ${text}`))
  return new Promise(() => {})
})
server.registerTool('until', { inputSchema: input }, async ({ text }) => {
  write(`until ${text}`)
  while (!existsSync(text)) await pause(20)
  return said('it exists')
})
server.registerTool('huge', {}, () => said('x'.repeat(5 * 1024 * 1024)))
server.registerTool('large', {}, () => said('x'.repeat(2 * 1024 * 1024)))
server.registerTool('noise', {}, () => {
  process.stdout.write('not JSON\n[1]\n"text"\n{"jsonrpc":"2.0","id":"nobody","result":{}}\n')
  process.stdout.write('{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}\n')
  return said('after the noise')
})
server.registerTool('grow', {}, () => {
  server.registerTool('grown', {}, () => said('grown'))
  return said('one more')
})
server.registerTool('storm', {}, () => {
  for (let n = 0; n < 200; n++) server.sendToolListChanged()
  return said('all changed')
})
server.registerTool('end', {}, () => process.exit(3))

await server.connect(new StdioServerTransport())
write(`started ${process.env['GATEHOUSE_KEY'] ?? 'without a key'}`)
