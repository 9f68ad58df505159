/** Prompts, resources, subscriptions to them and completions of the agent's upstreams as handlers of its server. */
import type {
  Server,
  CompleteResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject, hashJson } from '../../../core/json.ts'
import {
  maxSubscriptions,
  subscribeToResource,
  subscriptionOwner,
  unsubscribeFromResource,
  type UpstreamFeatures,
  relayCompletion,
  relayPrompt,
  relayResource,
} from '../../../domain/bridge/index.ts'
import { type LegacyRequest, threadIdOf, type AgentRequest, inSession } from '../http/agent-request.ts'
import { resourceFault, codes, faultError, protocolError, toProtocolError } from '../http/errors.ts'
import { modernRelay, roundsChannel } from '../delivery/caller-channel.ts'
import { readFeature } from '../delivery/feature-reads.ts'

/** Adds resources/subscribe and resources/unsubscribe. Updates are sent on the session's notification stream. */
function addSubscriptions(server: Server, request: LegacyRequest): void {
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

/** The server capabilities for these features. */
export function featureCapabilities(features: UpstreamFeatures): object {
  const { prompts, completions, subscribable } = features
  const resources = { listChanged: true, ...(subscribable.size > 0 ? { subscribe: true } : {}) }
  return {
    ...(prompts.size > 0 ? { prompts: { listChanged: true } } : {}),
    ...(hasResources(features) ? { resources } : {}),
    ...(completions ? { completions: {} } : {}),
  }
}

function hasResources({ resources, templates }: UpstreamFeatures): boolean {
  return resources.size > 0 || templates.length > 0
}

/** Adds the handlers of the features that the agent's upstreams have. */
export function addUpstreamFeatures(server: Server, request: AgentRequest): void {
  const { features } = request.surface
  if (features.prompts.size > 0) addPrompts(server, request)
  if (hasResources(features)) addResources(server, request)
  if (features.subscribable.size > 0 && request.era === 'legacy') addSubscriptions(server, request)
  if (features.completions)
    server.setRequestHandler(
      'completion/complete',
      async ({ params }, context) => (await complete(request, context, params)) as CompleteResult,
    )
}

function addPrompts(server: Server, request: AgentRequest): void {
  const { ctx, surface } = request
  const prompts = [...surface.features.prompts].map(([name, { definition }]) => ({
    ...asListed(definition),
    name,
  }))
  server.setRequestHandler('prompts/list', (): ListPromptsResult => ({ prompts }))
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: args } }, context) => {
    const caller = roundsChannel(request, context)
    const reader = { threadId: threadIdOf(request), caller }
    const result = await readFeature(request, context, {
      requestHash: hashJson(['prompts/get', name, args ?? {}]),
      caller,
      commit: () => relayPrompt(ctx, surface, name, args, reader),
    })
    return result as GetPromptResult
  })
}

function addResources(server: Server, request: AgentRequest): void {
  const { ctx, surface } = request
  const { resources, templates } = surface.features
  server.setRequestHandler('resources/list', () => {
    const listed = [...resources.values()].map(({ definition }) => asListed(definition))
    return { resources: listed } as ListResourcesResult
  })
  server.setRequestHandler('resources/templates/list', () => {
    const listed = templates.map(({ definition }) => asListed(definition))
    return { resourceTemplates: listed } as ListResourceTemplatesResult
  })
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const caller = roundsChannel(request, context)
    const reader = { threadId: threadIdOf(request), caller }
    const result = await readFeature(request, context, {
      requestHash: hashJson(['resources/read', uri]),
      caller,
      commit: () =>
        relayResource(ctx, surface, uri, reader).catch((error: unknown) => {
          throw resourceFault(error, uri)
        }),
    })
    return result as ReadResourceResult
  })
}

/** A stored definition as MCP lists it: without empty properties, `meta` as `_meta`. */
function asListed(definition: object): object {
  const { meta, ...rest } = definition as { meta?: unknown }
  const present = Object.entries(rest).filter(([, value]) => value !== null && value !== '')
  return { ...Object.fromEntries(present), ...(meta ? { _meta: meta } : {}) }
}

async function complete(request: AgentRequest, context: ServerContext, params: object): Promise<object> {
  const { ctx, surface, disconnected, runtime } = request
  const { _meta, ...own } = params as JsonObject
  try {
    const options = { relay: modernRelay(request, context), signal: disconnected }
    const reading = await relayCompletion(ctx, surface, own, options)
    if ('result' in reading) return reading.result
    if ('inputRequired' in reading)
      throw protocolError(
        codes.internal,
        'The upstream requires input, which completions do not support.',
        'input_required',
      )
    const { code, message, rpcCode, rpcData } = reading.fault
    if (rpcCode === null) throw protocolError(codes.internal, message, code)
    throw faultError({ code: rpcCode, message, ...(isJsonObject(rpcData) ? { data: rpcData } : {}) })
  } catch (error) {
    throw toProtocolError(error, runtime.log)
  }
}
