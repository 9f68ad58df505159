/** What is relayed between an upstream and the MCP client of a call: only what that client declared. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  type CreateMessageResult,
  type ElicitResult,
  type ListRootsResult,
} from '@modelcontextprotocol/client'
import { type JsonObject, packValue } from '../../../core/json.ts'
import type { Link } from './link.ts'

/** The levels of log messages, the least severe first (RFC 5424, as MCP uses them). */
const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type LogLevel = (typeof logLevels)[number]

export function isLogLevel(value: unknown): value is LogLevel {
  return (logLevels as readonly unknown[]).includes(value)
}

export interface Relay {
  /** As the MCP client declared them; no others are declared to the upstream. */
  clientCapabilities: JsonObject
  /** The client's responses to the input that the upstream requested in the previous round. */
  inputResponses?: JsonObject
  /** The upstream's `requestState`, which goes back with the responses unchanged. */
  requestState?: string
  /** The least severe level that the client wants. */
  logLevel?: LogLevel
  /**
   * Sends a request of a legacy upstream (`elicitation/create`, `sampling/createMessage`, `roots/list`) to the client
   * during a call. When it is absent or throws, the request is declined.
   */
  ask?(request: { method: string; params: JsonObject }): Promise<JsonObject>
  /** Receives the log lines of the call (`notifications/message`) when `logLevel` is set. */
  notify?(notification: { method: string; params: JsonObject }): void
}

/** The part of `_meta` that describes the client, for a request over this connection. */
export function relayedMeta(link: Pick<Link, 'era'>, relay: Relay | null | undefined): JsonObject {
  if (!relay || link.era === 'legacy') return {}
  return {
    [CLIENT_CAPABILITIES_META_KEY]: relay.clientCapabilities,
    ...(relay.logLevel ? { [LOG_LEVEL_META_KEY]: relay.logLevel } : {}),
  }
}

/** The client's responses of the last round, for a request over this connection; legacy servers have no rounds. */
export function relayedInput(link: Pick<Link, 'era'>, relay: Relay | null | undefined): JsonObject {
  if (!relay || link.era === 'legacy') return {}
  return {
    ...(relay.inputResponses ? { inputResponses: relay.inputResponses } : {}),
    ...(relay.requestState === undefined ? {} : { requestState: relay.requestState }),
  }
}

/** The most log lines that are relayed for one call; further ones are dropped. */
const maxLogLines = 1000

/** Makes a connection that serves one client relay server requests and log lines to it. */
export async function prepareRelay(link: Link, relay: Relay): Promise<void> {
  const { client } = link
  const capabilities = relay.clientCapabilities
  if (relay.ask && link.era === 'legacy') {
    const ask = (method: string, params: unknown) =>
      relay.ask!({ method, params: (params ?? {}) as JsonObject })
    if (capabilities['elicitation'])
      client.setRequestHandler(
        'elicitation/create',
        async ({ params }) =>
          packValue(
            await ask('elicitation/create', params).catch(() => ({ action: 'decline' })),
          ) as ElicitResult,
      )
    if (capabilities['sampling'])
      client.setRequestHandler(
        'sampling/createMessage',
        async ({ params }) =>
          packValue(await ask('sampling/createMessage', params).catch(declined)) as CreateMessageResult,
      )
    if (capabilities['roots'])
      client.setRequestHandler(
        'roots/list',
        async ({ params }) =>
          (await ask('roots/list', params).catch(() => ({ roots: [] }))) as ListRootsResult,
      )
  }
  if (!relay.notify || !relay.logLevel) return
  // Servers that ignore the level send more than the client wants.
  const wanted = new Set<string>(logLevels.slice(logLevels.indexOf(relay.logLevel)))
  let lines = 0
  client.setNotificationHandler('notifications/message', ({ method, params }) => {
    if (wanted.has(params.level) && ++lines <= maxLogLines)
      relay.notify!({ method, params: params as JsonObject })
  })
  if (link.era === 'legacy' && link.facts.capabilities['logging'])
    await client.setLoggingLevel(relay.logLevel, { timeout: 5000 }).catch(() => {})
}

function declined(): never {
  throw new ProtocolError(userRejected, 'The user declined the request.')
}

/** The code that the specification suggests for a sampling request that the user rejects. */
const userRejected = -1
