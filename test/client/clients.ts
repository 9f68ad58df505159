/** Clients of a running server, as programs in Node use them. */
import { WebSocket } from 'ws'
import { createClient, type Client, type ClientOptions } from '../../client/index.ts'
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

/** The cursors of a generation's log, page by page. */
export async function logOf(h: Harness, generationId: string): Promise<string[]> {
  const cursors: string[] = []
  let after: string | null = null
  for (;;) {
    const { data }: { data: Record<string, any> } = await h.gql(
      `query($id: ID!, $after: String) { generation(id: $id) { events(after: $after, first: 100) {
        nodes { cursor } endCursor hasMore } } }`,
      { id: generationId, after },
    )
    const page = data['generation'].events as {
      nodes: { cursor: string }[]
      endCursor: string
      hasMore: boolean
    }
    cursors.push(...page.nodes.map(({ cursor }) => cursor))
    if (!page.hasMore) return cursors
    after = page.endCursor
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
