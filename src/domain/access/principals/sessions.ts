/** Sessions of browsers: rows found by the token in a cookie, and the principal behind them. */
import type { z } from 'zod'
import * as view from '../../../core/view.ts'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { BoundedMap } from '../../../core/bounded.ts'
import { AppError } from '../../../core/errors.ts'
import { entity, part, idOf, choice } from '../../../core/shapes.ts'
import { sha256Hex } from '../../../core/signing.ts'
import { nowPlus, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { apiKeys, sessions, subjects } from '../../../store/db/tables/access.ts'
import type { Services } from '../context/context.ts'
import { type Principal, principalOfSubject } from './subjects.ts'
import { hasExpired, principalOf } from './keys.ts'
import { forgetEndedSignIns } from './persons.ts'
import type { Role } from '../permission/policy.ts'

const sessionMethod = choice('SessionMethod', 'How a session began.', {
  KEY: 'The browser signed in with an API key.',
  OIDC: 'The person signed in at the identity provider.',
  LINK: 'The browser opened a one-time link: that of an invitation, or the one that the server printed at its start.',
})
/** How a session began: with an API key, at the identity provider, or with the link that the demo prints. */
export type SessionMethod = z.output<typeof sessionMethod>

/** A session without its token. */
export const sessionShape = part(
  'Session',
  'A browser that is signed in. It has the rights of its API key or person, and ends with the API key.',
  {
    id: idOf('session'),
    principalId: view.principal(
      'principal',
      'The principal that signed in.',
      'The id of the API key or person that signed in.',
    ),
    method: sessionMethod.describe('How the session began.'),
    remoteAddress: view.text('The address from which the browser signed in.').nullable(),
    userAgent: view
      .text('The browser as it described itself, at most 200 characters; a client can write anything here.')
      .nullable(),
    createdAt: view.date('When the browser signed in.'),
    usedAt: view.date('When the session was last used, to within five minutes.'),
    expiresAt: view.date('When the session ends unless it is used before: 12 hours after its last use.'),
    endsAt: view.date('When the session ends even if it is used: after 7 days, or with its API key.'),
  },
)
export interface Session extends z.output<typeof sessionShape> {
  projectId: string
}

export const Session = entity<Session>()('Session')

/** How long a session lasts that is not used, in milliseconds. */
export const idleMs = 12 * 60 * 60 * 1000
/** How long any session lasts, in milliseconds. */
export const longestSessionMs = 7 * 24 * 60 * 60 * 1000
/** A use is written when the last one that was written is older than this, in milliseconds. */
const useMs = 5 * 60 * 1000

/** The name of the cookie with the token, without its prefix. */
export const sessionCookie = 'gatehouse'

const idPrefix = 'ses_'
export const tokenPrefix = 'ghs_'
const tokenShape = /^ghs_[A-Za-z0-9_-]{43}$/

/** Whether an id is that of a session. */
export function isSession(id: string): boolean {
  return id.startsWith(idPrefix)
}

export function sessionOf(row: typeof sessions.$inferSelect): Session {
  const { hash: _hash, role: _role, method, ...shown } = row
  return { ...shown, method: method as SessionMethod }
}

export function sessionEnded(): AppError {
  return new AppError('UNAUTHENTICATED', 'The session has ended. Sign in again.')
}

/** Deletes the sessions of these principals, in the transaction that revokes their keys. */
export async function deleteSessionsOf(tx: Database, principalIds: readonly string[]): Promise<void> {
  if (principalIds.length > 0)
    await tx.delete(sessions).where(inArray(sessions.principalId, [...principalIds]))
}

/** Deletes at most `limit` sessions that have ended by themselves, and what is kept of their sign-ins; call it again for more. */
export async function forgetExpiredSessions(db: Database, limit = 10_000): Promise<void> {
  await query(
    db,
    sql`delete from sessions
      where id in (
        select id from sessions
        where expires_at <= now()
        order by expires_at
        limit ${limit}
        for update skip locked
      )`,
  )
  await forgetEndedSignIns(db)
}

/** How long a session is cached, in milliseconds. Its end publishes a hint, which clears the cache at once. */
const cacheMs = 5000
const cacheSize = 10_000

/** Finds principals by the token of a session, with a small cache. One for each process. */
export interface SessionAuthenticator {
  /** The principal of a live session. Its use is written at most every five minutes. Throws UNAUTHENTICATED. */
  authenticate(token: string): Promise<Principal>
  /** Whether the token was valid lately, so that a query for it is no guess. It may be invalid by now. */
  isKnown(token: string): boolean
  close(): void
}

export function createSessionAuthenticator({
  db,
  pubsub,
  clock,
}: Pick<Services, 'db' | 'pubsub' | 'clock'>): SessionAuthenticator {
  const cache = new BoundedMap<string, { principal: Principal; until: number }>(cacheSize)
  let clearings = 0
  const stop = pubsub.subscribe((hint) => {
    if (hint.kind !== 'reconnected' && !(hint.kind === 'signal' && hint.name === 'revoked')) return
    clearings++
    cache.clear()
  })
  return {
    isKnown: (token) => tokenShape.test(token) && cache.has(sha256Hex(token)),
    async authenticate(token) {
      if (!tokenShape.test(token)) throw sessionEnded()
      const hash = sha256Hex(token)
      const now = clock.now()
      const known = cache.get(hash)
      if (known && known.until > now && !hasExpired(known.principal, now)) return known.principal
      const before = clearings
      const principal = await findBySession(db, hash)
      cache.delete(hash)
      if (!principal || hasExpired(principal, now)) throw sessionEnded()
      // A row that was read before a hint must not be cached after it.
      if (before === clearings) cache.set(hash, { principal, until: now + cacheMs })
      return principal
    },
    close: stop,
  }
}

/** The principal of the live session with this hash, after its use was written; null when there is none. */
async function findBySession(db: Database, hash: string): Promise<Principal | null> {
  const [found] = await db
    .select({ session: sessions, key: apiKeys, name: subjects.name })
    .from(sessions)
    .leftJoin(apiKeys, and(eq(apiKeys.id, sessions.principalId), isNull(apiKeys.revokedAt)))
    .leftJoin(subjects, eq(subjects.id, sessions.principalId))
    .where(and(eq(sessions.hash, hash), sql`${sessions.expiresAt} > now()`))
  if (!found) return null
  const { session, key, name } = found
  if (key) {
    await extend(db, session.id)
    return { ...principalOf(key), sessionId: session.id }
  }
  if (name === null) return null
  const { projectId, principalId: id, role } = session
  const expiresAt = (await extend(db, session.id)) ?? session.expiresAt
  return { ...principalOfSubject({ id, projectId, name }, role as Role, expiresAt), sessionId: session.id }
}

/** Writes a use unless one was written lately; returns the new end when it did. */
async function extend(db: Database, id: string): Promise<Date | null> {
  const [row] = await db
    .update(sessions)
    .set({ usedAt: sql`now()`, expiresAt: sql`least(${nowPlus(idleMs)}, ${sessions.endsAt})` })
    .where(
      and(
        eq(sessions.id, id),
        sql`${sessions.expiresAt} > now()`,
        sql`${sessions.usedAt} < ${nowPlus(-useMs)}`,
      ),
    )
    .returning({ expiresAt: sessions.expiresAt })
  return row?.expiresAt ?? null
}
