/** OAuth login pages for upstreams: the confirmation, the callback, and the client metadata document. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cookieName, readCookie, setCookie } from '../../core/cookies.ts'
import { newToken, purposeKey, sameText, sign } from '../../core/signing.ts'
import { personFor, type Services } from '../../domain/access/index.ts'
import {
  confirmLogin,
  loginPath,
  readLogin,
  callbackPath,
  clientDocumentPath,
  clientMetadata,
  finishLogin,
  type LoginOutcome,
} from '../../domain/upstream/index.ts'
import { readBody } from './bodies.ts'
import { currentSession, type SessionParts } from './browser-session.ts'
import { escapeHtml, givePage, redirect } from './pages.ts'
import { type OpenCall, openRoutes, type OpenRoute, type RouteGroup } from './route.ts'
import { sendJson } from './replies.ts'

/** The longest time that a login may take, in seconds. */
const cookieSeconds = 600
const maxFormBytes = 4096

const cookie = 'gatehouse_login'

/** The secret in the cookie of the browser; null when it has none. */
function browserOf(services: Services, request: IncomingMessage): string | null {
  const value = readCookie(request.headers.cookie, cookieName(cookie, services.publicUrl())) ?? ''
  return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null
}

function cookieOf(services: Services, browser: string): string {
  const url = services.publicUrl()
  const name = cookieName(cookie, url)
  return setCookie({ name, value: browser, maxAgeSeconds: cookieSeconds, sameSite: 'Lax' }, url)
}

/** Shows what the login is for. */
async function showLogin(services: Services, { request, response, url }: OpenCall): Promise<void> {
  const state = url.searchParams.get('state') ?? ''
  const question = await readLogin(services, state)
  if (!question) return over(response)
  const browser = browserOf(services, request) ?? newToken('')
  const { tool, project, startedBy, host, person } = question
  const facts = [
    ['Tool', tool],
    ['Project', project],
    ['Started by', startedBy],
    ['Log in at', host],
  ]
  givePage(response, {
    status: 200,
    title: 'Connect your account?',
    html:
      (person === null
        ? '<p>Everybody who uses this tool will act with the account that you log in with. Continue only if you started ' +
          'this yourself, or know who did.</p><dl>'
        : '<p>Calls of this tool that are made for you will act with the account that you log in with. Continue only if ' +
          'you started this yourself.</p><dl>') +
      facts.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value!)}</dd>`).join('') +
      `</dl><form method="post" action="${loginPath}"><input type="hidden" name="state" value="${escapeHtml(state)}">` +
      `<input type="hidden" name="token" value="${formToken(services, browser, state)}">` +
      '<button>Log in and connect</button></form>',
    headers: { 'set-cookie': cookieOf(services, browser) },
  })
}

/** Redirects to the authorization server, for a form of that page. */
async function confirm(parts: SessionParts, { request, response }: OpenCall): Promise<void> {
  const { services } = parts
  const body = await readBody(request, response, maxFormBytes)
  const form = 'bytes' in body ? new URLSearchParams(body.bytes.toString()) : null
  const browser = browserOf(services, request)
  const state = form?.get('state') ?? ''
  const fromPage =
    browser !== null &&
    (request.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin' &&
    sameText(form?.get('token') ?? '', formToken(services, browser, state))
  if (!fromPage)
    return givePage(response, {
      status: 403,
      title: 'Not confirmed',
      html: '<p>The request did not come from the login page in this browser. Open the link again and confirm it there.</p>',
    })
  const person = (await readLogin(services, state))?.person ?? null
  const session = person === null ? null : await currentSession(parts, request)
  // Else a link sent to another person would attach that person's account.
  if (person !== null && (!session || (await personFor(services.db, session.principal.id)) !== person))
    return givePage(response, {
      status: 403,
      title: 'Sign in to Gatehouse first',
      html:
        '<p>This login is for one person, and this browser is not signed in to Gatehouse as that person. Sign in here, ' +
        'open the link again and confirm it.</p>',
    })
  const goTo = await confirmLogin(services, state, browser)
  if (goTo === null) return over(response)
  redirect(response, goTo)
}

function over(response: ServerResponse): void {
  givePage(response, {
    status: 400,
    title: 'This login has ended',
    html: '<p>It was already completed, took too long, or was confirmed in another browser. Connect the tool again.</p>',
  })
}

/** A signature which proves that the form was shown to this browser for this login. */
function formToken({ masterKey }: Services, browser: string, state: string): string {
  return sign(purposeKey(masterKey, 'login form'), [browser, state])
}

const pages: Record<LoginOutcome, { status: number; title: string; message: string }> = {
  connected: {
    status: 200,
    title: 'Connected',
    message: 'The tool is connected. You can close this window.',
  },
  expired: {
    status: 400,
    title: 'This login has ended',
    message: 'It was already completed, took too long, or the tool was changed meanwhile. Connect it again.',
  },
  elsewhere: {
    status: 400,
    title: 'Not connected',
    message:
      'This login was not confirmed in this browser, so your account was not connected to anything. ' +
      'To connect it, open the link of the tool again and confirm it here.',
  },
  refused: {
    status: 400,
    title: 'Not connected',
    message: 'The authorization server refused, or you declined. Connect the tool again to retry.',
  },
  failed: {
    status: 502,
    title: 'Not connected',
    message: 'The authorization server sent no valid response. See the log of this server.',
  },
}

export function makeOauth(parts: SessionParts): RouteGroup {
  const { services } = parts
  const routes: OpenRoute[] = [
    { method: 'GET', path: loginPath, head: true, isPage: true, run: (call) => showLogin(services, call) },
    { method: 'POST', path: loginPath, run: (call) => confirm(parts, call) },
    { method: 'GET', path: clientDocumentPath, head: true, run: (call) => giveDocument(services, call) },
    {
      method: 'GET',
      path: callbackPath,
      head: true,
      isPage: true,
      async run({ request, response, url }) {
        const { status, title, message } = pages[await outcomeOf(services, request, url)]
        givePage(response, { status, title, html: `<p>${message}</p>` })
      },
    },
  ]
  return openRoutes(services.log, { routes })
}

async function outcomeOf(services: Services, request: IncomingMessage, url: URL): Promise<LoginOutcome> {
  try {
    return await finishLogin(services, url.searchParams, browserOf(services, request))
  } catch (error) {
    services.log.error({ err: error }, 'the OAuth callback of an upstream failed')
    return 'failed'
  }
}

/** The client ID metadata document: its URL is the client id for authorization servers that support it. */
function giveDocument({ publicUrl }: Services, { response }: OpenCall): void {
  const own = publicUrl()
  const body = { client_id: own + clientDocumentPath, ...clientMetadata(own) }
  sendJson(response, 200, body, { 'cache-control': 'public, max-age=3600' })
}
