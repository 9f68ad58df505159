/** Requests that ask for another protocol than HTTP/1.1. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defaultServerLimits, listen, type HttpServer, type Routes } from '../../../src/api/http/server.ts'

const routes: Routes = {
  mcp: null,
  known: [
    {
      serves: (path) => path === '/echo',
      async serve(request, response, readBody) {
        const body = await readBody('somebody')
        response.end(`${request.method} ${request.headers['x-name']} ${body!.toString()}`)
      },
    },
  ],
  open: [],
  web: null,
  upgrade: null,
  hostFault: (host) => (host === 'localhost' ? null : 'refused'),
  takeAnonymous: () => 0,
  connectionName: () => 'one',
  ready: async () => true,
  release: () => ({}),
  allowOrigin: () => false,
}

let server: HttpServer
const limits = { ...defaultServerLimits, maxConnectionsPerAddress: 2 }
beforeEach(async () => (server = await listen(routes, '127.0.0.1', 0, limits)))
afterEach(() => server.close(0))

/** A client that keeps its side of the connection open whatever the server does. */
function open(): { socket: Socket; until(text: RegExp): Promise<string> } {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  let said = ''
  socket.on('error', () => {}).on('data', (bytes) => (said += bytes.toString()))
  const until = async (text: RegExp) => {
    while (!text.test(said)) await once(socket, 'data', { signal: AbortSignal.timeout(5000) })
    return said
  }
  return { socket, until }
}

const offer =
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n'

test('a client that offers HTTP/2, as that of Java, is served over HTTP/1.1, again and again', async () => {
  const { socket, until } = open()
  const post = (head: string, name: string) =>
    `POST /echo HTTP/1.1\r\nHost: localhost\r\n${head}X-Name: ${name}\r\nContent-Length: 11\r\n\r\n`
  socket.write(post(offer, 'J\u00fcrgen'), 'latin1')
  socket.write('first ')
  setImmediate(() => socket.write('words'))
  expect(await until(/words/)).toMatch(/^HTTP\/1.1 200 [^]*POST J\u00fcrgen first words/)
  socket.write(`${post(offer, 'Ann')}other words${post('', 'Bob')}plain words`)
  expect(await until(/plain/)).toMatch(/POST Ann other words[^]*POST Bob plain words/)
  socket.destroy()
})

test('a connection counts once, however often its client offers', async () => {
  const { socket, until } = open()
  for (const word of ['one', 'two', 'three']) {
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: localhost\r\n${offer}Content-Length: 5\r\n\r\n${word.padEnd(5)}`,
    )
    expect(await until(new RegExp(word))).toContain(word)
  }
  socket.destroy()
})

test('what it asks for is judged as any other request', async () => {
  const { socket, until } = open()
  socket.write(`GET /echo HTTP/1.1\r\nHost: foreign\r\n${offer}\r\n`)
  expect(await until(/refused/)).toMatch(/^HTTP\/1.1 403 /)
  socket.destroy()
})

test('a refused client that keeps its side open is cut off, also when it has sent more', async () => {
  const { socket, until } = open()
  socket.write(
    `GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  await until(/^HTTP\/1.1 404 /)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write('frames')
  const writes = setInterval(() => socket.write('frames'), 100)
  await closed.finally(() => clearInterval(writes))
})

test('a refused client does not hold up the end of the server', async () => {
  const { socket, until } = open()
  socket.write(
    `GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  await until(/^HTTP\/1.1 404 /)
  await server.close(0)
  socket.destroy()
})
