/** The writer of server-sent events: what it does after its end, while the client has not read everything. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { openEventStream } from '../../../../src/api/protocols/segments/sse.ts'

afterEach(() => void vi.useRealTimers())

test('a stream that has ended is kept alive no more, although it waits behind another one of its connection', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const faults: unknown[] = []
  const responses: ServerResponse[] = []
  const server = createServer((_request, response) => {
    response.on('error', (error) => faults.push(error))
    const writer = openEventStream(response, () => {})
    // The first one goes on: responses of one connection are sent in the order of its requests.
    if (responses.push(response) === 2) writer.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => responses[1]?.writableEnded).toBe(true)
  expect(responses[1]!.writableFinished).toBe(false)
  vi.advanceTimersByTime(60_000)
  await once(socket, 'data')
  responses[0]!.end()
  await once(responses[1]!, 'close')
  expect(faults).toEqual([])
  socket.destroy()
  server.close()
})
