/** Pages that sign a browser in: at the identity provider, and by a link. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList } from 'node:net'
import { cookieName, readCookie, setCookie } from '../../core/cookies.ts'
import { AppError } from '../../core/errors.ts'
import type { JoinedKey, Services } from '../../domain/access/index.ts'
import { keepSignIn } from '../../domain/upstream/index.ts'
import { isLocalLink, openLink, signInMs, type SignIn, type SignInGoal } from '../../domain/sign-in/index.ts'
import { giveSession, openSession, sessionToken, type SessionParts } from './browser-session.ts'
import { escapeHtml, givePage, redirect } from './pages.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'

export const loginPath = '/session/login'
const callbackPath = '/session/callback'
const startPath = '/session/start'
/** The address of a link with this code. */
export const linkTo = (publicUrl: string, code: string): string => `${publicUrl}${startPath}?code=${code}`
const cookie = 'gatehouse_sign_in'

/** Pages for GET. */
export function makeSignIn(parts: SessionParts): RouteGroup {
  const { services, callers } = parts
  const page = (path: string, serve: (parts: SessionParts, call: OpenCall) => Promise<void>): OpenRoute => ({
    method: 'GET',
    path,
    head: true,
    isPage: true,
    async run(call) {
      const retryAfterMs = callers.takeAnonymous(call.request)
      if (retryAfterMs > 0)
        throw new AppError('LIMITED', 'Too many sign-ins from this address. Try again later.', {
          retryAfterMs,
        })
      await serve(parts, call)
    },
  })
  return openRoutes(services.log, {
    routes: [page(startPath, start), page(loginPath, login), page(callbackPath, callback)],
    headers: { 'cache-control': 'no-store' },
    refuse: giveFault,
  })
}

function giveFault({ response }: OpenCall, { code, message }: AppError, status: number): void {
  const shown = code === 'INTERNAL' ? 'The server failed unexpectedly. See its log.' : message
  const html = `<p>${escapeHtml(shown)}</p><p><a href="/">Back to Gatehouse</a></p>`
  givePage(response, { status, title: 'Not signed in', html })
}

/**
 * Sends the browser to the identity provider. `?to=` is the path to which it returns, `?as=` the key that a person has
 * chosen of several.
 */
async function login(
  { services, signIn }: SessionParts,
  { request, response, url }: OpenCall,
): Promise<void> {
  if (!signIn) throw noProvider()
  const as = url.searchParams.get('as')?.slice(0, 100)
  const goal = { goTo: url.searchParams.get('to') ?? '/', as }
  const { location, cookie: begun } = await beginSignIn(services, signIn, request, goal)
  redirect(response, location, [begun])
}

/** Begins a sign-in: where to send the browser, and the header that binds it to this browser. */
export async function beginSignIn(
  services: Services,
  signIn: SignIn,
  request: IncomingMessage,
  goal: SignInGoal,
): Promise<{ location: string; cookie: string }> {
  const own = services.publicUrl()
  const { url, cookie: value } = await signIn.begin(own + callbackPath, {
    ...goal,
    earlier: sessionToken(services, request) ?? undefined,
  })
  return { location: url, cookie: signInCookie(own, value, signInMs / 1000) }
}

/** Ends what `login` began: the browser gets its session and returns to its page. */
async function callback(parts: SessionParts, { request, response, url }: OpenCall): Promise<void> {
  const { services, signIn, callers } = parts
  if (!signIn) throw noProvider()
  const own = services.publicUrl()
  const begun = readCookie(request.headers.cookie, cookieName(cookie, own))
  const from = { requestId: crypto.randomUUID(), remoteAddress: callers.addressOf(request) }
  const signedIn = await signIn.finish(own + callbackPath, url.searchParams, begun, from)
  const { goTo } = signedIn
  const isOver = signInCookie(own, '', 0)
  if ('choices' in signedIn) return giveChoices(response, signedIn.choices, goTo, isOver)
  const ctx = { ...services, ...from, principal: signedIn.principal }
  const opened = await openSession(parts, request, ctx, 'OIDC', signedIn.earlier)
  await keepSignIn(services, signedIn.principal, signedIn.tokens)
  redirect(response, goTo, [opened.cookie, isOver])
}

/** Asks which of the keys that the account has joined it is to be. */
function giveChoices(
  response: ServerResponse,
  choices: readonly JoinedKey[],
  goTo: string,
  isOver: string,
): void {
  const links = choices.map(({ principal: { id, name, role }, projectName }) => {
    const href = `${loginPath}?${new URLSearchParams({ as: id, to: goTo }).toString()}`
    return `<li><a href="${escapeHtml(href)}">${escapeHtml(projectName)}</a> (${escapeHtml([role, name].join(', '))})`
  })
  givePage(response, {
    status: 200,
    title: 'Which project?',
    html: `<p>Your account has joined more than one. You can choose again at each sign-in.</p><ul>${links.join('')}</ul>`,
    headers: { 'set-cookie': isOver },
  })
}

function signInCookie(publicUrl: string, value: string, maxAgeSeconds: number): string {
  const name = cookieName(cookie, publicUrl)
  // Lax: the browser comes back from the provider's site.
  return setCookie({ name, value, maxAgeSeconds, sameSite: 'Lax' }, publicUrl)
}

function noProvider(): AppError {
  return new AppError(
    'NOT_FOUND',
    'No identity provider is configured: the operator sets GATEHOUSE_OIDC_ISSUER and GATEHOUSE_OIDC_CLIENT_ID. ' +
      'Sign in with an API key.',
  )
}

/** Signs in with a link: once, and where the link says so, only on this machine. */
async function start(parts: SessionParts, { request, response, url }: OpenCall): Promise<void> {
  const code = url.searchParams.get('code') ?? ''
  // Another page could sign its visitor in as somebody else. What is typed, pasted or opened by a program has no site.
  if (!['none', 'same-origin', undefined].includes(request.headers['sec-fetch-site'] as string | undefined))
    throw new AppError('FORBIDDEN', 'Paste this link into the address bar: no page may open it.')
  const remoteAddress = parts.callers.addressOf(request)
  const userAgent = request.headers['user-agent'] ?? null
  const isHere = !isLocalLink(code) || isLocal(request)
  const token = isHere ? await openLink(parts.services, code, { remoteAddress, userAgent }) : null
  if (token === null)
    throw new AppError(
      'EXPIRED',
      'This link signs in once and for a while, and the one that a start prints only on its own machine. Print another ' +
        'one with the command `gatehouse open`, or sign in with an API key.',
    )
  redirect(response, '/', [await giveSession(parts, request, token)])
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether a request was made on this machine: over loopback, to a name of it, and by no proxy. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/i, '')
  const isLoopback = loopback.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
  const name = (headers.host ?? '').replace(/:\d+$/, '')
  const isNamed = name === 'localhost' || name === '[::1]' || loopback.check(name, 'ipv4')
  const forwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip']
  return isLoopback && isNamed && forwarded.every((header) => headers[header] === undefined)
}
