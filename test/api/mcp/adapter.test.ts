/** Answers to clients that have gone before there was an answer. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { goneSignal, writeAnswer } from '../../../src/api/mcp/adapter.ts'

/** What the server has of a request whose client closed its connection. */
async function deserted<T>(act: (response: ServerResponse) => Promise<T> | T): Promise<T> {
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

test('a stream that begins after its client has gone is ended, and nobody goes on to fill it', async () => {
  let cancelled = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from(': listening\n\n')),
    cancel: () => void (cancelled = true),
  })
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  await deserted((to) => writeAnswer(to, { response }))
  expect(cancelled).toBe(true)
})

test('the signal of a client that has gone already has fired', async () => {
  expect((await deserted(goneSignal)).aborted).toBe(true)
})
