/** A session of an older MCP client: a sealed token that names a thread, which comes into being when it is used. */
import { sql } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import { query } from '../../store/db/database.ts'
import type { Ctx, Services } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { closeThread, isThreadClosed } from '../generations/index.ts'

/** A session ends after so long without DELETE, in milliseconds: a day. */
const lifetimeMs = 24 * 60 * 60 * 1000

export interface Conversation {
  threadId: string
  /** What its client said at the start that it can be asked: names of capabilities. */
  askable: string[]
  expiresAt: number
}

/** What a client can be asked, by the letter that stands in its session id. */
const letters: Record<string, string> = { e: 'elicitation', s: 'sampling', r: 'roots' }

/** A new session id for this caller and agent, in visible ASCII. Nothing is stored. */
export function newConversation(ctx: Ctx, agentId: string, capabilities: object): string {
  const threadId = newId('thread')
  const expiresAt = ctx.clock.now() + lifetimeMs
  const own = Object.entries(letters).flatMap(([letter, capability]) =>
    capability in capabilities ? letter : [],
  )
  const asks = own.join('')
  const seal = sealOf(ctx, [agentId, threadId, expiresAt, asks])
  return [threadId, expiresAt.toString(36), asks, seal].join('.')
}

/** The session when the id was made here for this caller and agent and its time is not over, else null. */
export function readConversation(ctx: Ctx, agentId: string, sessionId: string): Conversation | null {
  const [threadId, until, asks = '', seal, ...more] = sessionId.split('.')
  if (!threadId || !until || !seal || more.length > 0) return null
  const expiresAt = parseInt(until, 36)
  if (!(expiresAt > ctx.clock.now())) return null
  if (!sameText(seal, sealOf(ctx, [agentId, threadId, expiresAt, asks]))) return null
  return { threadId, expiresAt, askable: [...asks].flatMap((letter) => letters[letter] ?? []) }
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
  await query(ctx.db, sql`delete from resource_subscriptions where thread_id = ${threadId}`)
  ctx.pubsub.publish([
    { kind: 'signal', name: 'closed', id: threadId },
    { kind: 'signal', name: 'subscribed', id: threadId },
  ])
}

function sealOf(
  { masterKey, principal }: Pick<Services, 'masterKey'> & Pick<Ctx, 'principal'>,
  parts: (string | number)[],
): string {
  const key = purposeKey(masterKey, 'mcp session')
  return sign(key, [principal.id, ...parts]).slice(0, 32)
}
