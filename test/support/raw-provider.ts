/** A server of raw bytes on loopback, for faults that no well-behaved HTTP server can produce. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { settingsFor } from './strict-provider.ts'
import type { ProviderSettings } from '../../src/domain/models/providers/open-model.ts'
import type { Wire } from './wire-frames.ts'

export interface RawAnswer {
  /** Sent in order as HTTP chunks, each in its own packet; a promise is awaited. */
  chunks: (string | Uint8Array | Promise<unknown>)[]
  /** `clean` ends the response, `reset` resets the connection, `hang` leaves it open. */
  end?: 'clean' | 'reset' | 'hang'
  status?: string
  headers?: Record<string, string>
}

export interface RawProvider {
  url: string
  /** The bodies of the requests, oldest first. */
  requests: string[]
  /** Resolves when the next connection is closed, by either side. */
  closed(): Promise<void>
  script(...answers: RawAnswer[]): void
  settings(kind: Wire, more?: Partial<ProviderSettings>): ProviderSettings
  close(): Promise<void>
}

/** Starts on a free port. Each request takes the next answer of the script, on a connection of its own. */
export async function startRawProvider(): Promise<RawProvider> {
  const answers: RawAnswer[] = []
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      waiting.shift()?.()
    })
    serve(socket, requests, answers).catch(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    closed: () => new Promise((resolve) => waiting.push(resolve)),
    script: (...more) => void answers.push(...more),
    settings: (kind, more = {}) => settingsFor(kind, url, more),
    close: () => close(server, sockets),
  }
}

async function serve(socket: Socket, requests: string[], answers: RawAnswer[]): Promise<void> {
  requests.push(await requestBody(socket))
  const {
    chunks,
    end = 'clean',
    status = '200 OK',
    headers = {},
  } = answers.shift() ?? { chunks: [], end: 'reset' }
  const all = {
    'content-type': 'text/event-stream',
    'transfer-encoding': 'chunked',
    connection: 'close',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  await write(socket, `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`)
  for (const chunk of chunks) {
    if (chunk instanceof Promise) {
      await chunk
      continue
    }
    const bytes = Buffer.from(chunk as string)
    await write(
      socket,
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
    )
  }
  if (end === 'reset') socket.resetAndDestroy()
  if (end === 'clean') socket.end('0\r\n\r\n')
}

/** Resolves once the bytes are sent, so that the next ones are another packet. */
function write(socket: Socket, bytes: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : setImmediate(resolve)))
  })
}

async function requestBody(socket: Socket): Promise<string> {
  let bytes = Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      const head = bytes.indexOf('\r\n\r\n')
      if (head === -1) return
      const length = Number(/content-length: (\d+)/i.exec(bytes.subarray(0, head).toString())?.[1] ?? 0)
      if (bytes.length >= head + 4 + length) resolve(bytes.subarray(head + 4).toString())
    })
  })
}

async function close(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
}

/** A text in packets of this many bytes, cut anywhere: through characters and frames. */
export function inPieces(text: string, bytes: number): Uint8Array[] {
  const all = Buffer.from(text)
  const pieces: Uint8Array[] = []
  for (let at = 0; at < all.length; at += bytes) pieces.push(all.subarray(at, at + bytes))
  return pieces
}
