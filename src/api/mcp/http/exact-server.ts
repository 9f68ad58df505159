/** A server of the SDK whose handlers see and return exact numbers: the SDK copies and validates doubles only. */
import { Server } from '@modelcontextprotocol/server'
import { packed, unpacked } from '../../../core/json.ts'

/**
 * Creates a server. Its requests come in packed (`transports.ts`), handlers get them as they were sent, and results go out
 * packed, until `writeReply` completes their text.
 */
export function exactServer(...given: ConstructorParameters<typeof Server>): Server {
  const server = new Server(...given)
  const set = server.setRequestHandler.bind(server) as (...parts: unknown[]) => void
  server.setRequestHandler = (...parts: unknown[]) => {
    const handler = parts.pop() as (request: unknown, context: unknown) => unknown
    set(...parts, async (request: unknown, context: unknown) =>
      packed(await handler(unpacked(request), context)),
    )
  }
  return server
}
