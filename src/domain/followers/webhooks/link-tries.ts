/** Tries of one-time codes, counted in the database for all replicas together. */
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { VerdictLink } from './verdict-link.ts'

/** After so many wrong codes a link is dead. */
export const maxWrong = 5

type Key = Pick<VerdictLink, 'approvalId' | 'webhookId' | 'principalId'>

const isRow = ({ approvalId, webhookId, principalId }: Key) =>
  sql`approval_id = ${approvalId} and webhook_id = ${webhookId} and principal_id = ${principalId}`

/**
 * Takes a try before the code is compared: of any number at once, on any replica, five get one. `used`: the code has been
 * used; `dead`: no try is left.
 */
export async function takeTry(db: Database, projectId: string, key: Key): Promise<'taken' | 'used' | 'dead'> {
  const { approvalId, webhookId, principalId } = key
  const taken = await query(
    db,
    sql`insert into verdict_tries as v (approval_id, webhook_id, principal_id, project_id, wrong)
      values (${approvalId}, ${webhookId}, ${principalId}, ${projectId}, 1)
      on conflict (approval_id, webhook_id, principal_id) do update set wrong = v.wrong + 1
      where v.wrong < ${maxWrong}::int and v.used_at is null
      returning 1`,
  )
  if (taken.length > 0) return 'taken'
  const [row] = await query<{ used: boolean; wrong: number }>(
    db,
    sql`select used_at is not null as used, wrong from verdict_tries where ${isRow(key)}`,
  )
  return row?.used && row.wrong < maxWrong ? 'used' : 'dead'
}

/** Gives the try of a right code back and uses the code up. False when another request has used it. */
export async function useCode(db: Database, key: Key): Promise<boolean> {
  const rows = await query(
    db,
    sql`update verdict_tries set
        wrong = wrong - 1,
        used_at = now()
      where ${isRow(key)} and used_at is null
      returning 1`,
  )
  return rows.length > 0
}

/** Makes a code usable again whose vote was not written. */
export async function unuseCode(db: Database, key: Key): Promise<void> {
  await query(db, sql`update verdict_tries set used_at = null where ${isRow(key)}`)
}

/** Counts a wrong code for a used link too, so that nobody learns by guessing that it was used. */
export async function countWrong(db: Database, key: Key): Promise<void> {
  await query(
    db,
    sql`update verdict_tries set wrong = wrong + 1 where ${isRow(key)} and wrong < ${maxWrong}::int`,
  )
}

/** Deletes tries of approvals that have long ended: none lasts longer than a week. */
export async function forgetOldTries(db: Database): Promise<void> {
  await query(db, sql`delete from verdict_tries where created_at < now() - interval '9 days'`)
}
