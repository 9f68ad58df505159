/** Clients of a running server, as programs in Node use them. */
import { WebSocket } from 'ws'
import type { Core } from '../../client/core.ts'
import { createClient, type Client, type ClientOptions } from '../../client/index.ts'
import { eventStreamTransport } from '../../client/server-sent-events.ts'
import { serverOf } from '../../client/server.ts'
import { socketTransport } from '../../client/socket.ts'
import { adminKey, type Harness } from '../support/harness.ts'

/** Both ways in which events come. */
export const transports = [
  ['WebSocket', WebSocket],
  ['server-sent events', null],
] as const satisfies readonly (readonly [string, ClientOptions['webSocket']])[]

export const clientOf = (
  { url }: Pick<Harness, 'url'>,
  webSocket: ClientOptions['webSocket'] = WebSocket,
  more: Partial<ClientOptions> = {},
): Client => createClient({ url, key: adminKey, webSocket, ...more })

/** The parts of a client, which say how many of its streams have been told anything: each has its place by then. */
export function watchedCore(options: ClientOptions): Core & { told(count: number): Promise<void> } {
  const server = serverOf(options)
  const own = server.webSocket ? socketTransport(server) : eventStreamTransport(server)
  let streams = 0
  const waiting = new Set<() => void>()
  const note = () => {
    streams++
    for (const wake of waiting) wake()
  }
  const open: Core['transport']['open'] = (operation, listener) => {
    let isTold = false
    return own.open(operation, {
      lost: (reason) => listener.lost(reason),
      refused: (errors) => listener.refused(errors),
      completed: () => listener.completed(),
      next(result) {
        listener.next(result)
        if (!isTold) note()
        isTold = true
      },
    })
  }
  return {
    server,
    transport: { open, close: () => own.close() },
    async told(count) {
      while (streams < count) await new Promise<void>((resolve) => waiting.add(resolve))
    },
  }
}

/** The cursors of a generation's log, page by page. */
export async function logOf(h: Harness, generationId: string): Promise<string[]> {
  const cursors: string[] = []
  let after: string | null = null
  for (;;) {
    const { data }: { data: Record<string, any> } = await h.gql(
      `query($id: ID!, $after: String) { generation(id: $id) { events(after: $after, first: 100) {
        nodes { cursor } pageInfo { endCursor hasNextPage } } } }`,
      { id: generationId, after },
    )
    const page = data['generation'].events as {
      nodes: { cursor: string }[]
      pageInfo: { endCursor: string; hasNextPage: boolean }
    }
    cursors.push(...page.nodes.map(({ cursor }) => cursor))
    if (!page.pageInfo.hasNextPage) return cursors
    after = page.pageInfo.endCursor
  }
}

/** All durable events of an iterator. */
export async function durable<Event extends { type: string }>(
  events: AsyncIterable<Event>,
): Promise<Event[]> {
  const found: Event[] = []
  for await (const event of events) if (event.type !== 'TEXT_DELTA') found.push(event)
  return found
}
