/** A verdict with a link and the code that came with it. */
import { readCode, sameText } from '../../../core/signing.ts'
import { actingPrincipal, asAppError, type Ctx, type Services } from '../../access/index.ts'
import { giveVerdict, loadApprovals, type Approval, type Verdict } from '../../approvals/index.ts'
import { giveBackTry, takeTry, codeOf, readToken, type VerdictLink } from './verdict-link.ts'
import { isRecipient } from './recipients.ts'

/**
 * `refused`: link or code are not valid, whatever the reason: unknown, altered, wrong, dead. Every other outcome is told
 * only to somebody who knows the code.
 */
export type LinkOutcome =
  | { kind: 'counted'; verdict: Verdict; settled: boolean }
  | { kind: 'sentence'; message: string }
  | { kind: 'refused' }

export interface LinkVerdict {
  token: string
  code: string
  verdict: Verdict
  reason: string | null
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
  { verdict, reason, remoteAddress, requestId }: LinkVerdict,
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
  const ctx: Ctx = { ...services, principal, requestId, remoteAddress, via: 'LINK' }
  try {
    const decided = await giveVerdict(ctx, { approvalId, verdict, reason, expectedDigest: digest })
    return { kind: 'counted', verdict, settled: decided.status !== 'PENDING' }
  } catch (error) {
    const known = asAppError(error)
    if (!known || known.code === 'UNAVAILABLE') throw error
    if (known.code === 'APPROVAL_ALREADY_DECIDED') return sentence(settled)
    return sentence(known.message)
  }
}

/** Who decided, and what, is for those who sign in. */
const settled = 'This question was settled already.'

/** Why the link is no longer for this question. Its time is over when that of the question is, which may have become longer. */
function faultOf({ digest }: VerdictLink, approval: Approval): string | null {
  if (approval.status === 'EXPIRED') return 'The time for this verdict is over; the call was rejected.'
  if (approval.status !== 'PENDING') return settled
  if (approval.digest !== digest)
    return 'The question was edited since this link was sent. Sign in to see it as it is now.'
  return null
}

function sentence(message: string): LinkOutcome {
  return { kind: 'sentence', message }
}
