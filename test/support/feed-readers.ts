/** Clients that follow a project's feed over graphql-ws, from cursor to cursor, and reconnect after every cut. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { randomSchedule } from './random.ts'

const random = randomSchedule()

export interface ToldEvent {
  cursor: string
  type: string
  generationId: string | null
  /** When the event arrived, by `performance.now()`. */
  heardAt: number
}

export interface FeedReader {
  told: ToldEvent[]
  /** Errors of the subscription, newest last. */
  errors: { message: string; extensions?: Record<string, unknown> }[]
  /** Resolves when this many events have arrived. */
  until(count: number): Promise<void>
  close(): Promise<void>
}

export interface FollowOptions {
  url: string
  key: string
  /** Null: from now. */
  after?: string | null
  types?: string[]
  /** Handles an error: returns the cursor from which to continue, or null to stop. */
  onError?: (error: FeedReader['errors'][number], last: string | null) => string | null
}

const document = `subscription($after: String, $types: [EventType!]) { projectEvents(after: $after, types: $types) {
  cursor type ... on GenerationEvent { generationId } } }`

export function followFeed(options: FollowOptions): FeedReader {
  const { url, key, onError = (_error, last) => last } = options
  const variables: Record<string, unknown> = { after: options.after ?? null, types: options.types }
  const waiting = new Set<() => void>()
  let closed = false
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    shouldRetry: () => !closed,
    retryWait: () => pause(20 + random() * 30),
  })
  const reader: FeedReader = {
    told: [],
    errors: [],
    async until(count) {
      while (reader.told.length < count) await new Promise<void>((resolve) => waiting.add(resolve))
    },
    async close() {
      closed = true
      await Promise.resolve(client.dispose()).catch(() => {})
    },
  }
  const subscribe = () =>
    client.subscribe<{ projectEvents: Omit<ToldEvent, 'heardAt'> }>(
      { query: document, variables },
      {
        next: ({ data, errors }) => {
          if (errors) reader.errors.push(...(errors as FeedReader['errors']))
          if (!data) return
          variables['after'] = data.projectEvents.cursor
          reader.told.push({ ...data.projectEvents, heardAt: performance.now() })
          for (const wake of waiting) wake()
          waiting.clear()
        },
        error: (error) => {
          const [first] = Array.isArray(error) ? (error as FeedReader['errors']) : []
          if (first) reader.errors.push(first)
          const after = onError(first ?? { message: String(error) }, variables['after'] as string | null)
          if (after === null && first) return
          variables['after'] = after
          if (!closed) void pause(30).then(subscribe)
        },
        complete: () => {
          if (!closed) void pause(30).then(subscribe)
        },
      },
    )
  subscribe()
  return reader
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
