/** Kept connections: what is repeated, and what never is, when the server closes one at the worst moment. */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEgress, type Egress, type EgressOptions } from '../../../src/domain/egress/index.ts'

const opened: { close(): unknown }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

interface Raw {
  url: string
  /** The requests by connection, in the order of arrival: the request line of each. */
  seen: string[][]
  /** Ends the connection of that number from the server's side. */
  reset(connection: number): void
}

/** A server that speaks bytes: it answers the n-th request of a connection as the test says. */
async function rawServer(answer: (socket: Socket, connection: number, nth: number) => void): Promise<Raw> {
  const seen: string[][] = []
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    const connection = sockets.push(socket) - 1
    const lines: string[] = []
    seen.push(lines)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        lines.push(text.slice(0, text.indexOf('\r\n')))
        text = text.slice(end + 4 + length)
        answer(socket, connection, lines.length)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({ close: () => (sockets.forEach((socket) => socket.destroy()), server.close()) })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, seen, reset: (n) => void sockets[n]!.resetAndDestroy() }
}

const ok = (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')

function open(options: EgressOptions = {}): Egress {
  const egress = createEgress({ allowPrivate: true, allowList: [] }, options)
  opened.push(egress)
  return egress
}

/** How far the clocks are ahead: while the machine sleeps, only the wall clock goes on. */
let aheadMs = 0
let asleepMs = 0
const wall = Date.now
const monotonic = performance.now.bind(performance)
beforeEach(() => {
  aheadMs = asleepMs = 0
  vi.spyOn(Date, 'now').mockImplementation(() => wall() + aheadMs + asleepMs)
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + aheadMs)
})

/** One request, after every connection had time to rest, however long it took to open it. */
const post = (egress: Egress, url: string, more: object = {}) => {
  aheadMs += 500
  return postAtOnce(egress, url, more)
}

const postAtOnce = (egress: Egress, url: string, more: object = {}) =>
  egress.request({
    method: 'POST',
    url,
    body: '{}',
    timeoutMs: 5000,
    maxBytes: 1000,
    keptFor: 'one',
    ...more,
  })

test.each([true, false])(
  'requests one after the other share a connection, repeatable: %s',
  async (isRepeatable) => {
    const { url, seen } = await rawServer(ok)
    const egress = open()
    for (let i = 0; i < 4; i++) expect(await post(egress, url, { isRepeatable })).toMatchObject({ ok: true })
    expect(seen.map((lines) => lines.length)).toEqual([4])
    expect(egress.kept).toEqual({ reused: 3, lost: 0, unasked: 0 })
  },
)

test('a connection rests before it is used again: what the server wrote with the response may be on its way', async () => {
  const { url, seen } = await rawServer(ok)
  const egress = open()
  for (let i = 0; i < 3; i++) await postAtOnce(egress, url)
  expect(seen.map((lines) => lines.length)).toEqual([1, 1, 1])
  asleepMs += 500
  await postAtOnce(egress, url)
  expect(seen.map((lines) => lines.length)).toEqual([1, 1, 1, 1])
  await post(egress, url)
  expect(seen.map((lines) => lines.length)).toEqual([1, 1, 1, 2])
})

test('concurrent requests have a connection each', async () => {
  const { url, seen } = await rawServer(ok)
  const egress = open()
  await Promise.all(Array.from({ length: 5 }, () => post(egress, url)))
  expect(seen.map((lines) => lines.length)).toEqual([1, 1, 1, 1, 1])
})

test.each([
  ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ['closes the connection', (socket: Socket) => void socket.end()],
])(
  'a server that %s when the second request arrives gets a POST once, and its outcome is unknown',
  async (_what, close) => {
    const { url, seen } = await rawServer((socket, _connection, nth) =>
      nth === 1 ? ok(socket) : close(socket),
    )
    const egress = open()
    await post(egress, url)
    expect(await post(egress, url)).toMatchObject({ ok: false, error: { code: 'NETWORK', sent: true } })
    expect(seen.flat()).toHaveLength(2)
    expect(egress.kept).toEqual({ reused: 1, lost: 1, unasked: 0 })
    expect(await post(egress, url), 'the next one has a new connection').toMatchObject({ ok: true })
  },
)

test.each([
  ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ['closes the connection', (socket: Socket) => void socket.end()],
])(
  'a server that %s when the second request arrives gets a repeatable one once more',
  async (_what, close) => {
    const { url, seen } = await rawServer((socket, connection, nth) =>
      connection === 0 && nth === 2 ? close(socket) : ok(socket),
    )
    const egress = open()
    await post(egress, url, { isRepeatable: true })
    expect(await post(egress, url, { isRepeatable: true })).toMatchObject({ ok: true, status: 200 })
    expect(seen.map((lines) => lines.length)).toEqual([2, 1])
    expect(egress.kept.lost).toBe(1)
  },
)

test('a new connection that is lost is no reason to send anything again', async () => {
  const { url, seen } = await rawServer((socket) => void socket.resetAndDestroy())
  const outcome = await post(open(), url, { isRepeatable: true })
  expect(outcome).toMatchObject({ ok: false, error: { sent: true } })
  expect(seen.flat()).toHaveLength(1)
})

test('a repeated request that is lost again is not sent a third time', async () => {
  const { url, seen } = await rawServer((socket, connection) =>
    connection === 0 && seen[0]!.length === 1 ? ok(socket) : void socket.resetAndDestroy(),
  )
  const egress = open()
  await post(egress, url, { isRepeatable: true })
  expect(await post(egress, url, { isRepeatable: true })).toMatchObject({ ok: false, error: { sent: true } })
  expect(seen.map((lines) => lines.length)).toEqual([2, 1])
})

test.each([
  ['a part of the head', 'HTTP/1.1 200 O'],
  ['a part of the body', 'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf'],
])('after %s nothing is sent again, although it may be repeated', async (_what, part) => {
  const { url, seen } = await rawServer((socket, _connection, nth) =>
    nth === 1 ? ok(socket) : void socket.write(part, () => socket.destroy()),
  )
  const egress = open()
  await post(egress, url, { isRepeatable: true })
  expect(await post(egress, url, { isRepeatable: true })).toMatchObject({ ok: false, error: { sent: true } })
  expect(seen.flat()).toHaveLength(2)
})

test('nothing is repeated when the lease has ended meanwhile', async () => {
  const { url, seen } = await rawServer((socket, _connection, nth) =>
    nth === 1 ? ok(socket) : void socket.resetAndDestroy(),
  )
  const egress = open()
  await post(egress, url, { isRepeatable: true })
  let asked = 0
  const mayStart = () => ++asked === 1
  expect(await post(egress, url, { isRepeatable: true, mayStart })).toMatchObject({
    ok: false,
    error: { code: 'NETWORK', sent: true },
  })
  expect(asked).toBe(2)
  expect(seen.flat()).toHaveLength(2)
})

test('a request that may not be repeated gets a new connection after a second, also when the process was suspended', async () => {
  const { url, seen } = await rawServer(ok)
  const egress = open()
  await post(egress, url)
  asleepMs += 1500
  await post(egress, url)
  expect(seen.map((lines) => lines.length)).toEqual([1, 1])
  asleepMs += 2500
  await post(egress, url, { isRepeatable: true })
  expect(
    seen.map((lines) => lines.length),
    'a repeatable one may wait for longer',
  ).toEqual([1, 2])
})

test('a connection that the server has closed is not used', async () => {
  const { url, seen, reset } = await rawServer(ok)
  const egress = open()
  await post(egress, url)
  reset(0)
  // Until this process has read the reset; a request before that has an unknown outcome.
  await expect.poll(() => post(egress, url).then(({ ok: done }) => done)).toBe(true)
  expect(seen[0]).toHaveLength(1)
})

test('a server that asks to close is not asked again on that connection', async () => {
  const { url, seen } = await rawServer((socket) =>
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'),
  )
  const egress = open()
  for (let i = 0; i < 3; i++) expect(await post(egress, url)).toMatchObject({ ok: true })
  expect(seen.map((lines) => lines.length)).toEqual([1, 1, 1])
})

test('a body that was not read to its end closes its connection', async () => {
  const { url, seen } = await rawServer(
    (socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n${'x'.repeat(100)}`),
  )
  const egress = open()
  expect(await post(egress, url, { maxBytes: 10 })).toMatchObject({ ok: true, truncated: true })
  expect(await post(egress, url, { maxBytes: 10 })).toMatchObject({ ok: true })
  expect(seen.map((lines) => lines.length)).toEqual([1, 1])
})

test('the name of a connection in constant use is resolved and checked again after a minute', async () => {
  const { url, seen } = await rawServer(ok)
  let address = '127.0.0.1'
  const { port } = new URL(url)
  const guarded = createEgress({ allowPrivate: true, allowList: [] }, { lookup: async () => [address] })
  opened.push(guarded)
  const named = `http://api.test:${port}/`
  await post(guarded, named)
  address = '127.0.0.2'
  // Fifty-five seconds, and then six.
  for (let i = 0; i < 110; i++) await post(guarded, named)
  expect(seen).toHaveLength(1)
  for (let i = 0; i < 12; i++) await post(guarded, named)
  // The server listens on the first address only.
  expect(await post(guarded, named)).toMatchObject({ ok: false, error: { code: 'CONNECT', sent: false } })
})

const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`

test.each([
  ['in the same packet', (socket: Socket, own: string) => void socket.write(own + answer('ghost'))],
  [
    'in a packet of its own',
    (socket: Socket, own: string) => {
      socket.write(own)
      socket.write(answer('ghost'))
    },
  ],
  [
    'a moment later',
    (socket: Socket, own: string) => void socket.write(own, () => void socket.write(answer('ghost'))),
  ],
  [
    'as late as an acknowledgement may be',
    (socket: Socket, own: string) => {
      socket.write(own)
      setTimeout(() => void socket.write(answer('ghost')), 40)
    },
  ],
])(
  'a second response to a request, %s, is never that of another request, and is told of',
  async (_when, twice) => {
    let count = 0
    const { url } = await rawServer((socket) => twice(socket, answer(`own ${++count}`)))
    const told: string[] = []
    const egress = open({ onUnasked: (origin) => void told.push(origin) })
    const outcomes = []
    // Fewer than the connections that are kept.
    for (let i = 0; i < 24; i++) outcomes.push(await postAtOnce(egress, url))
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: true, status: 200 })
    expect(outcomes.map((one) => (one.ok ? one.bytes.toString() : ''))).toEqual(
      outcomes.map((_one, i) => `own ${i + 1}`),
    )
    await expect.poll(() => told.length).toBe(24)
    expect(told[0]).toBe(new URL(url).origin)
    expect(egress.kept).toEqual({ reused: 0, lost: 0, unasked: 24 })
  },
)

test('a kept connection serves its owner alone, and without an owner none is kept', async () => {
  const { url, seen } = await rawServer(ok)
  const egress = open()
  for (const keptFor of ['one', 'two', 'one', null, null])
    await post(egress, url, { keptFor, isRepeatable: true })
  expect(seen.map((lines) => lines.length)).toEqual([2, 1, 1, 1])
})

test.each([
  ['at once', ['HTTP/1.1 100 Continue\r\n\r\n', answer('fine')]],
  ['twice', ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Go on\r\nx: y\r\n\r\n', answer('fine')]],
  ['in pieces', ['HTTP/1.', '1 100 Continue\r\n', '\r', `\n${answer('fine')}`]],
  ['with the response', [`HTTP/1.1 100 Continue\r\n\r\n${answer('HTTP/1.1 100 in a body')}`]],
])('a 100 Continue that nobody asked for is no failure: %s', async (_how, packets) => {
  const { url, seen } = await rawServer((socket) => void writeApart(socket, packets))
  const egress = open()
  for (let i = 0; i < 2; i++)
    expect(await post(egress, url)).toMatchObject({ ok: true, status: 200, bytes: expect.anything() })
  expect(seen).toHaveLength(1)
  const fetched = await egress.fetch(url, { method: 'POST', body: '{}' })
  expect(await fetched.text()).toMatch(/fine|100 in a body/)
})

async function writeApart(socket: Socket, packets: readonly string[]): Promise<void> {
  for (const packet of packets) {
    await new Promise<void>((resolve) => void socket.write(packet, () => resolve()))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
