/** Responses to clients that disconnected before there was one. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { disconnectSignal } from '../../../src/api/http/replies.ts'
import { writeReply } from '../../../src/api/mcp/http/node-http.ts'

/** Acts on the server's response object of a request whose client has closed its connection. */
async function afterDisconnect<T>(act: (response: ServerResponse) => Promise<T> | T): Promise<T> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    client.on('error', () => {}).end()
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
    const closed = once(response, 'close')
    client.destroy()
    await closed
    return await act(response)
  } finally {
    server.close()
  }
}

test('a stream that begins after its client has disconnected is cancelled', async () => {
  let cancelled = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from(': listening\n\n')),
    cancel: () => void (cancelled = true),
  })
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  await afterDisconnect((to) => writeReply(to, { response }))
  expect(cancelled).toBe(true)
})

test('the signal of a client that has already disconnected is aborted', async () => {
  expect((await afterDisconnect(disconnectSignal)).aborted).toBe(true)
})
