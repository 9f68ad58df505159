/** A subscription that survives a restart of the server: it resumes from the cursor of its last event. */
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
  /** Events in the order in which they were received, over all connections. */
  events: WatchedEvent[]
  /** How often a connection was opened. */
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

/** Starts the subscription. `onEvent` is called with every event, `onText` with every text delta. */
export function watchGeneration(
  from: { url: string; key: string; generationId: string },
  onEvent: (event: WatchedEvent) => void,
  onText: (text: string) => void,
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
  // The client sends this object again on each connection, so the stream resumes from its current cursor.
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
            if (event.type === 'TEXT_DELTA') return onText(event.text!)
            variables.after = event.cursor
            event.seq = generationPosition(event.cursor, from.generationId).at
            watch.events.push(event)
            onEvent(event)
          },
          error: (error) => reject(error instanceof Error ? error : new Error(JSON.stringify(error))),
          complete: () => resolve(),
        },
      )
    }),
  }
  return watch
}
