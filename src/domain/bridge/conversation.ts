/** A session of an older MCP client: a sealed token that names a thread, which comes into being when it is used. */
import { newId } from '../../core/ids.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import type { Ctx, House } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { closeThread, isThreadClosed } from '../generations/index.ts'

/** A session ends after so long without DELETE, in milliseconds: a day. */
const lifetimeMs = 24 * 60 * 60 * 1000

export interface Conversation {
  threadId: string
  expiresAt: number
}

/** A new session id for this caller and agent, in visible ASCII. Nothing is stored. */
export function newConversation(ctx: Ctx, agentId: string): string {
  const threadId = newId('thread')
  const expiresAt = ctx.clock.now() + lifetimeMs
  return [threadId, expiresAt.toString(36), sealOf(ctx, agentId, threadId, expiresAt)].join('.')
}

/** The session when the id was made here for this caller and agent and its time is not over, else null. */
export function readConversation(ctx: Ctx, agentId: string, sessionId: string): Conversation | null {
  const [threadId, until, seal, ...more] = sessionId.split('.')
  if (!threadId || !until || !seal || more.length > 0) return null
  const expiresAt = parseInt(until, 36)
  if (!(expiresAt > ctx.clock.now())) return null
  return sameText(seal, sealOf(ctx, agentId, threadId, expiresAt)) ? { threadId, expiresAt } : null
}

/** Whether it was not closed. */
export async function isConversationOpen(ctx: Ctx, { threadId }: Conversation): Promise<boolean> {
  return !(await isThreadClosed(ctx, threadId))
}

/** Ends a session: its id is not accepted any more, on any replica. Idempotent. Action `generations:Start`. */
export async function closeConversation(
  ctx: Ctx,
  agentId: string,
  { threadId }: Conversation,
): Promise<void> {
  const agent = await findAgent(ctx, agentId)
  await closeThread(ctx, { agent, threadId })
  ctx.bell.ring([{ kind: 'signal', name: 'closed', id: threadId }])
}

function sealOf(
  { masterKey, principal }: Pick<House, 'masterKey'> & Pick<Ctx, 'principal'>,
  agentId: string,
  threadId: string,
  expiresAt: number,
): string {
  const key = purposeKey(masterKey, 'mcp session')
  return sign(key, [agentId, principal.id, threadId, expiresAt]).slice(0, 32)
}
