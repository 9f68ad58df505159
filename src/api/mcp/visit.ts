/** One request of an MCP client at an agent's bridge, and the times that the bridge keeps. */
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Ctx } from '../../domain/access/index.ts'
import type { BridgeSurface, Conversation, Surfaces } from '../../domain/bridge/index.ts'
import type { Question } from './asks.ts'

/** All in milliseconds. Most clients give up after 60 seconds of silence. */
export interface Times {
  /** For a run of the agent, people's time not counted (S1, "Timeout"). */
  runMs: number
  /** How long a request is held while a person decides, when the client can only wait. */
  inlineHoldMs: number
  /** How long one round is held, when the client comes back by itself. */
  roundHoldMs: number
  /** Between two signs of life. */
  progressMs: number
  /** A call that ends sooner is answered at once, also when the client knows tasks. */
  taskAfterMs: number
  /** How often a client should look at its task. */
  pollMs: number
  /** How long a caller that hung up may take to come back. */
  graceMs: number
}

export const usualTimes: Times = {
  runMs: 60_000,
  inlineHoldMs: 45_000,
  roundHoldMs: 40_000,
  progressMs: 5000,
  taskAfterMs: 500,
  pollMs: 2000,
  graceMs: 60_000,
}

/** How such a client is asked. */
export interface Askable {
  /** What it said that it can be asked. */
  capabilities: JsonObject
  /** Its result; rejects when it refuses or goes. */
  ask(question: Question, send: (message: object) => Promise<void>): Promise<JsonObject>
}

export interface Visit {
  ctx: Ctx
  agentId: string
  /** The surface as this caller sees it. */
  surface: BridgeSurface
  surfaces: Surfaces
  /** `modern`: 2026-07-28 and later; `legacy`: with a handshake, or none at all. */
  era: 'modern' | 'legacy'
  /** Error numbers as in S1, for callers that speak no protocol version. */
  seed: boolean
  /** Whether the answer may be a stream. */
  streams: boolean
  /** Fires when the client has hung up. */
  gone: AbortSignal
  /** Fires when the client takes this request back with a message of its own. */
  calledOff: AbortSignal | null
  /** The request asks for the list only, whose text is put in at the end. */
  lists: boolean
  /** Of an older client that has one. */
  session: Conversation | null
  /** An older client that can be asked something in the middle of its request. */
  askable: Askable | null
  times: Times
  log: Log
}
