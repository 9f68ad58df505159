/** An endpoint of webhooks on loopback: verifies every delivery with the official library and answers as the test says. */
import { sql } from 'drizzle-orm'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { query } from '../../src/store/db/database.ts'
import type { Harness } from './harness.ts'

export interface Received {
  path: string
  id: string
  type: string
  data: Record<string, any>
  headers: IncomingHttpHeaders
  raw: string
}

/** Writes the response, or leaves it open. */
type Respond = (got: Received, response: ServerResponse) => void

export interface Receiver {
  url: string
  /** Everything that was accepted by signature, in the order of arrival. */
  received: Received[]
  /** Deliveries whose signature the library refused, as its messages. */
  refused: string[]
  /** Later deliveries must be signed with this secret; null: none is verified. */
  secret: string | null
  respond: Respond
  /** Resolves when `enough` is true of what was received. */
  until(enough: (received: Received[]) => boolean): Promise<void>
  close(): Promise<void>
}

export const accept: Respond = (_got, response) => void response.writeHead(204).end()

export async function openReceiver(respond: Respond = accept): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const arrivals = openArrivals(() => receiver.received)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString()
      const headers = request.headers
      try {
        if (receiver.secret) new Webhook(receiver.secret).verify(raw, headers as Record<string, string>)
      } catch (error) {
        receiver.refused.push((error as Error).message)
        return void response.writeHead(401).end()
      }
      const { type, data } = JSON.parse(raw) as Pick<Received, 'type' | 'data'>
      const got = { path: request.url!, id: String(headers['webhook-id']), type, data, headers, raw }
      receiver.received.push(got)
      arrivals.wake()
      receiver.respond(got, response)
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    refused: [],
    secret: null,
    respond,
    until: arrivals.until,
    close: () => closeWith(server, sockets),
  }
  return receiver
}

/** What a test waits for among the things that have arrived; `wake` after each. */
export function openArrivals<Thing>(all: () => Thing[]) {
  let waiters: (() => void)[] = []
  return {
    wake: () => waiters.forEach((look) => look()),
    until: (enough: (things: Thing[]) => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!enough(all())) return
          waiters = waiters.filter((one) => one !== look)
          resolve()
        }
        waiters.push(look)
        look()
      }),
  }
}

/** Ends a server with its open connections. */
export async function closeWith(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
}

/** Everything that waits to be sent is due now, as if the time had passed. */
export async function passTime({ app }: Harness): Promise<void> {
  const { db, pubsub } = app.services
  await query(db, sql`update webhook_deliveries set next_at = now() where next_at is not null`)
  await query(
    db,
    sql`update webhook_cursors set asked = asked + 1, wake_at = now() where status in ('IDLE', 'WAITING')`,
  )
  pubsub.publish([{ kind: 'work', table: 'webhook_cursors' }])
}
