/** One subscription that outlives the server: it comes back with the cursor of the last event it has. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { generationPosition } from '../../src/store/events/position.ts'

export interface WatchedEvent {
  seq: number
  type: string
  cursor: string
  at: string
  [field: string]: unknown
}

export interface Watch {
  /** Facts in the order in which they came, over all connections. */
  events: WatchedEvent[]
  /** Times the connection was made. */
  connections: number
  /** Resolves when the stream has ended by itself, after the last event. */
  ended: Promise<void>
  close(): void
}

const document = `subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) {
  __typename type cursor at
  ... on TextDeltaEvent { text }
  ... on ToolCallProposedEvent { name toolCall { arguments } }
  ... on ToolCallStartedEvent { name attempt }
  ... on ToolCallSettledEvent { name status }
  ... on RequiresActionEvent { toolCalls { id name arguments } }
  ... on MessageCommittedEvent { stepIndex step { text } }
  ... on ApprovalRequestedEvent { name approval { id arguments expiresAt } }
  ... on ApprovalDecidedEvent { name verdict approval { decision { byName } } }
  ... on ApprovalExpiredEvent { name }
  ... on StepResetEvent { attempt reason }
  ... on GenerationCompletedEvent { stopReason } } }`

/** Opens the watch. `hear` gets every fact, `read` every piece of text on its way. */
export function watchGeneration(
  from: { url: string; key: string; generationId: string },
  hear: (event: WatchedEvent) => void,
  read: (text: string) => void,
): Watch {
  const client = createClient({
    url: `${from.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${from.key}` },
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 200)),
    on: { connected: () => watch.connections++ },
  })
  // The same object is sent again on each connection, so what it says at that moment is where the stream goes on.
  const variables: { id: string; after?: string } = { id: from.generationId }
  let close = () => {}
  const watch: Watch = {
    events: [],
    connections: 0,
    close: () => close(),
    ended: new Promise((resolve, reject) => {
      close = client.subscribe<{ generationEvents: WatchedEvent & { text?: string } }>(
        { query: document, variables },
        {
          next: ({ data, errors }) => {
            if (!data) return reject(new Error(errors?.[0]?.message ?? 'no data'))
            const event = data.generationEvents
            if (event.type === 'TEXT_DELTA') return read(event.text!)
            variables.after = event.cursor
            event.seq = generationPosition(event.cursor, from.generationId).at
            watch.events.push(event)
            hear(event)
          },
          error: (error) => reject(error instanceof Error ? error : new Error(JSON.stringify(error))),
          complete: () => resolve(),
        },
      )
    }),
  }
  return watch
}
