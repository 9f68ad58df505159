/** Who may decide an approval, beyond the policy of the key. */
import type { Database } from '../../store/db/database.ts'
import { personsOf, type Ctx } from '../access/index.ts'
import type { Approval } from './approval.ts'

/** The person behind each key of a decision (see `personsOf`), by key id. */
export type Persons = ReadonlyMap<string, string>

/** The persons behind the caller, the requester and the voters. */
export function personsIn(
  db: Database,
  { principal }: Pick<Ctx, 'principal'>,
  { requestedBy, votes }: Pick<Approval, 'requestedBy' | 'votes'>,
): Promise<Persons> {
  return personsOf(db, [principal.id, requestedBy, ...votes.map((vote) => vote.by)])
}

/** Why this caller may not decide this approval now, as a message for the caller; null when it may. Pure. */
export function whyNot(
  { principal }: Pick<Ctx, 'principal'>,
  { requirement, requestedBy, escalatedAt }: Pick<Approval, 'requirement' | 'requestedBy' | 'escalatedAt'>,
  persons: Persons,
): string | null {
  const { id, role, votes } = principal
  if (!votes) return 'This key is marked as a program and cannot decide. Use a key of a person.'
  if (requirement.excludeRequester && persons.get(requestedBy) === persons.get(id))
    return requestedBy === id
      ? 'The key that requested this call may not decide about it: use another key.'
      : 'This key belongs to the person who requested this call: another person must decide about it.'
  const missing = requirement.approvers.find(
    (list) => !list.some((one) => one === role) && !(escalatedAt !== null && role === 'admin'),
  )
  return missing ? `Only keys with the role ${missing.join(' or ')} can decide about this call.` : null
}

/** Whether the person behind this caller has approved already. Pure. */
export function hasApproved(
  { principal }: Pick<Ctx, 'principal'>,
  { votes }: Pick<Approval, 'votes'>,
  persons: Persons,
): boolean {
  return votes.some((vote) => persons.get(vote.by) === persons.get(principal.id))
}
