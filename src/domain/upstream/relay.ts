/** What passes between an upstream and the client that we call it for: only what that client has declared. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  type CreateMessageResult,
  type ElicitResult,
  type ListRootsResult,
  type LoggingLevel,
} from '@modelcontextprotocol/client'
import type { JsonObject } from '../../core/json.ts'
import type { Link } from './link.ts'

export interface Relay {
  /** As the caller declared them; the upstream hears of no others. */
  clientCapabilities: JsonObject
  /** The caller's answers to what the upstream asked in the round before. */
  inputResponses?: JsonObject
  /** What the upstream wants to have back with them, byte for byte. */
  requestState?: string
  logLevel?: string
  /**
   * Puts a question of an upstream of the older protocol (`elicitation/create`, `sampling/createMessage`, `roots/list`)
   * to the caller, in the middle of a call. Left out or throwing: declined.
   */
  ask?(request: { method: string; params: JsonObject }): Promise<JsonObject>
  /** Gets the log lines of the call (`notifications/message`) when `logLevel` is given. */
  notify?(notification: { method: string; params: JsonObject }): void
}

/** The part of `_meta` that speaks for the caller, for a request over this connection. */
export function relayedMeta(link: Pick<Link, 'era'>, relay: Relay | null | undefined): JsonObject {
  if (!relay || link.era === 'legacy') return {}
  return {
    [CLIENT_CAPABILITIES_META_KEY]: relay.clientCapabilities,
    ...(relay.logLevel ? { [LOG_LEVEL_META_KEY]: relay.logLevel } : {}),
  }
}

/** The caller's answers of the last round, for a request over this connection; older servers know no rounds. */
export function relayedInput(link: Pick<Link, 'era'>, relay: Relay | null | undefined): JsonObject {
  if (!relay || link.era === 'legacy') return {}
  return {
    ...(relay.inputResponses ? { inputResponses: relay.inputResponses } : {}),
    ...(relay.requestState === undefined ? {} : { requestState: relay.requestState }),
  }
}

/** Log lines that are passed on for one call; what comes after that is dropped. */
const maxLogLines = 1000

/** Makes a connection that serves one caller pass its questions and log lines on. */
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
          (await ask('elicitation/create', params).catch(() => ({ action: 'decline' }))) as ElicitResult,
      )
    if (capabilities['sampling'])
      client.setRequestHandler(
        'sampling/createMessage',
        async ({ params }) =>
          (await ask('sampling/createMessage', params).catch(declined)) as CreateMessageResult,
      )
    if (capabilities['roots'])
      client.setRequestHandler(
        'roots/list',
        async ({ params }) =>
          (await ask('roots/list', params).catch(() => ({ roots: [] }))) as ListRootsResult,
      )
  }
  if (!relay.notify || !relay.logLevel) return
  let lines = 0
  client.setNotificationHandler('notifications/message', ({ method, params }) => {
    if (++lines <= maxLogLines) relay.notify!({ method, params: params as JsonObject })
  })
  if (link.era === 'legacy' && link.facts.capabilities['logging'])
    await client.setLoggingLevel(relay.logLevel as LoggingLevel, { timeout: 5000 }).catch(() => {})
}

function declined(): never {
  throw new ProtocolError(userRejected, 'The user did not allow it.')
}

/** What the specification suggests for sampling that a person refuses. */
const userRejected = -1
