/** The first start of an installation: a project and the operator's key, made once however many replicas start. */
import { asc, eq, sql } from 'drizzle-orm'
import {
  insertKey,
  insertProject,
  policyOfRole,
  principalById,
  type Services,
  type Principal,
} from './domain/access/index.ts'
import { atomically, query } from './store/db/database.ts'
import { apiKeys } from './store/db/tables/access.ts'

export interface FirstStart {
  /** The operator's secret when this start made it; it is shown once. */
  secret: string | null
  /** Who saves the demo; null when the operator's key was revoked. */
  demo: Principal | null
}

/** Makes what is missing. With `given` the operator's key has that secret, and only that is accepted at the first start. */
export async function prepareFirstStart(
  services: Services,
  given: string | null,
  demo: boolean,
): Promise<FirstStart> {
  const made = await atomically(services.db, async (tx) => {
    // The row serialises replicas that start together.
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
      given ?? undefined,
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
