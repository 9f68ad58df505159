/** The first start of an installation: creates a project and the operator's key, once for all replicas. */
import { asc, eq } from 'drizzle-orm'
import {
  insertKey,
  policyOfRole,
  principalById,
  type Services,
  type Principal,
} from './domain/access/index.ts'
import { insertProject } from './domain/projects/index.ts'
import { atomically, query } from './store/db/database.ts'
import { sql } from './store/db/sql.ts'
import { apiKeys } from './store/db/tables/access.ts'

export interface FirstStart {
  /** The secret of the operator's key when this start generated it; it is shown once. */
  secret: string | null
  /** The principal that creates the demo; null when the operator's key was revoked. */
  demo: Principal | null
}

/**
 * Creates project and key unless a key exists. With `given` the operator's key gets that secret; else the one that `keep`
 * returns, which is called only by the start that creates the key, before it is committed.
 */
export async function prepareFirstStart(
  services: Services,
  given: string | null,
  demo: boolean,
  keep?: () => Promise<string>,
): Promise<FirstStart> {
  const made = await atomically(services.db, async (tx) => {
    // Locks the row, so that replicas that start together create one key.
    await query(tx, sql`select 1 from installation for update`)
    const [known] = await tx.select({ id: apiKeys.id }).from(apiKeys).limit(1)
    if (known) return null
    const project = await insertProject(tx, demo ? 'Demo' : 'Default')
    return insertKey(
      tx,
      {
        projectId: project.id,
        name: 'operator',
        role: 'admin',
        policy: policyOfRole('admin'),
        installation: true,
        agentId: null,
        expiresAt: null,
        createdBy: null,
      },
      given ?? (await keep?.()),
    )
  })
  const id = made?.apiKey.id ?? (await oldestOperator(services))
  return {
    secret: given ? null : (made?.secret ?? null),
    demo: id ? await principalById(services.db, id, services.clock.now()) : null,
  }
}

async function oldestOperator(services: Services): Promise<string | null> {
  const [row] = await services.db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(eq(apiKeys.installation, true))
    .orderBy(asc(apiKeys.createdAt))
    .limit(1)
  return row?.id ?? null
}
