/** The page on which a person confirms the OAuth login for an upstream, and the cookie that binds it to the browser. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cookieName, readCookie, setCookie } from '../../core/cookies.ts'
import { newToken, purposeKey, sameText, sign } from '../../core/signing.ts'
import type { Services } from '../../domain/access/index.ts'
import { confirmLogin, loginPath, readLogin } from '../../domain/upstream/index.ts'
import { readBody } from './bodies.ts'
import { escaped, givePage, redirect } from './pages.ts'
import type { OpenCall } from './route.ts'

/** The longest time that a login may take, in seconds. */
const cookieSeconds = 600
const maxFormBytes = 4096

const cookie = 'gatehouse_login'

/** The secret in the cookie of the browser; null when it has none. */
export function browserOf(services: Services, request: IncomingMessage): string | null {
  const value = readCookie(request.headers.cookie, cookieName(cookie, services.publicUrl())) ?? ''
  return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null
}

function cookieOf(services: Services, browser: string): string {
  const url = services.publicUrl()
  const name = cookieName(cookie, url)
  return setCookie({ name, value: browser, maxAgeSeconds: cookieSeconds, sameSite: 'Lax' }, url)
}

/** Shows what the login is for. */
export async function showLogin(services: Services, { request, response, url }: OpenCall): Promise<void> {
  const state = url.searchParams.get('state') ?? ''
  const question = await readLogin(services, state)
  if (!question) return over(response)
  const browser = browserOf(services, request) ?? newToken('')
  const { tool, project, startedBy, host } = question
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
      '<p>Everybody who uses this tool will act with the account that you log in with. Continue only if you started ' +
      'this yourself, or know who did.</p><dl>' +
      facts.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value!)}</dd>`).join('') +
      `</dl><form method="post" action="${loginPath}"><input type="hidden" name="state" value="${escaped(state)}">` +
      `<input type="hidden" name="token" value="${formToken(services, browser, state)}">` +
      '<button>Log in and connect</button></form>',
    headers: { 'set-cookie': cookieOf(services, browser) },
  })
}

/** Redirects to the authorization server, for a form of that page. */
export async function confirm(services: Services, { request, response }: OpenCall): Promise<void> {
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
