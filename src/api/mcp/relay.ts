/** Prompts, resources and completions of the agent's upstreams, and what passes between them and this client. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  LOG_LEVEL_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { hashJson, isJsonObject, type JsonObject } from '../../core/json.ts'
import {
  relayCompletion,
  relayPrompt,
  relayResource,
  type Asked,
  type Caller,
  type Reading,
  type RelayedWords,
} from '../../domain/bridge/index.ts'
import { codes, faultError, protocolError, resourceFault, toProtocolError } from './errors.ts'
import { addSubscriptions } from './resource-updates.ts'
import { roundCodec, type RoundState } from './rounds.ts'
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
      ({ params }, mcp) =>
        answer(visit, mcp, null, (asked) =>
          relayCompletion(visit.ctx, visit.surface, plain(params), asked),
        ) as never,
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
    return answer(visit, mcp, hashJson(['prompts/get', name, args ?? {}]), (asked) =>
      relayPrompt(ctx, surface, name, args, asked),
    ) as never
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
  server.setRequestHandler(
    'resources/read',
    ({ params: { uri } }, mcp) =>
      answer(visit, mcp, hashJson(['resources/read', uri]), (asked) =>
        relayResource(ctx, surface, uri, asked).catch((error: unknown) => {
          throw resourceFault(error, uri)
        }),
      ) as never,
  )
}

/** In the words of MCP: what is null there is left out. */
function shownOf(thing: object): object {
  const { meta, ...rest } = thing as { meta?: unknown }
  const own = Object.entries(rest).filter(([, value]) => value !== null && value !== '')
  return { ...Object.fromEntries(own), ...(meta ? { _meta: meta } : {}) }
}

/** `request` tells rounds of one request from those of another; null for one that has no rounds. */
async function answer(
  visit: Visit,
  mcp: ServerContext,
  request: string | null,
  ask: (asked: Asked) => Promise<Reading>,
): Promise<object> {
  try {
    const round = request === null ? undefined : mcp.mcpReq.requestState<RoundState>()
    if (round && round.requestHash !== request)
      throw protocolError(codes.invalidParams, 'Invalid or expired requestState', 'invalid_request_state')
    const theirs = round?.theirs
    const relay = { ...wordsOf(visit, mcp), ...(theirs === undefined ? {} : { requestState: theirs }) }
    const reading = await ask({ relay, signal: visit.gone })
    if ('result' in reading) return reading.result
    if ('fault' in reading) {
      const { code, message, rpcCode, rpcData } = reading.fault
      if (rpcCode === null) throw protocolError(codes.internal, message, code)
      throw faultError({ code: rpcCode, message, ...(isJsonObject(rpcData) ? { data: rpcData } : {}) })
    }
    const state: RoundState = {
      workId: '',
      round: (round?.round ?? 0) + 1,
      requestHash: request ?? '',
      ...(reading.inputRequired.requestState === null ? {} : { theirs: reading.inputRequired.requestState }),
    }
    return inputRequired({
      inputRequests: reading.inputRequired.inputRequests as never,
      requestState: await roundCodec(visit.ctx, visit.agentId).mint(state, mcp),
    })
  } catch (error) {
    throw toProtocolError(error, visit.log)
  }
}

function plain(params: object): JsonObject {
  const { _meta, ...rest } = params as { _meta?: unknown }
  return rest as JsonObject
}
