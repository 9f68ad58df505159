/** The three ways for a client to follow a generation, each with a cursor and a reconnect after a cut. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { ask } from './ask.ts'
import { randomSchedule } from './random.ts'

const random = randomSchedule()

export interface Following {
  url: string
  key: string
  generationId: string
  /** Aborts when the test is over. */
  signal: AbortSignal
}

/** Follows until the last event and returns all cursors in the order of arrival. */
export type Reader = (from: Following) => Promise<string[]>

const last = 'GENERATION_COMPLETED'
const document =
  'subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) { type cursor } }'
const pause = () => new Promise((resolve) => setTimeout(resolve, 20 + random() * 30))

interface StreamedEvent {
  type: string
  cursor: string
}

/** Records an event; returns true for the last one. A text delta is not an event of the log. */
function note(cursors: string[], event: StreamedEvent): boolean {
  if (event.type !== 'TEXT_DELTA') cursors.push(event.cursor)
  return event.type === last
}

/** graphql-ws, which reconnects by itself and sends the same variables object with a newer cursor. */
export const readBySocket: Reader = async ({ url, key, generationId, signal }) => {
  const cursors: string[] = []
  const variables: Record<string, unknown> = { id: generationId }
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    shouldRetry: () => !signal.aborted,
    retryWait: async () => void (await pause()),
  })
  const once = () =>
    new Promise<boolean>((resolve) => {
      let ended = false
      client.subscribe<{ generationEvents: StreamedEvent }>(
        { query: document, variables },
        {
          next: ({ data }) => {
            if (!data) return
            variables['after'] = data.generationEvents.cursor
            ended = note(cursors, data.generationEvents)
          },
          // The database may be unreachable when the stream opens: an error of this operation, not of the connection.
          error: () => resolve(false),
          complete: () => resolve(ended),
        },
      )
    })
  while (!signal.aborted && !(await once())) await pause()
  await Promise.resolve(client.dispose()).catch(() => {})
  return cursors
}

/** Server-sent events over fetch. */
export const readBySse: Reader = async ({ url, key, generationId, signal }) => {
  const cursors: string[] = []
  while (!signal.aborted) {
    const variables = { id: generationId, after: cursors.at(-1) ?? null }
    try {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        signal,
        headers: {
          accept: 'text/event-stream',
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
        },
        body: JSON.stringify({ query: document, variables }),
      })
      for await (const data of sseData(response)) {
        const event = (JSON.parse(data) as { data?: { generationEvents: StreamedEvent } }).data
          ?.generationEvents
        if (event && note(cursors, event)) return cursors
      }
    } catch {
      // The connection was cut.
    }
    await pause()
  }
  return cursors
}

async function* sseData(response: Response): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = frames.pop()!
    for (const frame of frames) {
      const data = frame.split('\n').find((row) => row.startsWith('data: {'))
      if (data) yield data.slice('data: '.length)
    }
  }
}

/** The query with the same cursors, repeated. */
export const readByPolling: Reader = async ({ url, key, generationId, signal }) => {
  const cursors: string[] = []
  const query =
    'query($id: ID!, $after: String) { generation(id: $id) { events(after: $after, first: 50) { nodes { type cursor } } } }'
  while (!signal.aborted) {
    const variables = { id: generationId, after: cursors.at(-1) ?? null }
    const nodes = await ask(url, key, query, variables).then(
      ({ data }) => (data?.['generation']?.events.nodes ?? []) as StreamedEvent[],
      () => [],
    )
    for (const node of nodes) if (note(cursors, node)) return cursors
    if (nodes.length < 50) await pause()
  }
  return cursors
}

export interface SseFeed {
  cursors: string[]
  /** Streams opened so far. */
  streams(): number
  close(): Promise<void>
}

const feedDocument = `subscription($after: String, $types: [EventType!]) {
  projectEvents(after: $after, types: $types) { cursor } }`

/** Follows a project's feed from its beginning over SSE, on any server; reconnects after the last cursor. */
export function followFeedBySse(from: { key: string; anyUrl(): string; types: string[] }): SseFeed {
  const cursors: string[] = []
  const abort = new AbortController()
  let streams = 0
  const once = async () => {
    const response = await fetch(`${from.anyUrl()}/graphql`, {
      method: 'POST',
      signal: abort.signal,
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        authorization: `Bearer ${from.key}`,
      },
      body: JSON.stringify({
        query: feedDocument,
        variables: { after: cursors.at(-1) ?? '0', types: from.types },
      }),
    })
    streams++
    for await (const data of sseData(response)) {
      const { data: told } = JSON.parse(data) as { data?: { projectEvents: { cursor: string } } }
      // An event that could not be loaded is sent again after the previous cursor.
      if (!told) return
      cursors.push(told.projectEvents.cursor)
    }
  }
  const following = (async () => {
    while (!abort.signal.aborted) {
      await once().catch(() => {})
      await pause()
    }
  })()
  return { cursors, streams: () => streams, close: () => (abort.abort(), following) }
}
