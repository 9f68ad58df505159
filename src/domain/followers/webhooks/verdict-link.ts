/** Links with which a recipient of a webhook may decide, and their one-time codes, whose tries are counted. */
import * as oneTime from '../../../core/signing.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'

/** Below this path are the pages of links. */
export const verdictPath = '/verdict/'

/** What a link is bound to. */
export interface VerdictLink {
  approvalId: string
  /** The digest of the question that its message tells of. */
  digest: string
  webhookId: string
  /** The recipient. */
  principalId: string
  /** When the approval was to expire as the message was made, in milliseconds since 1970. It may have got longer time since. */
  endMs: number
}

const kind: oneTime.LinkKind = { token: 'verdict link', code: 'verdict code' }

const partsOf = ({ approvalId, digest, webhookId, principalId, endMs }: VerdictLink) =>
  [approvalId, digest, webhookId, principalId, endMs] as const

/** The last part of the URL of a link. */
export function tokenOf(masterKey: Buffer, link: VerdictLink): string {
  return oneTime.tokenOf(masterKey, kind, partsOf(link))
}

/** The link of a token that this server has signed, else null. */
export function readToken(masterKey: Buffer, token: string): VerdictLink | null {
  const parts = oneTime.readToken(masterKey, kind, token)
  if (parts?.length !== 5) return null
  const [approvalId, digest, webhookId, principalId, endMs] = parts as [
    string,
    string,
    string,
    string,
    number,
  ]
  return { approvalId, digest, webhookId, principalId, endMs }
}

/** The code of a link. */
export function codeOf(masterKey: Buffer, link: VerdictLink): string {
  return oneTime.codeOf(masterKey, kind, partsOf(link))
}

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
