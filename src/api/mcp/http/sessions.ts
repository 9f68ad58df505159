/** The legacy sessions that this process has seen, and cancellation of requests within a session, across replicas. */
import { writeJson } from '../../../core/json.ts'
import { BoundedMap } from '../../../core/bounded.ts'
import { purposeKey, sign } from '../../../core/signing.ts'
import type { Ctx, Services } from '../../../domain/access/index.ts'
import {
  readSession,
  readSessionState,
  type LogLevel,
  type McpSession,
} from '../../../domain/bridge/index.ts'
import { onAbort } from '../../../core/time.ts'

/** How long a session is assumed to be open without a hint, in milliseconds. */
const cacheMs = 5000
const cacheSize = 10_000

/** A session, and the level of logs that its client has set. */
export interface OpenSession extends McpSession {
  logLevel: LogLevel | null
}

export interface Sessions {
  /** The session of this id; null when it was not issued to this caller, has expired or was closed. */
  find(ctx: Ctx, agentId: string, sessionId: string): Promise<OpenSession | null>
  /** A signal that aborts when the client cancels this request, on any replica. Released when `ended` aborts. */
  cancellation(ctx: Ctx, session: McpSession, requestId: unknown, ended: AbortSignal): AbortSignal
  /** Cancels a request of the session, on the replica that serves it. */
  cancel(ctx: Ctx, session: McpSession, requestId: unknown): void
  close(): void
}

export function createSessions({ pubsub, masterKey }: Pick<Services, 'pubsub' | 'masterKey'>): Sessions {
  const known = new BoundedMap<string, { until: number; logLevel: LogLevel | null }>(cacheSize)
  let heard = 0
  const requests = new Map<string, AbortController>()
  const key = purposeKey(masterKey, 'mcp request')
  const nameOf = (ctx: Ctx, session: McpSession, requestId: unknown) =>
    sign(key, [ctx.principal.id, session.id, writeJson(requestId) ?? null])
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'reconnected') {
      heard++
      known.clear()
    }
    if (hint.kind !== 'signal') return
    if (hint.name === 'closed' || hint.name === 'log-level') {
      heard++
      known.delete(hint.id)
    }
    if (hint.name === 'called-off') requests.get(hint.id)?.abort()
  })
  return {
    async find(ctx, agentId, sessionId) {
      const session = readSession(ctx, agentId, sessionId)
      if (!session) return null
      const { threadId } = session
      const last = known.get(threadId)
      if (last && last.until > Date.now()) return { ...session, logLevel: last.logLevel }
      const before = heard
      const state = await readSessionState(ctx, session)
      if (!state) return null
      // What was read may be older than a hint that has arrived meanwhile.
      if (before !== heard) return { ...session, ...state }
      known.set(threadId, { until: Date.now() + cacheMs, logLevel: state.logLevel })
      return { ...session, ...state }
    },
    cancellation(ctx, session, requestId, ended) {
      const name = nameOf(ctx, session, requestId)
      const controller = new AbortController()
      requests.set(name, controller)
      onAbort(ended, () => requests.delete(name))
      return controller.signal
    },
    cancel(ctx, session, requestId) {
      pubsub.publish([{ kind: 'signal', name: 'called-off', id: nameOf(ctx, session, requestId) }])
    },
    close: unsubscribe,
  }
}
