/** Sessions of legacy MCP clients. A session id is a signed token that names a thread; the thread is created on first use. */
import { sql } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import { query } from '../../store/db/database.ts'
import type { Ctx, Services } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { closeThread, isThreadClosed } from '../generations/index.ts'

/** A session without DELETE expires after a day, in milliseconds. */
const lifetimeMs = 24 * 60 * 60 * 1000

export interface McpSession {
  /** The value of the Mcp-Session-Id header. */
  id: string
  threadId: string
  /** Client capabilities declared at initialize that let a server send requests: `elicitation`, `sampling`, `roots`. */
  capabilities: string[]
  /** Milliseconds since the epoch. */
  expiresAt: number
}

/** The capabilities that a session id records, one letter each. */
const letters: Record<string, string> = { e: 'elicitation', s: 'sampling', r: 'roots' }

/** A new session id for this caller and agent, in visible ASCII. Nothing is stored. */
export function newSessionId(ctx: Ctx, agentId: string, clientCapabilities: object): string {
  const threadId = newId('thread')
  const expiresAt = ctx.clock.now() + lifetimeMs
  const declared = Object.entries(letters).flatMap(([letter, capability]) =>
    capability in clientCapabilities ? [letter] : [],
  )
  const flags = declared.join('')
  const signature = signatureOf(ctx, [agentId, threadId, expiresAt, flags])
  return [threadId, expiresAt.toString(36), flags, signature].join('.')
}

/** The session of this id; null unless it was issued to this caller for this agent and has not expired. */
export function readSession(ctx: Ctx, agentId: string, id: string): McpSession | null {
  const [threadId, until, flags = '', signature, ...more] = id.split('.')
  if (!threadId || !until || !signature || more.length > 0) return null
  const expiresAt = parseInt(until, 36)
  if (!(expiresAt > ctx.clock.now())) return null
  if (!sameText(signature, signatureOf(ctx, [agentId, threadId, expiresAt, flags]))) return null
  const capabilities = [...flags].flatMap((letter) => letters[letter] ?? [])
  return { id, threadId, expiresAt, capabilities }
}

/** Whether the session was not closed. */
export async function isSessionOpen(ctx: Ctx, { threadId }: McpSession): Promise<boolean> {
  return !(await isThreadClosed(ctx, threadId))
}

/** Closes a session: every replica refuses its id from now on. Idempotent. Action `generations:Start`. */
export async function closeSession(ctx: Ctx, agentId: string, { threadId }: McpSession): Promise<void> {
  const agent = await findAgent(ctx, agentId)
  await closeThread(ctx, { agent, threadId })
  await query(ctx.db, sql`delete from resource_subscriptions where thread_id = ${threadId}`)
  ctx.pubsub.publish([
    { kind: 'signal', name: 'closed', id: threadId },
    { kind: 'signal', name: 'subscribed', id: threadId },
  ])
}

function signatureOf(
  { masterKey, principal }: Pick<Services, 'masterKey'> & Pick<Ctx, 'principal'>,
  parts: (string | number)[],
): string {
  const key = purposeKey(masterKey, 'mcp session')
  return sign(key, [principal.id, ...parts]).slice(0, 32)
}
