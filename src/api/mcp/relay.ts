/** Prompts, resources and completions of the agent's upstreams, and what passes between them and this client. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { hashJson, isJsonObject, type JsonObject } from '../../core/json.ts'
import {
  relayCompletion,
  relayPrompt,
  relayResource,
  type Caller,
  type RelayedWords,
} from '../../domain/bridge/index.ts'
import { codes, faultError, protocolError, resourceFault, toProtocolError } from './errors.ts'
import { deliverRead } from './reads.ts'
import { addSubscriptions } from './resource-updates.ts'
import type { Visit } from './visit.ts'

/** What the server says that it can do for the upstreams of this agent. */
export function relayedCapabilities({ surface }: Visit): object {
  const { prompts, resources, templates, completes, watchable } = surface.offers
  const tells = { listChanged: true, ...(watchable.size > 0 ? { subscribe: true } : {}) }
  return {
    ...(prompts.size > 0 ? { prompts: { listChanged: true } } : {}),
    ...(resources.size > 0 || templates.length > 0 ? { resources: tells } : {}),
    ...(completes ? { completions: {} } : {}),
  }
}

/** The client's own words for an upstream: what it declared, answered and wants to hear. Nothing that it did not say. */
export function wordsOf(visit: Visit, mcp: ServerContext): RelayedWords {
  const { mcpReq } = mcp
  const envelope = (mcpReq.envelope ?? {}) as JsonObject
  const level = envelope[LOG_LEVEL_META_KEY] ?? mcpReq._meta?.[LOG_LEVEL_META_KEY]
  const responses = mcpReq.inputResponses as JsonObject | undefined
  return {
    clientCapabilities: (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as JsonObject,
    ...(responses ? { inputResponses: responses } : {}),
    ...(typeof level === 'string' && visit.streams
      ? { logLevel: level, notify: (message) => void mcpReq.notify(message as never).catch(() => {}) }
      : {}),
  }
}

/** The client as somebody who waits for a call: what it can be asked, and that it hears of progress when it wants to. */
export function callerOf(visit: Visit, mcp: ServerContext, send: (message: object) => Promise<void>): Caller {
  const relay = visit.era === 'modern' ? wordsOf(visit, mcp) : olderWords(visit, send)
  const progressToken = mcp.mcpReq._meta?.progressToken
  if (progressToken === undefined || !visit.streams) return { relay }
  return {
    relay,
    onProgress: (progress) => {
      const params = { progressToken, ...progress }
      // A client that has gone hears nothing more.
      void mcp.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}

/** A client of the old era declared what it can at its handshake, and is asked on its stream. */
function olderWords({ askable }: Visit, send: (message: object) => Promise<void>): RelayedWords {
  if (!askable) return { clientCapabilities: {} }
  return {
    clientCapabilities: askable.capabilities,
    ask: (question) => askable.ask(question, send),
  }
}

/** Adds what the upstreams offer. */
export function addRelay(server: Server, visit: Visit): void {
  const { offers } = visit.surface
  if (offers.prompts.size > 0) addPrompts(server, visit)
  if (offers.resources.size > 0 || offers.templates.length > 0) addResources(server, visit)
  if (offers.watchable.size > 0 && visit.era === 'legacy') addSubscriptions(server, visit)
  if (offers.completes)
    server.setRequestHandler(
      'completion/complete',
      ({ params }, mcp) => completed(visit, mcp, plain(params)) as never,
    )
}

function addPrompts(server: Server, visit: Visit): void {
  const { ctx, surface } = visit
  const { offers } = surface
  server.setRequestHandler('prompts/list', () => ({
    prompts: [...offers.prompts].map(([name, { thing }]) => ({ ...shownOf(thing), name })) as never,
  }))
  server.setRequestHandler('prompts/get', ({ params }, mcp) => {
    const { name, arguments: args } = params
    const caller = { relay: wordsOf(visit, mcp) }
    return deliverRead(visit, mcp, {
      requestHash: hashJson(['prompts/get', name, args ?? {}]),
      caller,
      place: () => relayPrompt(ctx, surface, name, args, { threadId: threadOf(visit), caller }),
    }) as never
  })
}

function addResources(server: Server, visit: Visit): void {
  const { ctx, surface } = visit
  const { offers } = surface
  server.setRequestHandler('resources/list', () => ({
    resources: [...offers.resources.values()].map(({ thing }) => shownOf(thing)) as never,
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: offers.templates.map(({ thing }) => shownOf(thing)) as never,
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }, mcp) => {
    const caller = { relay: wordsOf(visit, mcp) }
    return deliverRead(visit, mcp, {
      requestHash: hashJson(['resources/read', uri]),
      caller,
      place: () =>
        relayResource(ctx, surface, uri, { threadId: threadOf(visit), caller }).catch((error: unknown) => {
          throw resourceFault(error, uri)
        }),
    }) as never
  })
}

function threadOf({ session }: Visit): string | null {
  return session?.threadId ?? null
}

/** In the words of MCP: what is null there is left out. */
function shownOf(thing: object): object {
  const { meta, ...rest } = thing as { meta?: unknown }
  const own = Object.entries(rest).filter(([, value]) => value !== null && value !== '')
  return { ...Object.fromEntries(own), ...(meta ? { _meta: meta } : {}) }
}

async function completed(visit: Visit, mcp: ServerContext, params: JsonObject): Promise<object> {
  try {
    const asked = { relay: wordsOf(visit, mcp), signal: visit.gone }
    const reading = await relayCompletion(visit.ctx, visit.surface, params, asked)
    if ('result' in reading) return reading.result
    if ('inputRequired' in reading)
      throw protocolError(codes.internal, 'The server wants to ask its caller something.', 'input_required')
    const { code, message, rpcCode, rpcData } = reading.fault
    if (rpcCode === null) throw protocolError(codes.internal, message, code)
    throw faultError({ code: rpcCode, message, ...(isJsonObject(rpcData) ? { data: rpcData } : {}) })
  } catch (error) {
    throw toProtocolError(error, visit.log)
  }
}

function plain(params: object): JsonObject {
  const { _meta, ...rest } = params as { _meta?: unknown }
  return rest as JsonObject
}
