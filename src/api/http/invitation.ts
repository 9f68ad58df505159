/** The page of an invitation: with its code a person gets a key or joins with an account, and the browser is signed in. */
import { acceptInvitation, checkInvitation, invitationPath } from '../../domain/access/index.ts'
import { openSession, type SessionParts } from './browser-session.ts'
import { codeField, makeCodePage, paragraph, type CodeAnswer } from './code-page.ts'
import { escaped } from './pages.ts'
import type { RouteGroup } from './route.ts'
import { beginSignIn } from './sign-in.ts'

const form = (buttons: string) =>
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
      html: form(signIn ? accountButtons : '<button>Accept</button>'),
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
  `<p><code style="overflow-wrap:anywhere">${escaped(secret)}</code></p>` +
  `<p><a href="/">${isSignedIn ? 'Go on: this browser is signed in' : 'Sign in with it'}</a></p>`
