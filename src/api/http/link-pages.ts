/**
 * Pages of links that came with a code: an invitation, with which a person gets a key or joins with an account, and a
 * verdict of a recipient.
 */
import { acceptInvitation, checkInvitation, invitationPath } from '../../domain/access/index.ts'
import { openSession, type SessionParts } from './browser-session.ts'
import { codeField, makeCodePage, type CodeAnswer, type CodePageParts, type SentCode } from './code-page.ts'
import { escapeHtml, paragraph } from './pages.ts'
import type { RouteGroup } from './route.ts'
import { beginSignIn } from './sign-in.ts'
import { decideByLink, verdictPath, type LinkOutcome } from '../../domain/followers/index.ts'

const invitationForm = (buttons: string) =>
  '<p>Somebody invited you to a project of this server, where people decide what AI agents may do. Type the code that ' +
  `came with the invitation.</p><form method="post">${codeField}<p>${buttons}</p></form>`

const accountButtons =
  '<button name="by" value="account">Join with your account</button> <button>Make a key</button>'

const notAccepted = (status: number, message: string): CodeAnswer => ({
  status,
  title: 'Not accepted',
  html: paragraph(message),
})

export function makeInvitations(parts: SessionParts): RouteGroup {
  const { services, callers, signIn } = parts
  const refused = notAccepted(
    400,
    'The link or the code is not valid. Go back and compare the code, or ask whoever invited you.',
  )
  return makeCodePage(
    { services, addressOf: callers.addressOf },
    {
      path: invitationPath,
      title: 'You are invited',
      html: invitationForm(signIn ? accountButtons : '<button>Accept</button>'),
      leadsAway: signIn !== null,
      failed: notAccepted(503, 'Something went wrong. Go back and try again.'),
      refused,
      async answer({ request, form: sent, token, remoteAddress, requestId }) {
        const given = { token, code: sent.get('code') ?? '', remoteAddress, requestId }
        const joins = signIn !== null && sent.get('by') === 'account'
        const outcome = await (joins ? checkInvitation(services, given) : acceptInvitation(services, given))
        if (outcome.kind === 'refused') return refused
        if (outcome.kind === 'sentence') return notAccepted(409, outcome.message)
        if (outcome.kind === 'open') {
          const begun = await beginSignIn(services, signIn!, request, { goTo: '/', invitation: outcome.id })
          return { ...begun, counted: true }
        }
        // The key is theirs by now: without a session it is shown all the same.
        const session = await openSession(parts, request, outcome.ctx, 'LINK').catch((error: unknown) => {
          services.log.error({ err: error }, 'an invitation was accepted without a session')
          return null
        })
        return {
          status: 200,
          title: 'You have a key',
          html: acceptedPage(outcome.secret, session !== null),
          counted: true,
          ...(session ? { cookie: session.cookie } : {}),
        }
      },
    },
  )
}

const acceptedPage = (secret: string, isSignedIn: boolean): string =>
  paragraph('This is your key. Keep it: it is shown only once, and you sign in with it on other days.') +
  `<p><code style="overflow-wrap:anywhere">${escapeHtml(secret)}</code></p>` +
  `<p><a href="/">${isSignedIn ? 'Go on: this browser is signed in' : 'Sign in with it'}</a></p>`

const html =
  '<p>A tool call of an AI agent waits for your verdict. What it is about is not shown here: read it in the message that ' +
  `brought you, or sign in. Type the code from the message.</p><form method="post">${codeField}` +
  '<p><label>Reason, for a rejection<br><textarea name="reason" rows="3" maxlength="1000"></textarea></label></p>' +
  '<p><button name="verdict" value="REJECT">Reject</button> <button name="verdict" value="APPROVE">Approve</button></p></form>'

const notCounted = (status: number, message: string): CodeAnswer => ({
  status,
  title: 'Not counted',
  html: paragraph(message),
})

const refused = notCounted(
  400,
  'The link or the code is not valid. Go back and compare the code with the message, or sign in to decide.',
)

/** The page of a link with which a recipient of a webhook decides. */
export function makeVerdicts(parts: CodePageParts): RouteGroup {
  return makeCodePage(parts, {
    path: verdictPath,
    title: 'Your verdict',
    html,
    failed: notCounted(503, 'Something went wrong. Go back and try again.'),
    refused,
    async answer({ form, token, remoteAddress, requestId }: SentCode) {
      const verdict = form.get('verdict')
      if (verdict !== 'APPROVE' && verdict !== 'REJECT') return refused
      const reason = form.get('reason')?.trim() || null
      const code = form.get('code') ?? ''
      const given = { token, code, verdict, reason, remoteAddress, requestId } as const
      return shown(await decideByLink(parts.services, given))
    },
  })
}

function shown(outcome: LinkOutcome): CodeAnswer {
  if (outcome.kind === 'refused') return refused
  if (outcome.kind === 'sentence') return notCounted(409, outcome.message)
  const more = outcome.settled ? '' : ' Another person must approve, too.'
  return {
    status: 200,
    title: outcome.verdict === 'APPROVE' ? 'Approved' : 'Rejected',
    html: paragraph(`Your verdict counts.${more}`),
    counted: true,
  }
}
