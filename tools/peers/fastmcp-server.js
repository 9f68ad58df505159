/** A fastmcp server, run as a process by upstream tests. PORT is the port to listen on. */
import { FastMCP, imageContent } from 'fastmcp'
import { z } from 'zod'

const server = new FastMCP({ name: 'fast', version: '1.0.0' })
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

server.addTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }, { reportProgress }) => {
    await reportProgress({ progress: 1, total: 2 })
    return String(a + b)
  },
})
server.addTool({
  name: 'picture',
  description: 'Gives a picture.',
  execute: async () => imageContent({ buffer: Buffer.from(pixel, 'base64') }),
})
server.addTool({
  name: 'fail',
  description: 'Fails.',
  execute: async () => {
    throw new Error('it cannot be done')
  },
})
await server.start({
  transportType: 'httpStream',
  httpStream: { port: Number(process.env['PORT']), host: '127.0.0.1', endpoint: '/mcp' },
})
