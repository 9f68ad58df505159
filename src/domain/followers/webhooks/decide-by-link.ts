/** A verdict with a link and the code that came with it. */
import { readCode, sameText } from '../../../core/signing.ts'
import { actingPrincipal, asAppError, type Ctx, type Services } from '../../access/index.ts'
import { giveVerdict, loadApprovals, type Approval } from '../../approvals/index.ts'
import { laterFields, sentenceOf, verdictOf, wordOf, type Choice, type ChoiceField } from '../choices.ts'
import { giveBackTry, takeTry, codeOf, readToken, type VerdictLink } from './verdict-link.ts'
import { isRecipient } from './recipients.ts'

/**
 * `refused`: link or code are not valid, whatever the reason: unknown, altered, wrong, dead. Every other outcome is told
 * only to somebody who knows the code. `open`: nothing was decided and the question can be, with these choices; `fault` is
 * what the person can change. `counted`: `done` is what the vote did, `more` whether another person must vote.
 */
export type LinkOutcome =
  | { kind: 'counted'; done: string; more: boolean; refusesLater: boolean }
  | { kind: 'open'; fault: string | null; later: ChoiceField[]; responses: boolean }
  | { kind: 'sentence'; message: string }
  | { kind: 'refused' }

export interface LinkVerdict extends Omit<Choice, 'what'> {
  token: string
  code: string
  /** Null: what can be chosen is to be shown. */
  what: Choice['what'] | null
  remoteAddress: string | null
  requestId: string
}

const refused: LinkOutcome = { kind: 'refused' }

/**
 * Gives the vote of a recipient with a link and its code. The link ends with the approval, five wrong codes end it, and
 * a code counts once. What cannot be a code, by its last character, is not counted as a try. The vote is that of the
 * recipient's principal, with the rights that it has now, about the question that the link was made for, and goes the
 * way of any other vote. Throws what is no answer to a person: UNAVAILABLE, and unexpected errors; then the code stays
 * usable, and so it does when the process is lost before the vote is written.
 */
export async function decideByLink(services: Services, given: LinkVerdict): Promise<LinkOutcome> {
  const { db, masterKey } = services
  const link = readToken(masterKey, given.token)
  const code = readCode(given.code)
  if (!link || !code) return refused
  const [approval] = await loadApprovals(db, [link.approvalId])
  if (!approval) return refused
  const isTaken = await takeTry(db, approval.projectId, link)
  const isRight = sameText(code, codeOf(masterKey, link))
  if (!isTaken || !isRight) return refused
  await giveBackTry(db, link)
  return vote(services, link, approval, given)
}

async function vote(
  services: Services,
  link: VerdictLink,
  approval: Approval,
  { what, remoteAddress, requestId, ...words }: LinkVerdict,
): Promise<LinkOutcome> {
  const { approvalId, digest, webhookId, principalId } = link
  const { projectId, requirement } = approval
  const fault = faultOf(link, approval)
  if (fault) return sentence(fault)
  const [recipient, principal] = await Promise.all([
    isRecipient(services.db, projectId, webhookId, principalId),
    actingPrincipal(services.db, projectId, principalId, services.clock.now()),
  ])
  if (!recipient || !principal || !requirement.verdictLinks)
    return sentence('You may not decide with this link any more. Sign in to decide.')
  const open = (message: string | null): LinkOutcome => ({
    kind: 'open',
    fault: message,
    later: laterFields(approval),
    responses: requirement.responses === true,
  })
  if (what === null) return open(null)
  const ctx: Ctx = { ...services, principal, requestId, remoteAddress, via: 'LINK' }
  try {
    const verdict = verdictOf(approval, { what, ...words })
    const decided = await giveVerdict(ctx, { approvalId, expectedDigest: digest, ...verdict })
    const refusesLater = Boolean(verdict.grant)
    return { kind: 'counted', done: wordOf(verdict), more: decided.status === 'PENDING', refusesLater }
  } catch (error) {
    const known = asAppError(error)
    if (!known || known.code === 'UNAVAILABLE') throw error
    if (known.code === 'INVALID' || known.code === 'LIMITED') return open(sentenceOf(known))
    if (known.code === 'APPROVAL_ALREADY_DECIDED') return sentence(settled)
    return sentence(known.message)
  }
}

/** Who decided, and what, is for those who sign in. */
const settled = 'This request was settled already.'

/** Why the link is no longer for this question. Its time is over when that of the question is, which may have become longer. */
function faultOf({ digest }: VerdictLink, approval: Approval): string | null {
  if (approval.status === 'EXPIRED') return 'The time for this decision is over; the call was rejected.'
  if (approval.status !== 'PENDING') return settled
  if (approval.digest !== digest)
    return 'The request was edited since this link was sent. Sign in to see it as it is now.'
  return null
}

function sentence(message: string): LinkOutcome {
  return { kind: 'sentence', message }
}
