/** Who may decide about an approval beyond what the policy of a key says. */
import type { Ctx } from '../access/index.ts'
import type { Approval } from './approval.ts'

/** Why this caller may not decide about it as it stands, in words for the caller; null when it may. Pure. */
export function whyNot(
  { principal }: Pick<Ctx, 'principal'>,
  { requirement, requestedBy, escalatedAt }: Pick<Approval, 'requirement' | 'requestedBy' | 'escalatedAt'>,
): string | null {
  const { id, role } = principal
  if (requirement.excludeRequester && requestedBy === id)
    return 'Who asked for this call may not decide about it: another key must.'
  const missing = requirement.approvers.find(
    (list) => !list.some((one) => one === role) && !(escalatedAt !== null && role === 'admin'),
  )
  return missing ? `Only keys with the role ${missing.join(' or ')} decide about this call.` : null
}

/** A refusal found inside a transaction: it is audited as a denial after the rollback. */
export class RightsChanged extends Error {
  readonly approval: Approval

  constructor(approval: Approval, message: string) {
    super(message)
    this.name = 'RightsChanged'
    this.approval = approval
  }
}
