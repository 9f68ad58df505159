/** The page of an invitation: with its code it gives a person a key, and signs the browser in. */
import { acceptInvitation, invitationPath } from '../../domain/access/index.ts'
import { openSession, type SessionParts } from './browser-session.ts'
import { codeField, makeCodePage, paragraph, type CodeAnswer } from './code-page.ts'
import { escaped } from './pages.ts'
import type { RouteGroup } from './route.ts'

const html =
  '<p>Somebody invited you to a project of this server, where people decide what AI agents may do. Type the code that ' +
  `came with the invitation.</p><form method="post">${codeField}<p><button>Accept</button></p></form>`

const notAccepted = (status: number, message: string): CodeAnswer => ({
  status,
  title: 'Not accepted',
  html: paragraph(message),
})

export function makeInvitations(parts: SessionParts): RouteGroup {
  const { services, callers } = parts
  const refused = notAccepted(
    400,
    'The link or the code is not valid. Go back and compare the code, or ask whoever invited you.',
  )
  return makeCodePage(
    { services, addressOf: callers.addressOf },
    {
      path: invitationPath,
      title: 'You are invited',
      html,
      failed: notAccepted(503, 'Something went wrong. Go back and try again.'),
      refused,
      async answer({ request, form, token, remoteAddress, requestId }) {
        const code = form.get('code') ?? ''
        const outcome = await acceptInvitation(services, { token, code, remoteAddress, requestId })
        if (outcome.kind === 'refused') return refused
        if (outcome.kind === 'sentence') return notAccepted(409, outcome.message)
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
