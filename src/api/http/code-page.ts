/**
 * The page of a link that came with a code: a static form, and what became of the code that was typed. Opening it reads
 * and changes nothing, so that scanners of links do no harm.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { countedAddress } from '../../core/addresses.ts'
import { isOwnOrigin } from '../../core/cookies.ts'
import { asAppError, createAddressLimit, type Services } from '../../domain/access/index.ts'
import { escapeHtml, givePage, pageHeaders, redirect } from './pages.ts'
import { retryAfter } from './replies.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'

/** Codes that did not count which one address may send to a page, on one replica. */
const postsPerMinute = 30

const formHeaders = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; form-action 'self'`,
}

/** The largest form, in bytes: the longest text that a person may send, in the longest encoding. */
const maxBytes = 256 * 1024

/** The field of the code, with what was typed. The first button of a form is disabled, so that Enter sends nothing. */
export const codeField = (typed = ''): string =>
  `<button disabled hidden></button><p><label>Code<br><input name="code" value="${escapeHtml(typed)}" required ` +
  'maxlength="16" autocomplete="one-time-code" spellcheck="false" autocapitalize="characters"></label></p>'

/** What is answered to a code; `html` is inserted as it is. */
export interface CodeAnswer {
  status: number
  title: string
  html: string
  /** Whether the code counted: then it takes nothing from the limit of its address. */
  counted?: true
  cookie?: string
}

/** Sends the browser elsewhere, with a cookie. */
export interface CodeRedirect {
  location: string
  cookie: string
  counted: true
}

/** A form that was sent with a token. */
export interface SentCode {
  request: IncomingMessage
  token: string
  form: URLSearchParams
  remoteAddress: string | null
  requestId: string
}

export interface CodePage {
  /** The path of its links, up to the token. */
  path: string
  title: string
  /** The same for every link, valid or not: nothing is read for it. */
  html: string
  /** Whether an answer may send the browser elsewhere: `form-action` would forbid it. */
  leadsAway?: boolean
  /** What to do after a fault that is no answer. */
  failed(form: URLSearchParams): CodeAnswer
  /** Link or code are not valid, or the form is not this page's: then it is empty. */
  refused(form: URLSearchParams): CodeAnswer
  answer(sent: SentCode): Promise<CodeAnswer | CodeRedirect>
}

export interface CodePageParts {
  services: Services
  addressOf(request: IncomingMessage): string | null
}

export function makeCodePage({ services, addressOf }: CodePageParts, page: CodePage): RouteGroup {
  const posts = createAddressLimit(services.clock, postsPerMinute)
  const path = `${page.path}{token}`
  const { title, html } = page
  const routes: OpenRoute[] = [
    {
      method: 'GET',
      path,
      head: true,
      run: ({ response }) => give(response, page, { status: 200, title, html }),
    },
    {
      method: 'POST',
      path,
      async run(call) {
        const remoteAddress = addressOf(call.request)
        const name = countedAddress(remoteAddress ?? '')
        const waitMs = posts.take(name)
        if (waitMs > 0) return tooMany(call.response, waitMs)
        const answer = await answerOf(services, page, call, remoteAddress)
        if (!answer) return
        if (answer.counted) posts.giveBack(name)
        give(call.response, page, answer)
      },
    },
  ]
  return openRoutes(services.log, { routes })
}

/** Null when the body was refused, and the response has been sent. */
async function answerOf(
  services: Services,
  page: CodePage,
  { request, readBody, params }: OpenCall,
  remoteAddress: string | null,
): Promise<CodeAnswer | CodeRedirect | null> {
  if (!isOwnForm(services, request)) return page.refused(new URLSearchParams())
  // All senders count as one, since none has shown a code yet: authenticated requests keep their memory.
  const body = await readBody('codes', maxBytes)
  if (!body) return null
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  const form = new URLSearchParams(isForm ? body.toString('utf8') : '')
  try {
    const requestId = randomUUID()
    return await page.answer({ request, token: params['token']!, form, remoteAddress, requestId })
  } catch (error) {
    if (!asAppError(error)) services.log.error({ err: error }, `a code for ${page.path} failed`)
    return page.failed(form)
  }
}

/** Whether the request comes from the form: browsers say so, or send the Origin of this server, or `null` without a referrer. */
function isOwnForm({ publicUrl }: Services, { headers: head }: IncomingMessage): boolean {
  const site = head['sec-fetch-site']
  const { origin } = head
  const own = origin === undefined || origin === 'null' || isOwnOrigin(origin, head.host, publicUrl())
  return own && (site === undefined || site === 'same-origin')
}

function give(response: ServerResponse, page: CodePage, answer: CodeAnswer | CodeRedirect): void {
  if ('location' in answer) return redirect(response, answer.location, [answer.cookie])
  const { status, title, html, cookie } = answer
  const own = page.leadsAway ? pageHeaders : formHeaders
  const headers = { ...own, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) }
  givePage(response, { status, title, html, headers })
}

function tooMany(response: ServerResponse, waitMs: number): void {
  givePage(response, {
    status: 429,
    title: 'Try again later',
    html: '<p>Too many codes were sent from your address.</p>',
    headers: { ...formHeaders, ...retryAfter(waitMs), connection: 'close' },
  })
}
