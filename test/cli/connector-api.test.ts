/** The requests of `gatehouse connect` to a server that hangs. */
import { expect, test, vi } from 'vitest'
import { connectorApi } from '../../cli/connector-api.ts'
import { startLoopback } from '../support/loopback.ts'

test('a question for messages that is never answered is given up and asked again over another connection', async () => {
  const sockets: unknown[] = []
  let asked = () => {}
  const first = new Promise<void>((resolve) => (asked = resolve))
  const server = await startLoopback((_request, response) => {
    sockets.push(response.socket)
    asked()
    if (sockets.length > 1)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"messages":[]}')
  })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const api = connectorApi({ url: server.url, key: 'key' }, 'name', 'instance', () => {})
    const asking = api.next(new AbortController().signal)
    await first
    // Two connections may hang, and there is time for a third before 15 s are over.
    vi.advanceTimersByTime(7000)
    expect(await asking).toEqual([])
    expect(new Set(sockets).size).toBe(2)
  } finally {
    vi.useRealTimers()
    await server.close()
  }
})
