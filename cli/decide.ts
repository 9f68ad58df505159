/** One approval at the terminal: what is asked, and the verdict. */
import { ConflictError, ForbiddenError, type Approval, type Client } from '../client/index.ts'
import type { Lines } from './lines.ts'
import { bold, dim, json, note, oneLine, red, yellow } from './screen.ts'

const isDestructive = ({ tool }: Approval) => tool?.annotations.destructiveHint === true

/** Shows everything that the verdict is about. */
export function show(approval: Approval): void {
  const { question, requester, agent, votes, requirement, expiresAt, arguments: args } = approval
  const title = question?.title ? ` (${oneLine(question.title)})` : ''
  note('')
  note(`${bold(oneLine(approval.toolName))}${title}  ${dim(approval.id)}`)
  if (question?.description) note(dim(oneLine(question.description)))
  note(json(args))
  const asker = oneLine(requester.name ?? requester.id)
  note(dim(`requested by ${asker}${agent ? ` through ${oneLine(agent.name)}` : ''}; expires ${expiresAt}`))
  if (requirement.quorum > 1) note(dim(`${votes.length} of ${requirement.quorum} votes so far`))
  if (approval.maskedPaths.length > 0) note(dim(`masked: ${approval.maskedPaths.map(oneLine).join(', ')}`))
  if (isDestructive(approval)) note(red('This tool is marked as destructive.'))
}

export type Decision = 'decided' | 'skipped' | 'ended'

/** Asks for a verdict and gives it. `ended`: there is no more input. A verdict for what changed meanwhile is refused. */
export async function decide(
  client: Client,
  approval: Approval,
  lines: Lines,
  signal: AbortSignal,
): Promise<Decision> {
  if (!approval.viewerCanDecide.may) {
    note(yellow(`This key may not decide it: ${oneLine(approval.viewerCanDecide.why ?? 'no reason given')}`))
    return 'skipped'
  }
  const answer = await lines.ask('approve, reject or skip? [a/r/s] ', signal)
  if (answer === null) return signal.aborted ? 'skipped' : 'ended'
  const verdict = verdictOf(answer)
  if (verdict === null) {
    note(`Skipped: it still waits.  ${dim(approval.id)}`)
    return 'skipped'
  }
  if (verdict === 'APPROVE' && isDestructive(approval)) {
    const name = await lines.ask(`Type ${oneLine(approval.toolName)} to approve it: `, signal)
    if (name !== approval.toolName) {
      note('Not approved.')
      return name === null && !signal.aborted ? 'ended' : 'skipped'
    }
  }
  const reason =
    verdict === 'REJECT' ? await lines.ask('Reason, sent to the model (may be empty): ', signal) : null
  if (signal.aborted) return 'skipped'
  return give(client, approval, verdict, reason)
}

function verdictOf(answer: string): 'APPROVE' | 'REJECT' | null {
  if (answer === 'a' || answer === 'approve') return 'APPROVE'
  return answer === 'r' || answer === 'reject' ? 'REJECT' : null
}

async function give(
  client: Client,
  approval: Approval,
  verdict: 'APPROVE' | 'REJECT',
  reason: string | null,
): Promise<Decision> {
  try {
    const after = await client.approvals.decide(approval, { verdict, ...(reason ? { reason } : {}) })
    note(
      `${after.status === 'PENDING' ? 'The vote counts; more are needed.' : `Now ${after.status}.`}  ${dim(approval.id)}`,
    )
    return 'decided'
  } catch (error) {
    if (!(error instanceof ConflictError) && !(error instanceof ForbiddenError)) throw error
    note(yellow(oneLine(error.message)))
    return 'skipped'
  }
}
