/** Clients that want to hear of single resources: sessions of the old era by request, the newer one in its stream's filter. */
import type { Server } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import {
  maxSubscriptions,
  subscribeToResource,
  unsubscribeFromResource,
  watcherOfResource,
  type Conversation,
  type Offers,
} from '../../domain/bridge/index.ts'
import { codes, protocolError, resourceFault, toProtocolError } from './errors.ts'
import type { Visit } from './visit.ts'

/** Adds `resources/subscribe` and `resources/unsubscribe`. What a session wants to hear goes over its stream. */
export function addSubscriptions(server: Server, visit: Visit): void {
  const { ctx, surface, log } = visit
  const answer = async (act: (session: Conversation) => Promise<void>): Promise<object> => {
    try {
      if (!visit.session)
        throw protocolError(
          codes.invalidRequest,
          'A subscription belongs to a session: begin with initialize and send its Mcp-Session-Id.',
          'session_required',
        )
      await act(visit.session)
      return {}
    } catch (error) {
      throw toProtocolError(error, log)
    }
  }
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) =>
    answer((session) =>
      subscribeToResource(ctx, surface, session, uri).catch((error: unknown) => {
        throw resourceFault(error, uri)
      }),
    ),
  )
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) =>
    answer((session) => unsubscribeFromResource(ctx, session, uri)),
  )
}

/**
 * The resources that a `subscriptions/listen` asks for, as far as they can be watched; the body asks for no others, so
 * that what is acknowledged is what is told.
 */
export function askedFor(body: JsonObject, offers: Offers): { body: JsonObject; uris: string[] } {
  const params = isJsonObject(body['params']) ? body['params'] : {}
  const filter = isJsonObject(params['notifications']) ? params['notifications'] : {}
  const asked = filter['resourceSubscriptions']
  // What is no list of texts is refused by the protocol.
  if (!Array.isArray(asked) || asked.some((uri) => typeof uri !== 'string')) return { body, uris: [] }
  const uris = [...new Set(asked as string[])]
    .filter((uri) => watcherOfResource(offers, uri) !== null)
    .slice(0, maxSubscriptions)
  const notifications = { ...filter, resourceSubscriptions: uris }
  return { body: { ...body, params: { ...params, notifications } }, uris }
}
