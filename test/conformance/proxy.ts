/** A door for clients that can send no credentials: adds a key and passes everything else on, both ways, unbuffered. */
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Proxy {
  port: number
  close(): Promise<void>
}

/**
 * Listens on loopback. Host and Origin pass as they are, for they are judged behind it; its own port is put back. `seen`
 * receives the JSON-RPC method of every request.
 */
export async function startProxy(
  target: URL,
  key: string,
  seen: (method: string) => void = () => {},
): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => {
    const own = (incoming.socket.localPort ?? 0).toString()
    const back = (value: string | undefined) => value?.replace(`:${own}`, `:${target.port}`)
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` }
    const { host, origin } = incoming.headers
    const onward = ask(
      {
        host: target.hostname,
        port: target.port,
        path: target.pathname,
        method: incoming.method,
        headers: {
          ...headers,
          ...(host ? { host: back(host) } : {}),
          ...(origin ? { origin: back(origin) } : {}),
        },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        outgoing.flushHeaders()
        answer.pipe(outgoing)
        answer.on('error', () => outgoing.destroy())
      },
    )
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => seen(methodOf(Buffer.concat(chunks).toString())))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function methodOf(body: string): string {
  try {
    return String((JSON.parse(body) as { method?: unknown }).method)
  } catch {
    return ''
  }
}
