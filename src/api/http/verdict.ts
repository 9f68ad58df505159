/** The page of a link with which a recipient decides: a static form for the code. Opening it changes nothing. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { countedAddress } from '../../core/client-address.ts'
import { isOwnOrigin } from '../../core/cookies.ts'
import { asAppError, createAddressLimit, type Services } from '../../domain/access/index.ts'
import { decideByLink, verdictPath, type LinkOutcome } from '../../domain/followers/index.ts'
import { readText } from './bodies.ts'
import { escaped, givePage, pageHeaders } from './pages.ts'
import { retryAfter } from './replies.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'

/** Codes that did not count which one address may send, on one replica. */
const postsPerMinute = 30

const headers = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; form-action 'self'`,
}

/** The same for every link, valid or not: nothing is read for it. The first button is disabled, so that Enter sends nothing. */
const form =
  '<p>A tool call of an AI agent waits for your verdict. What it is about is not shown here: read it in the message that ' +
  'brought you, or sign in. Type the code from the message.</p>' +
  '<form method="post"><button disabled hidden></button>' +
  '<p><label>Code<br><input name="code" required maxlength="16" autocomplete="one-time-code" spellcheck="false" ' +
  'autocapitalize="characters"></label></p>' +
  '<p><label>Reason, for a rejection<br><textarea name="reason" rows="3" maxlength="1000"></textarea></label></p>' +
  '<p><button name="verdict" value="REJECT">Reject</button> <button name="verdict" value="APPROVE">Approve</button></p></form>'

export interface VerdictParts {
  services: Services
  addressOf(request: IncomingMessage): string | null
}

export function makeVerdicts({ services, addressOf }: VerdictParts): RouteGroup {
  const posts = createAddressLimit(services.clock, postsPerMinute)
  const path = `${verdictPath}{token}`
  const routes: OpenRoute[] = [
    {
      method: 'GET',
      path,
      head: true,
      run: ({ response }) => givePage(response, { status: 200, title: 'Your verdict', html: form, headers }),
    },
    {
      method: 'POST',
      path,
      async run(call) {
        const { request, response } = call
        const name = countedAddress(addressOf(request) ?? '')
        const waitMs = posts.take(name)
        if (waitMs > 0) return tooMany(response, waitMs)
        const outcome = await outcomeOf(services, call, addressOf(request))
        if (outcome.kind === 'counted') posts.giveBack(name)
        give(response, outcome)
      },
    },
  ]
  return openRoutes(services.log, { routes })
}

async function outcomeOf(
  services: Services,
  { request, response, params }: OpenCall,
  remoteAddress: string | null,
): Promise<LinkOutcome | { kind: 'failed' }> {
  if (!isOwnForm(services, request)) return { kind: 'refused' }
  const text = await readText(request, response).catch(() => '')
  const given = new URLSearchParams(
    /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '') ? text : '',
  )
  const verdict = given.get('verdict')
  if (verdict !== 'APPROVE' && verdict !== 'REJECT') return { kind: 'refused' }
  const reason = given.get('reason')?.trim() || null
  try {
    const requestId = randomUUID()
    return await decideByLink(services, {
      token: params['token']!,
      code: given.get('code') ?? '',
      verdict,
      reason,
      remoteAddress,
      requestId,
    })
  } catch (error) {
    if (!asAppError(error)) services.log.error({ err: error }, 'a verdict with a link failed')
    return { kind: 'failed' }
  }
}

/** Whether the request comes from the form: browsers say so, or send the Origin of this server, or `null` without a referrer. */
function isOwnForm({ publicUrl }: Services, { headers: head }: IncomingMessage): boolean {
  const site = head['sec-fetch-site']
  const { origin } = head
  const own = origin === undefined || origin === 'null' || isOwnOrigin(origin, head.host, publicUrl())
  return own && (site === undefined || site === 'same-origin')
}

function give(response: ServerResponse, outcome: LinkOutcome | { kind: 'failed' }): void {
  const page = (status: number, title: string, message: string) =>
    givePage(response, { status, title, html: `<p>${escaped(message)}</p>`, headers })
  if (outcome.kind === 'counted') {
    const more = outcome.settled ? '' : ' Another person must approve, too.'
    return page(200, outcome.verdict === 'APPROVE' ? 'Approved' : 'Rejected', `Your verdict counts.${more}`)
  }
  if (outcome.kind === 'sentence') return page(409, 'Not counted', outcome.message)
  if (outcome.kind === 'failed')
    return page(503, 'Not counted', 'Something went wrong. Go back and try again.')
  page(
    400,
    'Not counted',
    'The link or the code is not valid. Go back and compare the code with the message, or sign in to decide.',
  )
}

function tooMany(response: ServerResponse, waitMs: number): void {
  givePage(response, {
    status: 429,
    title: 'Try again later',
    html: '<p>Too many codes were sent from your address.</p>',
    headers: { ...headers, ...retryAfter(waitMs), connection: 'close' },
  })
}
