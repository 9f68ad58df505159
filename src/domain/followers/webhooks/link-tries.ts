/** Tries of one-time codes, counted in the database for all replicas together. */
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { VerdictLink } from './verdict-link.ts'

/** After so many wrong codes a link is dead. */
export const maxWrong = 5

type Key = Pick<VerdictLink, 'approvalId' | 'webhookId' | 'principalId'>

/**
 * Takes a try before the code is compared: of any number at once, on any replica, five get one. False when none is left.
 */
export async function takeTry(db: Database, projectId: string, key: Key): Promise<boolean> {
  const { approvalId, webhookId, principalId } = key
  const taken = await query(
    db,
    sql`insert into verdict_tries as v (approval_id, webhook_id, principal_id, project_id, wrong)
      values (${approvalId}, ${webhookId}, ${principalId}, ${projectId}, 1)
      on conflict (approval_id, webhook_id, principal_id) do update set wrong = v.wrong + 1
      where v.wrong < ${maxWrong}::int
      returning 1`,
  )
  return taken.length > 0
}

/** Gives the try of a right code back. */
export async function giveBackTry(db: Database, { approvalId, webhookId, principalId }: Key): Promise<void> {
  await query(
    db,
    sql`update verdict_tries set wrong = wrong - 1
      where approval_id = ${approvalId} and webhook_id = ${webhookId} and principal_id = ${principalId}`,
  )
}

/** Deletes tries of approvals that have long ended: none lasts longer than a week. */
export async function forgetOldTries(db: Database): Promise<void> {
  await query(db, sql`delete from verdict_tries where created_at < now() - interval '9 days'`)
}
