/**
 * The id under which protocols show a question of the gate. Once its arguments are not those first asked, because
 * somebody edited them, it carries their digest, so that a verdict counts for what its author was shown.
 */
import { kindOfId } from '../../../core/ids.ts'
import type { Approval } from '../../../domain/approvals/index.ts'

const separator = '.'

export function questionId({ id, digest, editedArguments }: Approval): string {
  return editedArguments === null ? id : `${id}${separator}${digest}`
}

/** The approval that a shown id names, and the digest that was shown with it; null for what is no such id. */
export function readQuestionId(shown: unknown): { approvalId: string; digest: string | null } | null {
  if (typeof shown !== 'string') return null
  const at = shown.indexOf(separator)
  const approvalId = at < 0 ? shown : shown.slice(0, at)
  if (kindOfId(approvalId) !== 'approval') return null
  return { approvalId, digest: at < 0 ? null : shown.slice(at + 1) }
}
