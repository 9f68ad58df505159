/**
 * What a person may choose away from the dashboard, in Slack and on the pages of links: approve, reject, also for later calls,
 * or answer in place of the tool. Whether it is allowed is the verdict's to say. Pure.
 */
import { invalidAt, type AppError } from '../../core/errors.ts'
import { canonicalText } from '../../core/text.ts'
import type { Approval, DecideApprovalInput, Vote } from '../approvals/index.ts'

/** A field with a few choices; the first one is taken when none was made. */
export interface ChoiceField {
  name: string
  label: string
  options: readonly { value: string; label: string }[]
}

export interface Choice {
  what: 'APPROVE' | 'REJECT' | 'RESPOND'
  /** The reason of a verdict, or the answer, as it was typed. */
  text: string
  /** What was chosen in a field. */
  read(name: string): string | null
}

const askAgain = 'NONE'

/** The fields with which a rejection also refuses later calls; their words are at most 75 characters, for Slack. */
export function laterFields({ threadId, agentId }: Pick<Approval, 'threadId' | 'agentId'>): ChoiceField[] {
  const holders = [
    { value: askAgain, label: 'Ask again' },
    ...(threadId === null ? [] : [{ value: 'THREAD', label: 'Reject them in this thread' }]),
    ...(agentId === null ? [] : [{ value: 'AGENT', label: 'Reject them in all runs of this agent' }]),
    { value: 'CALLER', label: 'Reject them for the same key or person' },
  ]
  return [
    { name: 'later', label: 'Later calls, for the same requester', options: holders },
    {
      name: 'scope',
      label: 'Later calls with',
      options: [
        { value: 'EXACT', label: 'exactly these arguments' },
        { value: 'TOOL', label: 'any arguments' },
      ],
    },
    {
      name: 'seconds',
      label: 'Rejected for',
      options: [
        { value: '3600', label: '1 hour' },
        { value: '28800', label: '8 hours' },
        { value: '86400', label: '1 day' },
        { value: '604800', label: '7 days' },
      ],
    },
  ]
}

/** The verdict as the operation takes it. INVALID for a choice that was not offered. */
export function verdictOf(
  approval: Approval,
  { what, text, read }: Choice,
): Pick<DecideApprovalInput, 'verdict' | 'reason' | 'response' | 'grant'> {
  // Browsers send two characters for the end of a line.
  const words = canonicalText(text.replaceAll('\r\n', '\n').trim())
  const grant = grantOf(approval, read)
  if (what === 'RESPOND') return { verdict: 'REJECT', response: words, grant }
  if (what === 'APPROVE' && grant)
    throw invalidAt(['input', 'grant'], 'goes with a rejection or an answer only')
  return { verdict: what, reason: words || null, grant }
}

function grantOf(approval: Approval, read: Choice['read']): DecideApprovalInput['grant'] {
  const [holder, scope, seconds] = laterFields(approval).map(({ name, options }) => {
    const chosen = read(name) ?? options[0]!.value
    if (options.some(({ value }) => value === chosen)) return chosen
    throw invalidAt(['input', 'grant'], 'must be one of the choices that are offered')
  })
  if (holder === askAgain) return null
  return { holder, scope, expiresInSeconds: Number(seconds) } as NonNullable<DecideApprovalInput['grant']>
}

const inputs: Partial<Record<string, string>> = {
  reason: 'The reason',
  response: 'The answer',
  grant: 'The rejection of later calls',
}

/** Why a verdict does not count, for a person who knows no names of inputs. */
export function sentenceOf({ message, details }: AppError): string {
  const [issue] = details.issues ?? []
  const named = issue && inputs[issue.path[1] ?? '']
  return named ? `${named} ${issue.message}.` : message
}

/** What a vote did, in one word. */
export function wordOf({
  verdict,
  response,
}: Pick<Vote, 'verdict'> & { response?: string | null | undefined }): string {
  if (verdict === 'APPROVE') return 'Approved'
  return response ? 'Answered' : 'Rejected'
}
