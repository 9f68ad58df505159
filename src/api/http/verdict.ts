/** The page of a link with which a recipient of a webhook decides. */
import { decideByLink, verdictPath, type LinkOutcome } from '../../domain/followers/index.ts'
import {
  codeField,
  makeCodePage,
  paragraph,
  type CodeAnswer,
  type CodePageParts,
  type SentCode,
} from './code-page.ts'
import type { RouteGroup } from './route.ts'

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
