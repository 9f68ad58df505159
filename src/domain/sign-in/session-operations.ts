/** Operations on sessions: a browser signs in, sees its sessions and ends them. */
import { and, desc, eq } from 'drizzle-orm'
import { z } from 'zod'
import { notFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { idOf, idShape, optional } from '../../core/shapes.ts'
import { newToken, sha256Hex } from '../../core/signing.ts'
import { atomically, nowPlus, query, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { apiKeys, sessions, subjects } from '../../store/db/tables/access.ts'
import {
  type Ctx,
  Session,
  type SessionMethod,
  assertMay,
  deleteSignIns,
  assertStillValid,
  idleMs,
  isSubject,
  longestSessionMs,
  operation,
  projectOf,
  reachable,
  reaches,
  recordChange,
  sessionOf,
  tokenPrefix,
} from '../access/index.ts'

/** How a link begins that any browser may open, and one that only a browser on the machine of the server may. */
const linkPrefixes = { anywhere: 'gho_', here: 'ghl_' } as const

/** The most sessions of one key or person. Beyond that the ones that were unused longest end. */
const mostSessions = 50
const longestUserAgent = 200

const isLive = sql`expires_at > now()`

/**
 * Starts a session for the caller: a new token of 256 random bits, which is returned once. The session has the rights of
 * the caller and ends with the caller's key. Action `sessions:Start`. Not idempotent: each call has a token of its own,
 * so that no browser goes on with one that it had before.
 */
export async function startSession(
  ctx: Ctx,
  { method, userAgent }: { method: SessionMethod; userAgent: string | null },
): Promise<{ session: Session; token: string }> {
  const token = newToken(tokenPrefix)
  return { session: await insertSession(ctx, method, userAgent, token, idleMs), token }
}

/**
 * Makes a code that signs one browser in as the caller: `openLink` takes it once. It is a session that waits for its browser:
 * it is listed, counted and ended as one, and ends with the caller's key. Action `sessions:Start`. Not idempotent.
 */
export async function createLink(
  ctx: Ctx,
  { opens, lifetimeMs }: { opens: keyof typeof linkPrefixes; lifetimeMs: number },
): Promise<{ session: Session; code: string }> {
  const code = newToken(linkPrefixes[opens])
  return { session: await insertSession(ctx, 'LINK', null, code, lifetimeMs), code }
}

/** Whether only a browser on the machine of the server may open the link with this code. */
export const isLocalLink = (code: string): boolean => code.startsWith(linkPrefixes.here)

/**
 * Gives the session of a link to the browser that opens it: the code is spent, and the token that is returned takes its place.
 * Null for a code that was spent, has expired or never was.
 */
export async function openLink(
  { db }: Pick<Ctx, 'db'>,
  code: string,
  { remoteAddress, userAgent }: { remoteAddress: string | null; userAgent: string | null },
): Promise<string | null> {
  // A session's own token must not become another one: whoever has it could give it away unnoticed.
  if (!Object.values(linkPrefixes).some((prefix) => code.startsWith(prefix))) return null
  const token = newToken(tokenPrefix)
  const [row] = await db
    .update(sessions)
    .set({
      hash: sha256Hex(token),
      remoteAddress,
      userAgent: userAgent && readable(userAgent),
      usedAt: sql`now()`,
      expiresAt: sql`least(${nowPlus(idleMs)}, ends_at)`,
    })
    .where(and(eq(sessions.hash, sha256Hex(code)), isLive))
    .returning({ id: sessions.id })
  return row ? token : null
}

async function insertSession(
  ctx: Ctx,
  method: SessionMethod,
  userAgent: string | null,
  token: string,
  lifetimeMs: number,
): Promise<Session> {
  const { principal } = ctx
  const { projectId } = principal
  const id = newId('session')
  await assertMay(ctx, 'sessions:Start', projectId, `session/${id}`)
  // A session of a person has no token to end with; one of a key ends with it.
  const last = isSubject(principal.id) ? null : (principal.expiresAt?.toISOString() ?? null)
  const endsAt = sql`least(${nowPlus(longestSessionMs)}, ${last}::timestamptz)`
  const { session, dropped } = await atomically(ctx.db, async (tx) => {
    await assertStillValid(tx, principal)
    const unused = await dropUnused(tx, principal.id)
    const [row] = await tx
      .insert(sessions)
      .values({
        id,
        projectId,
        hash: sha256Hex(token),
        principalId: principal.id,
        method,
        role: isSubject(principal.id) ? principal.role : null,
        remoteAddress: ctx.remoteAddress,
        userAgent: userAgent && readable(userAgent),
        endsAt,
        expiresAt: sql`least(${nowPlus(lifetimeMs)}, ${endsAt})`,
      })
      .returning()
    const resource = `session/${id}`
    await recordChange(tx, ctx, { projectId, action: 'sessions:Start', resource, details: { method } })
    return { session: sessionOf(row!), dropped: unused }
  })
  announceEnd(ctx, dropped)
  return session
}

/** The text without control and bidirectional characters, cut to a length that lists can show. */
function readable(userAgent: string): string {
  return userAgent.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, longestUserAgent)
}

/** Ends the sessions of a principal that leave no room for another one. */
async function dropUnused(tx: Database, principalId: string): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    sql`delete from sessions
      where id in (
        select id from sessions
        where principal_id = ${principalId}
        order by used_at desc
        offset ${mostSessions - 1}
      )
      returning id`,
  )
  return rows.map(({ id }) => id)
}

function announceEnd(ctx: Ctx, ids: readonly string[]): void {
  ctx.pubsub.publish(ids.map((id) => ({ kind: 'signal', name: 'revoked', id }) as const))
}

/** Everybody may end their own without the permission. A session that has ended is not found. */
export const endSessions = operation({
  name: 'endSessions',
  does:
    'Ends a session, or every session of an API key or person: their requests fail at once and their sockets are closed. A ' +
    'caller may end its own.',
  permission: 'sessions:End',
  input: z
    .object({
      id: optional(idOf('session'), 'the sessions of principalId'),
      principalId: optional(
        idShape('The id of an API key, which begins with key_, or of a person, as in viewer.id.'),
        'the session with the id',
      ),
      keepCurrent: optional(
        z.boolean().describe('Whether the session that calls stays; with principalId.'),
        'false, it ends too',
      ),
    })
    .refine(
      ({ id, principalId }) => Boolean(id) !== Boolean(principalId),
      'give exactly one of id and principalId',
    )
    .refine(({ id, keepCurrent }) => !id || !keepCurrent, {
      path: ['keepCurrent'],
      message: 'goes with principalId only',
    })
    .describe('Which sessions to end: exactly one of id and principalId.'),
  payload: z
    .object({ sessions: z.array(Session).describe('The sessions that were ended, in any order.') })
    .describe('The sessions that were ended.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { id, principalId, keepCurrent }) {
    if (id) return { sessions: [await endSession(ctx, id)] }
    await assertMayEnd(ctx, await projectOfPrincipal(ctx, principalId!), principalId!, 'session/*')
    const kept = keepCurrent ? (ctx.principal.sessionId ?? null) : null
    return { sessions: await endWhere(ctx, principalId!, kept === null ? sql`true` : sql`id <> ${kept}`) }
  },
})

async function endSession(ctx: Ctx, id: string): Promise<Session> {
  const [row] = await ctx.db
    .select()
    .from(sessions)
    .where(and(eq(sessions.id, id), isLive))
  const found = reachable(ctx, row, 'session', id)
  await assertMayEnd(ctx, found.projectId, found.principalId, `session/${id}`)
  const [ended] = await endWhere(ctx, found.principalId, sql`id = ${id}`)
  if (!ended) throw notFound('session', id)
  return ended
}

async function assertMayEnd(
  ctx: Ctx,
  projectId: string,
  principalId: string,
  resource: string,
): Promise<void> {
  if (principalId !== ctx.principal.id) await assertMay(ctx, 'sessions:End', projectId, resource)
}

async function projectOfPrincipal(ctx: Ctx, id: string): Promise<string> {
  const table = isSubject(id) ? subjects : apiKeys
  const [row] = await ctx.db.select({ projectId: table.projectId }).from(table).where(eq(table.id, id))
  if (!row || !reaches(ctx, row.projectId)) throw notFound('API key or person', id)
  return row.projectId
}

async function endWhere(ctx: Ctx, principalId: string, which: ReturnType<typeof sql>): Promise<Session[]> {
  const ended = await atomically(ctx.db, async (tx) => {
    const rows = await tx
      .delete(sessions)
      .where(and(eq(sessions.principalId, principalId), which))
      .returning()
    if (rows.some(({ method }) => method === 'OIDC')) await deleteSignIns(tx, principalId)
    for (const { id, projectId } of rows)
      await recordChange(tx, ctx, { projectId, action: 'sessions:End', resource: `session/${id}` })
    return rows.map(sessionOf)
  })
  announceEnd(
    ctx,
    ended.map(({ id }) => id),
  )
  return ended
}

/** The session that calls; null for a caller with a key or token. */
export async function findOwnSession({ db, principal }: Ctx): Promise<Session | null> {
  if (principal.sessionId === undefined) return null
  const [row] = await db.select().from(sessions).where(eq(sessions.id, principal.sessionId))
  return row ? sessionOf(row) : null
}

/** The live sessions of the caller, the last used first. Needs no permission. */
export async function listOwnSessions(ctx: Ctx): Promise<Session[]> {
  const rows = await ctx.db
    .select()
    .from(sessions)
    .where(and(eq(sessions.principalId, ctx.principal.id), isLive))
    .orderBy(desc(sessions.usedAt))
    .limit(mostSessions)
  return rows.map(sessionOf)
}

/** The live sessions of a project, newest first; with `principalId` those of one key or person. Action `sessions:List`. */
export async function listSessions(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    principalId?: string | null | undefined
    page: Page
  },
): Promise<Session[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'sessions:List', projectId, 'session/*')
  const of = input.principalId ? sql`principal_id = ${input.principalId}` : sql`true`
  const rows = await listPage(ctx.db, sessions, projectId, input.page, sql`${isLive} and ${of}`)
  return rows.map(sessionOf)
}
