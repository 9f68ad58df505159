/** The sessions of older clients as this process knows them, and the requests that they may take back. */
import { isConversationOpen, readConversation, type Conversation } from '../../domain/bridge/index.ts'
import { purposeKey, sign } from '../../core/signing.ts'
import type { Ctx, Services } from '../../domain/access/index.ts'

/** How long a session is believed to be open when no bell rings, in milliseconds. */
const believedMs = 5000
const cacheSize = 10_000

export interface Sessions {
  /** The session of this id, or null when it was not made here for this caller, is over or was closed. */
  find(ctx: Ctx, agentId: string, sessionId: string): Promise<Conversation | null>
  /** A signal that fires when the client takes back this request of this session, on whichever replica it says so. */
  calledOff(ctx: Ctx, sessionId: string, requestId: unknown): { signal: AbortSignal; forget(): void }
  /** The client takes a request back. */
  callOff(ctx: Ctx, sessionId: string, requestId: unknown): void
  close(): void
}

export function createSessions({ pubsub, masterKey }: Pick<Services, 'pubsub' | 'masterKey'>): Sessions {
  const open = new Map<string, number>()
  const requests = new Map<string, AbortController>()
  const key = purposeKey(masterKey, 'mcp request')
  const nameOf = (ctx: Ctx, sessionId: string, requestId: unknown) =>
    sign(key, [ctx.principal.id, sessionId, JSON.stringify(requestId) ?? null])
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'reconnected') open.clear()
    if (hint.kind !== 'signal') return
    if (hint.name === 'closed') open.delete(hint.id)
    if (hint.name === 'called-off') requests.get(hint.id)?.abort()
  })
  return {
    async find(ctx, agentId, sessionId) {
      const session = readConversation(ctx, agentId, sessionId)
      if (!session) return null
      if ((open.get(session.threadId) ?? 0) > Date.now()) return session
      if (!(await isConversationOpen(ctx, session))) return null
      if (open.size >= cacheSize) open.clear()
      open.set(session.threadId, Date.now() + believedMs)
      return session
    },
    calledOff(ctx, sessionId, requestId) {
      const name = nameOf(ctx, sessionId, requestId)
      const controller = new AbortController()
      requests.set(name, controller)
      return { signal: controller.signal, forget: () => void requests.delete(name) }
    },
    callOff(ctx, sessionId, requestId) {
      pubsub.publish([{ kind: 'signal', name: 'called-off', id: nameOf(ctx, sessionId, requestId) }])
    },
    close: unsubscribe,
  }
}
