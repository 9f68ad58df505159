/** People and programs that an identity provider vouches for: who they are here. */
import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { projects, subjects } from '../../store/db/tables/access.ts'
import type { Principal } from './context.ts'
import { policyOfRole, type Role } from './policy.ts'

export const subjectPrefix = 'usr_'

interface Subject {
  projectId: string
  issuer: string
  subject: string
  name: string
  role: Role
  /** When the token ends. */
  expiresAt: Date
}

/**
 * Notes who was here, so that what they start may act for them later, and answers their principal. Null when the
 * project does not exist. Idempotent.
 */
export async function keepSubject(db: Database, given: Subject): Promise<Principal | null> {
  const [project] = await db
    .select({ id: projects.id })
    .from(projects)
    .where(eq(projects.id, given.projectId))
  if (!project) return null
  const { name, role, expiresAt } = given
  const later = sql`greatest(${subjects.expiresAt}, excluded.expires_at)`
  const [row] = await db
    .insert(subjects)
    .values({ ...given, id: idOf(given) })
    .onConflictDoUpdate({ target: subjects.id, set: { name, role, expiresAt: later } })
    .returning()
  return { ...principalOf(row!), expiresAt }
}

/** The principal of a subject's id, or null when there is none. */
export async function subjectById(db: Database, id: string): Promise<Principal | null> {
  if (!id.startsWith(subjectPrefix)) return null
  const [row] = await db.select().from(subjects).where(eq(subjects.id, id))
  return row ? principalOf(row) : null
}

function principalOf(row: typeof subjects.$inferSelect): Principal {
  const { id, name, projectId, role, expiresAt } = row
  const policy = policyOfRole(role as Role)
  return { id, name, projectId, installation: false, role, policy, expiresAt, agentId: null }
}

/** The same person has another id in each project: rights in one say nothing about another. */
function idOf({ issuer, subject, projectId }: Subject): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([issuer, subject, projectId]))
    .digest('hex')
  return subjectPrefix + hash.slice(0, 32)
}
