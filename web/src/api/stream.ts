/** Subscriptions as server-sent events, for a page behind a proxy that lets no WebSocket through. */
import { eventStreamTransport } from '../../../client/server-sent-events.ts'
import { currentPrincipal } from './session.ts'
import { noteStream } from './socket.ts'

interface Listener {
  next(result: object): void
  error(error: unknown): void
  complete(): void
}

const transport = eventStreamTransport({
  url: '/graphql',
  async fetch(input, init) {
    const headers = {
      ...(init?.headers as Record<string, string>),
      'gatehouse-principal': currentPrincipal() ?? '',
    }
    const response = await fetch(input, { ...init, headers })
    if (response.ok) noteStream('connected')
    return response
  },
  credentials: 'same-origin',
  authorization: async () => null,
})

/** Opens one. After a loss, `error` hears of it, and the WebSocket is tried again. Returns what ends it. */
export function openStream(
  operation: { query: string; variables: Record<string, unknown> },
  { next, error, complete }: Listener,
): () => void {
  return transport.open(operation, {
    next,
    refused: error,
    completed: complete,
    lost(reason) {
      noteStream('connecting')
      error(reason)
    },
  })
}
