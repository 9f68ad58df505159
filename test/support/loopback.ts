/** A real HTTP server on 127.0.0.1 that responds as the test specifies and records its requests. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

interface SeenRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

export interface Loopback {
  /** Without a slash at the end. */
  url: string
  /** `127.0.0.1:port`, as an allow-list entry. */
  address: string
  port: number
  seen: SeenRequest[]
  /** Connections accepted so far. */
  connections(): number
  /** Resolves with the next request, or with one that has already arrived. */
  nextRequest(): Promise<SeenRequest>
  close(): Promise<void>
}

export type Answering = (request: SeenRequest, response: ServerResponse, raw: IncomingMessage) => void

/** Listens on a free port. The body of a request has been read when `answer` is called. */
export async function startLoopback(answer: Answering): Promise<Loopback> {
  const seen: SeenRequest[] = []
  const waiting: ((request: SeenRequest) => void)[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer(async (raw, response) => {
    let body = ''
    for await (const chunk of raw) body += String(chunk)
    const request = { method: raw.method!, url: raw.url!, headers: raw.headers, body }
    seen.push(request)
    waiting.splice(0).forEach((tell) => tell(request))
    answer(request, response, raw)
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    address: `127.0.0.1:${port}`,
    port,
    seen,
    connections: () => connections,
    nextRequest: () =>
      new Promise((resolve) => (seen.length > 0 ? resolve(seen.at(-1)!) : waiting.push(resolve))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        sockets.forEach((socket) => socket.destroy())
      }),
  }
}
