/** Sessions over HTTP: who is signed in, signing in with a key or a link, and signing out. */
import type { IncomingMessage } from 'node:http'
import { isOwnOrigin } from '../../core/cookies.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { isJsonObject, tryParseJson } from '../../core/json.ts'
import { principalKind, type Ctx, type Services } from '../../domain/access/index.ts'
import { findProject } from '../../domain/projects/index.ts'
import { createLink, endSessions, findOwnSession } from '../../domain/sign-in/index.ts'
import {
  currentSession,
  endQuietly,
  forgottenCookie,
  openSession,
  type SessionParts,
} from './browser-session.ts'
import { readText } from './bodies.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'
import { linkTo } from './sign-in.ts'

const sessionPath = '/session'

/** How long a link waits for its browser, in milliseconds. */
const linkMs = 5 * 60 * 1000

export function makeSessions(parts: SessionParts): RouteGroup {
  const { services } = parts
  const routes: OpenRoute[] = [
    { method: 'GET', path: sessionPath, head: true, run: (call) => show(parts, call) },
    { method: 'POST', path: sessionPath, run: (call) => signIn(parts, call) },
    { method: 'DELETE', path: sessionPath, run: (call) => signOut(parts, call) },
    { method: 'POST', path: `${sessionPath}/link`, run: (call) => makeLink(parts, call) },
  ]
  return openRoutes(services.log, {
    routes,
    headers: { 'cache-control': 'no-store' },
    errorBody: ({ code, message }) => ({ error: message, code }),
  })
}

/** Throws FORBIDDEN for a request of a page of another site. Programs send no Origin, and have no foreign cookies. */
function assertOwnPage({ publicUrl }: Services, { headers }: IncomingMessage): void {
  const own = headers.origin === undefined || isOwnOrigin(headers.origin, headers.host, publicUrl())
  if (own && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin') return
  const message = 'Only pages of this server may sign in and out.'
  throw new AppError('FORBIDDEN', message, { action: 'sessions:Start' })
}

/**
 * Says who is signed in and the ways to sign in. Nobody is no error: `session` is null then, because a page that asks is
 * usually the one on which to sign in.
 */
async function show(parts: SessionParts, { request, response }: OpenCall): Promise<void> {
  const isOwn = ['same-origin', 'none'].includes(String(request.headers['sec-fetch-site'] ?? 'none'))
  const ctx = isOwn ? await currentSession(parts, request) : null
  if (ctx) return sendJson(response, 200, await shown(parts, ctx))
  const retryAfterMs = parts.callers.takeAnonymous(request)
  if (retryAfterMs > 0)
    throw new AppError('LIMITED', 'Too many requests without a session from this address. Try again later.', {
      retryAfterMs,
    })
  sendJson(response, 200, { session: null, methods: methodsOf(parts) })
}

async function shown(parts: SessionParts, ctx: Ctx): Promise<object> {
  const { id, name, role, projectId } = ctx.principal
  const [project, session] = await Promise.all([findProject(ctx, projectId), findOwnSession(ctx)])
  return {
    id,
    name,
    kind: principalKind(id),
    role,
    project: { id: project.id, name: project.name },
    session: session && { id: session.id, expiresAt: session.expiresAt, endsAt: session.endsAt },
    methods: methodsOf(parts),
  }
}

/** The ways to sign in: POST here with a key, or the page of the identity provider. */
function methodsOf(parts: SessionParts): string[] {
  return parts.signIn ? ['key', 'oidc'] : ['key']
}

/** Takes `{key}`; answers as GET does, with the cookie of a new session. */
async function signIn(parts: SessionParts, call: OpenCall): Promise<void> {
  const { request, response } = call
  const ctx = await keyHolder(parts, call)
  const { session, cookie } = await openSession(parts, request, ctx, 'KEY')
  const signedIn = { ...ctx, principal: { ...ctx.principal, sessionId: session.id } }
  sendJson(response, 201, await shown(parts, signedIn), { 'set-cookie': cookie })
}

/** Takes `{key}`; answers with the `url` of a link that signs one browser in, once, and its `expiresAt`. */
async function makeLink(parts: SessionParts, call: OpenCall): Promise<void> {
  const ctx = await keyHolder(parts, call)
  const { code, session } = await createLink(ctx, { opens: 'anywhere', lifetimeMs: linkMs })
  const url = linkTo(parts.services.publicUrl(), code)
  sendJson(call.response, 201, { url, expiresAt: session.expiresAt })
}

/** The context of the key in the body. */
async function keyHolder(parts: SessionParts, { request, response }: OpenCall): Promise<Ctx> {
  assertOwnPage(parts.services, request)
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw invalidAt(['content-type'], 'must be application/json')
  const body = tryParseJson(await readText(request, response))
  const key = isJsonObject(body) ? body['key'] : null
  if (typeof key !== 'string' || !key.startsWith('gh_'))
    throw invalidAt(['key'], 'must be an API key, which begins with gh_')
  return parts.callers.signIn(key, request)
}

/** Ends the session in the cookie, or every session of its caller. Idempotent. */
async function signOut(parts: SessionParts, { request, response, url }: OpenCall): Promise<void> {
  assertOwnPage(parts.services, request)
  const everywhere = url.searchParams.get('everywhere') === 'true'
  const ctx = await currentSession(parts, request)
  if (ctx && everywhere) await endSessions(ctx, { principalId: ctx.principal.id })
  else if (ctx) await endQuietly(ctx)
  response.writeHead(204, { 'set-cookie': forgottenCookie(parts.services) }).end()
}
