/** What the revocation of a key would end, for whoever is about to revoke it. */
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Ctx } from './context.ts'
import type { ApiKey } from './keys.ts'

/** What ends with a key. */
export interface Revocation {
  /** Keys that end with it because they were made with it, directly or through other keys. */
  madeKeys: number
  /** Whether the caller's own key is among those that end. */
  includesCaller: boolean
  /** Whether the last keys with the role admin, or of an operator, that are left in the project are among those that end. */
  leavesNoAdmin: boolean
}

/** What revokeApiKey would end now. Needs the permission to read the key; says nothing about a key that has ended. */
export async function revocationOf(ctx: Ctx, { id, projectId }: ApiKey): Promise<Revocation> {
  const live = sql`revoked_at is null and (expires_at is null or expires_at > now())`
  const admins = sql`select 1 from api_keys
    where project_id = ${projectId} and (role = 'admin' or installation) and invited_until is null and ${live}`
  const [row] = await query<Revocation>(
    ctx.db,
    sql`with recursive made as (
        select ${id}::text as id
        union
        select k.id from made
        join api_keys as k on k.created_by = made.id and not k.installation
      )
      select (select count(*)::int - 1 from api_keys where id in (select id from made) and ${live}) as "madeKeys",
        exists (select 1 from made where id = ${ctx.principal.id}) as "includesCaller",
        exists (${admins} and id in (select id from made))
          and not exists (${admins} and id not in (select id from made)) as "leavesNoAdmin"`,
  )
  return row!
}
