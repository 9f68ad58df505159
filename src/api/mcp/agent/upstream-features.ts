/**
 * Prompts, resources and completions of the agent's upstreams as handlers of its server. Results are passed on as the
 * upstream sent them; the SDK's client has validated them, so they are cast to the SDK's types.
 */
import type {
  CompleteResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server'
import { hashJson, isJsonObject, type JsonObject } from '../../../core/json.ts'
import {
  relayCompletion,
  relayPrompt,
  relayResource,
  type UpstreamFeatures,
} from '../../../domain/bridge/index.ts'
import { threadIdOf, type AgentRequest } from '../http/agent-request.ts'
import { modernRelay, roundsChannel } from '../delivery/caller-channel.ts'
import { codes, faultError, protocolError, resourceFault, toProtocolError } from '../http/errors.ts'
import { readFeature } from '../delivery/feature-reads.ts'
import { addSubscriptions } from './resource-subscriptions.ts'

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
