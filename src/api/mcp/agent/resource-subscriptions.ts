/** Resource subscriptions: requests of a legacy session, and the filter of a modern `subscriptions/listen`. */
import type { Server } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import {
  maxSubscriptions,
  subscribeToResource,
  subscriptionOwner,
  unsubscribeFromResource,
  type UpstreamFeatures,
} from '../../../domain/bridge/index.ts'
import type { LegacyRequest } from '../http/agent-request.ts'
import { resourceFault } from '../http/errors.ts'
import { inSession } from '../http/session-requests.ts'

/** Adds resources/subscribe and resources/unsubscribe. Updates are sent on the session's notification stream. */
export function addSubscriptions(server: Server, request: LegacyRequest): void {
  const { ctx, surface } = request
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) =>
    inSession(request, (session) =>
      subscribeToResource(ctx, surface, session, uri).catch((error: unknown) => {
        throw resourceFault(error, uri)
      }),
    ),
  )
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) =>
    inSession(request, (session) => unsubscribeFromResource(ctx, session, uri)),
  )
}

/**
 * Limits the filter of a `subscriptions/listen` to resources whose upstream reports changes, so that the SDK
 * acknowledges exactly what will be notified. Returns the changed message and the resources.
 */
export function limitFilter(
  message: JsonObject,
  features: UpstreamFeatures,
): { body: JsonObject; uris: string[] } {
  const params = isJsonObject(message['params']) ? message['params'] : {}
  const filter = isJsonObject(params['notifications']) ? params['notifications'] : {}
  const requested = filter['resourceSubscriptions']
  // The SDK refuses anything but a list of strings.
  if (!Array.isArray(requested) || requested.some((uri) => typeof uri !== 'string'))
    return { body: message, uris: [] }
  const uris = [...new Set(requested as string[])]
    .filter((uri) => subscriptionOwner(features, uri) !== null)
    .slice(0, maxSubscriptions)
  const notifications = { ...filter, resourceSubscriptions: uris }
  return { body: { ...message, params: { ...params, notifications } }, uris }
}
