/** Keys that people use by signing in with an account of the identity provider. */
import { and, asc, eq } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { apiKeys, projects } from '../../store/db/tables/access.ts'
import { principalOf } from './keys.ts'
import type { Principal } from './principal.ts'
import { accountHash, type Account } from './subjects.ts'

/** A key with the name of its project. */
export interface JoinedKey {
  principal: Principal
  projectName: string
}

/** The most keys of one account among which a person chooses. */
const mostKeys = 100

/** The keys that an account has joined and that have not ended, oldest first. */
export async function keysOfAccount(
  db: Database,
  account: Pick<Account, 'issuer' | 'subject'>,
): Promise<JoinedKey[]> {
  const rows = await db
    .select({ key: apiKeys, projectName: projects.name })
    .from(apiKeys)
    .innerJoin(projects, eq(projects.id, apiKeys.projectId))
    .where(
      and(
        eq(apiKeys.account, accountHash(account)),
        sql`${apiKeys.revokedAt} is null and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())`,
      ),
    )
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))
    .limit(mostKeys)
  return rows.map(({ key, projectName }) => ({ principal: principalOf(key), projectName }))
}
