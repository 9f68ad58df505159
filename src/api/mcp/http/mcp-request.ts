/** An HTTP request to an MCP endpoint, authenticated and with its body parsed. The protocol has not been looked at yet. */
import type { IncomingMessage } from 'node:http'
import type { Ctx } from '../../../domain/access/index.ts'

/** The first protocol version in which each request describes itself, and the only one that is served so far. */
export const modernVersion = '2026-07-28'

export interface McpRequest {
  http: IncomingMessage
  /** The public URL of the endpoint. */
  url: string
  /** The parsed JSON of a POST; undefined for other methods. */
  body: unknown
  ctx: Ctx
  /** Aborts when the client disconnects before the response is complete. */
  disconnected: AbortSignal
  /** Aborts when the response is complete, or the client has disconnected. */
  ended: AbortSignal
}

/** Whether the response may be a stream of server-sent events. */
export function acceptsStream({ http }: Pick<McpRequest, 'http'>): boolean {
  return http.headers.accept?.includes('text/event-stream') ?? false
}
