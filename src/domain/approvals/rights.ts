/**
 * Who may decide an approval, beyond the policy of the key; for a list of questions, and again under the lock of a
 * verdict.
 */
import { type Database, jsonb, query } from '../../store/db/database.ts'
import { personsOf, type Ctx, allows, holds, memberOf, permissionsOf } from '../access/index.ts'
import type { Approval } from './approval.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { resourceOf } from '../tools/index.ts'

/** The person behind each key of a decision (see `personsOf`), by key id. */
export type Persons = ReadonlyMap<string, string>

type Requested = Pick<Approval, 'requestedBy' | 'requirement'>

/** Who has requested the call: a program, and the person for whom it acts. */
function requestersOf({ requestedBy, requirement: { actsFor } }: Requested): string[] {
  return actsFor === undefined ? [requestedBy] : [requestedBy, actsFor]
}

/** Whether the person behind this principal has requested the call. Pure. */
export function hasRequested(id: string, approval: Requested, persons: Persons): boolean {
  return requestersOf(approval).some((one) => persons.get(one) === persons.get(id))
}

/** The persons behind the caller, the requesters and the voters. */
export function personsIn(
  db: Database,
  { principal }: Pick<Ctx, 'principal'>,
  approval: Requested & Pick<Approval, 'votes'>,
): Promise<Persons> {
  return personsOf(db, [principal.id, ...requestersOf(approval), ...approval.votes.map((vote) => vote.by)])
}

/** Why this caller may not decide this approval now, as a message for the caller; null when it may. Pure. */
export function whyNot(
  { principal }: Pick<Ctx, 'principal'>,
  approval: Requested & Pick<Approval, 'escalatedAt'>,
  persons: Persons,
): string | null {
  const { id, role, votes } = principal
  const { requirement, requestedBy, escalatedAt } = approval
  if (requirement.loginOf)
    return 'Nobody decides about this: the call goes on when the person for whom it is made has logged in, with logInToUpstream.'
  if (!votes) return 'This key is marked as a program and cannot decide. Use a key of a person.'
  if (requirement.excludeRequester && hasRequested(id, approval, persons))
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

/**
 * Why the caller may not decide each of these approvals now, as a message for the caller; null where it may. One
 * statement for all of them, and no entry in the audit.
 */
export async function whyNotDecide(ctx: Ctx, approvals: readonly Approval[]): Promise<(string | null)[]> {
  const ids = approvals.flatMap((one) => [...requestersOf(one), ...one.votes.map((vote) => vote.by)])
  const persons = await personsOf(ctx.db, [ctx.principal.id, ...ids])
  const now = ctx.clock.now()
  return approvals.map((approval) => {
    const { status, expiresAt, toolId } = approval
    if (status !== 'PENDING') return 'The approval is not pending any more.'
    if (expiresAt.getTime() <= now) return 'The approval has expired.'
    if (!holds(ctx.principal, {}) || !allows(ctx.principal.policy, 'approvals:Decide', resourceOf(toolId)))
      return `This key may not approvals:Decide on ${resourceOf(toolId)}.`
    const refusal = whyNot(ctx, approval, persons)
    if (refusal) return refusal
    return hasApproved(ctx, approval, persons) ? 'You have approved already: another person must.' : null
  })
}

/**
 * Whether the caller is one of those who are asked for each of these approvals, whatever became of it: it has the
 * rights, and the requirement does not exclude it. No entry in the audit.
 */
export async function isAsked(ctx: Ctx, approvals: readonly Approval[]): Promise<boolean[]> {
  const ids = approvals.flatMap(requestersOf)
  const persons = await personsOf(ctx.db, [ctx.principal.id, ...ids])
  return approvals.map(
    (approval) =>
      holds(ctx.principal, {}) &&
      allows(ctx.principal.policy, 'approvals:Decide', resourceOf(approval.toolId)) &&
      whyNot(ctx, approval, persons) === null,
  )
}

/** The condition that whyNotDecide gives null: the same rules as SQL, so that pages of a list are full. */
export async function mayDecide(ctx: Ctx, projectId: string): Promise<SQL> {
  const { principal } = ctx
  const right = permissionsOf(principal).find(({ action }) => action === 'approvals:Decide')
  if (!right || !principal.votes || !holds(principal, {})) return sql`false`
  const tools = right.resources === 'ALL' ? sql`true` : await ofAllowedTools(ctx, projectId)
  const [person] = (await personsOf(ctx.db, [principal.id])).values()
  const mine = memberOf(person!)
  const role = sql`to_jsonb(${principal.role}::text)`
  const isAdmin = sql`(escalated_at is not null and ${principal.role === 'admin'})`
  return sql`status = 'PENDING' and expires_at > now() and ${tools} and requirement->>'loginOf' is null
    and not exists (
      select 1 from jsonb_array_elements(requirement->'approvers') as list
      where not coalesce(list @> ${role}, false) and not ${isAdmin}
    )
    and (
      requirement->>'excludeRequester' is distinct from 'true'
      or not exists (select from (${mine}) as m(id) where m.id in (requested_by, requirement->>'actsFor'))
    )
    and not exists (
      select 1 from jsonb_array_elements(votes) as vote
      where vote->>'by' in (${mine})
    )`
}

/** The condition that the policy allows verdicts about the tool of an approval. */
async function ofAllowedTools({ db, principal }: Ctx, projectId: string): Promise<SQL> {
  const rows = await query<{ id: string }>(
    db,
    sql`select distinct tool_id as id from approvals where project_id = ${projectId} and status = 'PENDING'`,
  )
  const allowed = rows.filter(({ id }) => allows(principal.policy, 'approvals:Decide', resourceOf(id)))
  return allowed.length > 0
    ? sql`tool_id = any(array(select jsonb_array_elements_text(${jsonb(allowed.map(({ id }) => id))})))`
    : sql`false`
}
