/** People and programs that an identity provider vouches for: who they are here. */
import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { projects, subjects } from '../../store/db/tables/access.ts'
import type { Principal } from './context.ts'
import { policyOfRole, type Role } from './policy.ts'

const subjectPrefix = 'usr_'

/** Whether the id of a principal is that of a person with a token, and not of a key. */
export function isSubject(id: string): boolean {
  return id.startsWith(subjectPrefix)
}

/**
 * With which rights a person asked, kept with what was asked for: those of that token and no other. A later token of the
 * same person neither adds to them nor takes away.
 */
export interface Requester {
  role: Role
  /** When the token ends, ISO 8601. */
  until: string
}

/** The rights to keep with what this principal asks for. Null for a key, whose row says what it may. */
export function requesterOf({ id, role, expiresAt }: Principal): Requester | null {
  return isSubject(id) ? { role: role as Role, until: expiresAt!.toISOString() } : null
}

interface Subject {
  projectId: string
  issuer: string
  subject: string
  name: string
  role: Role
  /** When the token ends. */
  expiresAt: Date
}

/** Notes who was here, and answers the principal of this token. Null when the project does not exist. Idempotent. */
export async function keepSubject(db: Database, given: Subject): Promise<Principal | null> {
  const [project] = await db
    .select({ id: projects.id })
    .from(projects)
    .where(eq(projects.id, given.projectId))
  if (!project) return null
  const { projectId, name, role, expiresAt } = given
  const id = idOf(given)
  const later = sql`greatest(${subjects.expiresAt}, excluded.expires_at)`
  await db
    .insert(subjects)
    .values({ ...given, id })
    .onConflictDoUpdate({ target: subjects.id, set: { name, role, expiresAt: later } })
  return principalOf({ id, projectId, name }, role, expiresAt)
}

/**
 * The principal of a subject's id with the rights that were kept; null when there is no such subject. It lives as long as
 * that token, and so much longer as the project lets runs live on.
 */
export async function subjectById(db: Database, id: string, kept: Requester): Promise<Principal | null> {
  const { projectId, name } = subjects
  const [row] = await db
    .select({ id: subjects.id, projectId, name, graceSeconds: projects.runGraceSeconds })
    .from(subjects)
    .innerJoin(projects, eq(projects.id, projectId))
    .where(eq(subjects.id, id))
  if (!row) return null
  return principalOf(row, kept.role, new Date(Date.parse(kept.until) + row.graceSeconds * 1000))
}

function principalOf(
  { id, name, projectId }: { id: string; name: string; projectId: string },
  role: Role,
  expiresAt: Date,
): Principal {
  const policy = policyOfRole(role)
  return {
    id,
    name,
    projectId,
    installation: false,
    role,
    policy,
    expiresAt,
    agentId: null,
    votes: true,
  }
}

/** The same person has another id in each project: rights in one say nothing about another. */
function idOf({ issuer, subject, projectId }: Subject): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([issuer, subject, projectId]))
    .digest('hex')
  return subjectPrefix + hash.slice(0, 32)
}
