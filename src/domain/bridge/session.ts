/** Sessions of legacy MCP clients. A session id is a signed token that names a thread; the thread is created on first use. */
import { newId } from '../../core/ids.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { askerOf, type Ctx, type Services } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { closeThread, isThreadClosed } from '../threads/index.ts'
import type { LogLevel } from '../upstream/index.ts'

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

/** What the rows say of a session; null when it was closed. */
export async function readSessionState(
  ctx: Ctx,
  { threadId }: McpSession,
): Promise<{ logLevel: LogLevel | null } | null> {
  const [closed, levels] = await Promise.all([
    isThreadClosed(ctx, threadId),
    query<{ level: LogLevel }>(
      ctx.db,
      sql`select level from session_log_levels where thread_id = ${threadId}`,
    ),
  ])
  return closed ? null : { logLevel: levels[0]?.level ?? null }
}

/**
 * Sets the least severe level of log messages that the session gets from upstreams; without it the session gets none.
 * Every replica learns of it. Idempotent. Needs no permission: the session is the caller's own.
 */
export async function setLogLevel(
  ctx: Ctx,
  { agentId, session, level }: { agentId: string; session: McpSession; level: LogLevel },
): Promise<void> {
  const { projectId } = await findAgent(ctx, agentId)
  const { threadId, expiresAt } = session
  await query(
    ctx.db,
    sql`with expired as (delete from session_log_levels where expires_at < now() and thread_id <> ${threadId})
      insert into session_log_levels (thread_id, project_id, level, expires_at)
      values (${threadId}, ${projectId}, ${level}, to_timestamp(${expiresAt / 1000}::float8))
      on conflict (thread_id) do update set level = excluded.level`,
  )
  ctx.pubsub.publish([{ kind: 'signal', name: 'log-level', id: threadId }])
}

/** Closes a session: every replica refuses its id from now on. Idempotent. Action `generations:Start`. */
export async function closeSession(ctx: Ctx, agentId: string, { threadId }: McpSession): Promise<void> {
  const agent = await findAgent(ctx, agentId)
  await closeThread(ctx, { agent, threadId })
  await query(
    ctx.db,
    sql`with levels as (delete from session_log_levels where thread_id = ${threadId})
      delete from resource_subscriptions where thread_id = ${threadId}`,
  )
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
  return sign(key, [askerOf(principal), ...parts]).slice(0, 32)
}
