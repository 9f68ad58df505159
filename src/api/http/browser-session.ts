/** The session of a browser: the one in its cookie, and a new one at each sign-in. */
import type { IncomingMessage } from 'node:http'
import { cookieName, readCookie, setCookie } from '../../core/cookies.ts'
import { AppError } from '../../core/errors.ts'
import {
  longestSessionMs,
  sessionCookie,
  type Ctx,
  type Services,
  type Session,
  type SessionMethod,
} from '../../domain/access/index.ts'
import { endSessions, startSession, type SignIn } from '../../domain/sign-in/index.ts'

/** Authenticates and rate-limits callers of the routes of sessions. */
export interface SessionCallers {
  /** The context of a key that signs in; throws UNAUTHENTICATED, or LIMITED after too many wrong keys of an address. */
  signIn(secret: string, request: IncomingMessage): Promise<Ctx>
  /** The context of a live session; throws UNAUTHENTICATED. */
  bySession(token: string, request: IncomingMessage): Promise<Ctx>
  /** Takes one request without a valid key from the limit; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
  addressOf(request: IncomingMessage): string | null
}

export interface SessionParts {
  services: Services
  callers: SessionCallers
  /** Null without an identity provider. */
  signIn: SignIn | null
}

/** The token in the cookie of the session; null without one. */
export const sessionToken = ({ publicUrl }: Services, { headers }: IncomingMessage): string | null =>
  readCookie(headers.cookie, cookieName(sessionCookie, publicUrl()))

/** The context of the session in the cookie, or of this token; null without a live one. */
export async function currentSession(
  { services, callers }: SessionParts,
  request: IncomingMessage,
  token = sessionToken(services, request),
): Promise<Ctx | null> {
  if (token === null) return null
  return callers.bySession(token, request).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return null
    throw error
  })
}

/**
 * Starts a session for the caller and ends the one that the browser had. Every sign-in has a new token, so that nobody
 * who knew the earlier one knows this one. `before` is the token of the one that it had, where no cookie says so. `cookie` is
 * the header that gives the new one to the browser.
 */
export async function openSession(
  parts: SessionParts,
  request: IncomingMessage,
  ctx: Ctx,
  method: SessionMethod,
  before?: string,
): Promise<{ session: Session; cookie: string }> {
  const userAgent = request.headers['user-agent'] ?? null
  const { session, token } = await startSession(ctx, { method, userAgent })
  return { session, cookie: await giveSession(parts, request, token, before) }
}

/** The header that gives a new session to a browser; ends the one that it had, as `openSession` says. */
export async function giveSession(
  parts: SessionParts,
  request: IncomingMessage,
  token: string,
  before?: string,
): Promise<string> {
  for (const one of new Set([before, sessionToken(parts.services, request)])) {
    const earlier = one ? await currentSession(parts, request, one) : null
    if (earlier) await endQuietly(earlier)
  }
  return cookieWith(parts.services, token, longestSessionMs / 1000)
}

/** Ends the session of this context, which may have ended meanwhile. */
export async function endQuietly(ctx: Ctx): Promise<void> {
  await endSessions(ctx, { id: ctx.principal.sessionId! }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error
  })
}

/** The header that removes the cookie. */
export function forgottenCookie(services: Services): string {
  return cookieWith(services, '', 0)
}

function cookieWith({ publicUrl }: Services, value: string, maxAgeSeconds: number): string {
  const name = cookieName(sessionCookie, publicUrl())
  return setCookie({ name, value, maxAgeSeconds, sameSite: 'Strict' }, publicUrl())
}
