/** Who may decide about an approval beyond what the policy of a key says. */
import type { Database } from '../../store/db/database.ts'
import { personsOf, type Ctx } from '../access/index.ts'
import type { Approval } from './approval.ts'

/** Who takes part in a decision, by the person behind each key (see personsOf). */
export type Persons = ReadonlyMap<string, string>

/** The people behind the caller, the requester and those who have voted. */
export function personsIn(
  db: Database,
  { principal }: Pick<Ctx, 'principal'>,
  { requestedBy, votes }: Pick<Approval, 'requestedBy' | 'votes'>,
): Promise<Persons> {
  return personsOf(db, [principal.id, requestedBy, ...votes.map((vote) => vote.by)])
}

/** Why this caller may not decide about it as it stands, in words for the caller; null when it may. Pure. */
export function whyNot(
  { principal }: Pick<Ctx, 'principal'>,
  { requirement, requestedBy, escalatedAt }: Pick<Approval, 'requirement' | 'requestedBy' | 'escalatedAt'>,
  persons: Persons,
): string | null {
  const { id, role, votes } = principal
  if (!votes) return 'This key is marked as a program: it does not decide. A key of a person must.'
  if (requirement.excludeRequester && persons.get(requestedBy) === persons.get(id))
    return requestedBy === id
      ? 'Who asked for this call may not decide about it: another key must.'
      : 'This key belongs to the person who asked for this call: another person must decide about it.'
  const missing = requirement.approvers.find(
    (list) => !list.some((one) => one === role) && !(escalatedAt !== null && role === 'admin'),
  )
  return missing ? `Only keys with the role ${missing.join(' or ')} decide about this call.` : null
}

/** Whether the person behind this caller has approved already. Pure. */
export function hasApproved(
  { principal }: Pick<Ctx, 'principal'>,
  { votes }: Pick<Approval, 'votes'>,
  persons: Persons,
): boolean {
  return votes.some((vote) => persons.get(vote.by) === persons.get(principal.id))
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
