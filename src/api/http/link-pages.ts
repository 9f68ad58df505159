/**
 * Pages of links that came with a code: an invitation, with which a person gets a key or joins with an account, and a
 * verdict of a recipient.
 */
import { acceptInvitation, checkInvitation, invitationPath } from '../../domain/access/index.ts'
import { openSession, type SessionParts } from './browser-session.ts'
import { codeField, makeCodePage, type CodeAnswer, type CodePageParts, type SentCode } from './code-page.ts'
import { escapeMarkup } from '../../core/text.ts'
import { escapeHtml, paragraph } from './pages.ts'
import type { RouteGroup } from './route.ts'
import { beginSignIn } from './sign-in.ts'
import {
  decideByLink,
  verdictPath,
  type ChoiceField,
  type LinkOutcome,
} from '../../domain/followers/index.ts'

const invitationForm = (buttons: string) =>
  '<p>Somebody invited you to a project of this server, where people decide what AI agents may do. Type the code that ' +
  `came with the invitation.</p><form method="post">${codeField()}<p>${buttons}</p></form>`

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
      failed: () => notAccepted(503, 'Something went wrong. Go back and try again.'),
      refused: () => refused,
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

const intro =
  '<p>A tool call of an AI agent waits for your decision. What it is about is not shown here: read it in the message that ' +
  'brought you, or sign in. Type the code from the message.</p>'

/** What else can be chosen, which is shown to those who know the code. */
type Choices = Extract<LinkOutcome, { kind: 'open' }>

/** The form, with what was typed in it before; `code` of a form that goes to those who know it. */
function formOf(sent: URLSearchParams, code: string, choices: Choices | null): string {
  const button = (value: string, words: string) =>
    `<button name="verdict" value="${value}">${words}</button> `
  const label = choices?.responses ? 'Reason of a rejection, or your answer' : 'Reason, for a rejection'
  // A browser drops the first end of a line.
  const typed = `\n${escapeMarkup(sent.get('reason') ?? '')}`
  return (
    `<form method="post">${codeField(code)}` +
    `<p><label>${label}<br><textarea name="reason" rows="3">${typed}</textarea></label></p>` +
    (choices?.responses ? answerHint : '') +
    (choices ? choices.later.map((field) => selectOf(field, sent.get(field.name))).join('') : '') +
    `<p>${button('REJECT', 'Reject')}${button('APPROVE', 'Approve')}` +
    (choices?.responses ? button('RESPOND', 'Answer with this text') : '') +
    `${choices ? '' : button('CHOICES', 'More choices')}</p></form>`
  )
}

const answerHint =
  '<p>An answer becomes the result of the call, and the tool is not run. If the tool has an output schema, the answer is ' +
  'JSON that fits it.</p>'

function selectOf({ name, label, options }: ChoiceField, chosen: string | null): string {
  const all = options.map(
    (one) =>
      `<option value="${one.value}"${one.value === chosen ? ' selected' : ''}>${escapeHtml(one.label)}</option>`,
  )
  return `<p><label>${label}<br><select name="${name}">${all.join('')}</select></label></p>`
}

const notCounted = (status: number, message: string, form = ''): CodeAnswer => ({
  status,
  title: 'Not counted',
  html: paragraph(message) + form,
})

const kinds = ['APPROVE', 'REJECT', 'RESPOND'] as const

/** The page of a link with which a recipient of a webhook decides. */
export function makeVerdicts(parts: CodePageParts): RouteGroup {
  // Without the code, so that it tells nothing of it.
  const refused = (form: URLSearchParams) =>
    notCounted(
      400,
      'The link or the code is not valid. Compare the code with the message, or sign in to decide.',
      formOf(form, '', null),
    )
  return makeCodePage(parts, {
    path: verdictPath,
    title: 'Your decision',
    html: intro + formOf(new URLSearchParams(), '', null),
    failed: (form) =>
      notCounted(503, 'Something went wrong. Try again.', formOf(form, form.get('code') ?? '', null)),
    refused,
    async answer({ form, token, remoteAddress, requestId }: SentCode) {
      const pressed = form.get('verdict')
      const what = kinds.find((kind) => kind === pressed) ?? null
      if (what === null && pressed !== 'CHOICES') return refused(form)
      const code = form.get('code') ?? ''
      const words = { text: form.get('reason') ?? '', read: (name: string) => form.get(name) }
      const given = { token, code, what, remoteAddress, requestId, ...words }
      const outcome = await decideByLink(parts.services, given)
      return outcome.kind === 'refused' ? refused(form) : shown(outcome, form, code)
    },
  })
}

function shown(
  outcome: Exclude<LinkOutcome, { kind: 'refused' }>,
  form: URLSearchParams,
  code: string,
): CodeAnswer {
  if (outcome.kind === 'sentence') return notCounted(409, outcome.message)
  if (outcome.kind === 'open') {
    const html = formOf(form, code, outcome)
    if (outcome.fault !== null) return { ...notCounted(422, outcome.fault, html), counted: true }
    return { status: 200, title: 'Your decision', html, counted: true }
  }
  const more = outcome.more ? ' Another person must approve, too.' : ''
  const later = outcome.refusesLater ? ' Later calls like it are rejected, too.' : ''
  return {
    status: 200,
    title: outcome.done,
    html: paragraph(`Your decision counts.${more}${later}`),
    counted: true,
  }
}
