/** Who asks: a principal, and the people and programs that an identity provider authenticates. */
import type { z } from 'zod'
import { choice } from '../../../core/shapes.ts'
import { type Policy, policyOfRole, type Role } from '../permission/policy.ts'
import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { writeJson } from '../../../core/json.ts'
import { idPrefixes } from '../../../core/ids.ts'
import { sha256Hex } from '../../../core/signing.ts'
import type { Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { projects, subjects } from '../../../store/db/tables/access.ts'

/** The authenticated caller. */
export interface Principal {
  /** The id of the key or of the subject, as in `requestedBy` and in the audit log. */
  id: string
  name: string
  /** The project of an operation whose input names none. */
  projectId: string
  /** An operator's key has access to every project; any other key only to its own. */
  installation: boolean
  /** The built-in role; null for a custom policy. Gates may require a role of the approver. */
  role: string | null
  policy: Policy
  expiresAt: Date | null
  /** False for a key of a program: it may not decide approvals or gate changes. */
  votes: boolean
  /** The one agent to which the key is bound; null: everything that the policy allows. */
  agentId: string | null
  /** The session of the browser that calls; absent for a caller with a key or token. */
  sessionId?: string
  /** For whom a program calls: the id of a person or of the key of one. It has the rights of its key, and no others. */
  actsFor?: string
}

const subjectPrefix = `${idPrefixes.person}_`
/** Who acted when the server acted by itself: in the audit log, and wherever else a principal stands. */
export const systemId = 'system'

/** Whether the id of a principal is that of a person with a token, and not of a key. */
export function isSubject(id: string): boolean {
  return id.startsWith(subjectPrefix)
}

export const principalKindChoice = choice('PrincipalKind', 'The kind of a principal.', {
  API_KEY: 'The principal has an API key, or a session that was opened with one.',
  PERSON: 'An identity provider (OIDC) authenticated the principal, as a person or a program.',
  SYSTEM: 'The server acted by itself.',
})
export type PrincipalKind = z.output<typeof principalKindChoice>

/** Whether an id is that of a key, of a person or program that an identity provider authenticates, or of the server. */
export function principalKind(id: string): PrincipalKind {
  if (id === systemId) return 'SYSTEM'
  return isSubject(id) ? 'PERSON' : 'API_KEY'
}

/**
 * The rights of the token with which a person started a call or generation, stored with it. Later tokens of the same
 * person do not change them.
 */
interface TokenRights {
  role: Role
  /** When the token expires, ISO 8601. */
  until: string
}

/** What is stored of who starts a call or generation, beside its id: the rights of a token, or for whom a program acts. */
export type Requester = TokenRights | { actsFor: string }

/** What to store with what this principal starts. Null for a key that acts for itself: its row has its rights. */
export function requesterOf({ id, role, expiresAt, actsFor }: Principal): Requester | null {
  if (isSubject(id)) return { role: role as Role, until: expiresAt!.toISOString() }
  return actsFor === undefined ? null : { actsFor }
}

/** For whom a program has started a call or generation; null for everybody else. */
export function actsForOf(requester: Requester | null): string | null {
  return requester && 'actsFor' in requester ? requester.actsFor : null
}

/** Whether the caller has requested this itself: a program, for the same person. */
export function hasAsked(
  { id, actsFor }: Pick<Principal, 'id' | 'actsFor'>,
  made: { requestedBy: string; actsFor: string | null },
): boolean {
  return made.requestedBy === id && made.actsFor === (actsFor ?? null)
}

/** The caller as the one whose requests are compared: a program is another one for each person for whom it acts. */
export function askerOf({ id, actsFor }: Pick<Principal, 'id' | 'actsFor'>): string {
  return actsFor === undefined ? id : `${id} ${actsFor}`
}

interface Subject extends Account {
  projectId: string
  role: Role
  /** When the token expires. */
  expiresAt: Date
}

/**
 * Stores the subject and returns the principal of this token, also one that was erased. Null when the project does not exist.
 * Idempotent.
 */
export async function keepSubject(db: Database, given: Subject): Promise<Principal | null> {
  const [project] = await db
    .select({ id: projects.id })
    .from(projects)
    .where(eq(projects.id, given.projectId))
  if (!project) return null
  const { projectId, subject, name, role, expiresAt } = given
  const id = idOf(given)
  const later = sql`greatest(${subjects.expiresAt}, excluded.expires_at)`
  await db
    .insert(subjects)
    .values({ ...given, id })
    .onConflictDoUpdate({ target: subjects.id, set: { subject, name, role, expiresAt: later } })
  return principalOfSubject({ id, projectId, name }, role, expiresAt)
}

/**
 * The principal of a subject's id with the stored rights; null when there is no such subject. It expires with the token
 * of that request, plus the project's `runGraceSeconds`.
 */
export async function subjectById(db: Database, id: string, kept: TokenRights): Promise<Principal | null> {
  const { projectId, name } = subjects
  const [row] = await db
    .select({ id: subjects.id, projectId, name, graceSeconds: projects.runGraceSeconds })
    .from(subjects)
    .innerJoin(projects, eq(projects.id, projectId))
    .where(eq(subjects.id, id))
  if (!row) return null
  return principalOfSubject(row, kept.role, new Date(Date.parse(kept.until) + row.graceSeconds * 1000))
}

/** The principal of a stored person with the rights of a token or session. */
export function principalOfSubject(
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

/** Who an identity provider says that somebody is. */
export interface Account {
  issuer: string
  subject: string
  name: string
}

/** Stores the person that an account is in a project, without rights of its own, and returns its id. Idempotent. */
export async function keepPerson(db: Database, account: Account, projectId: string): Promise<string> {
  const id = idOf({ ...account, projectId })
  await db
    .insert(subjects)
    .values({ ...account, id, projectId, role: 'caller', expiresAt: sql`now()` })
    .onConflictDoUpdate({ target: subjects.id, set: { subject: account.subject, name: account.name } })
  return id
}

/** The account as it is stored with the keys that it has joined, in any project. */
export function accountHash({ issuer, subject }: Pick<Account, 'issuer' | 'subject'>): string {
  return sha256Hex(writeJson([issuer, subject]))
}

/** A person has a different id in each project, because rights in one project mean nothing in another. */
function idOf({ issuer, subject, projectId }: Pick<Subject, 'issuer' | 'subject' | 'projectId'>): string {
  const hash = createHash('sha256')
    .update(writeJson([issuer, subject, projectId]))
    .digest('hex')
  return subjectPrefix + hash.slice(0, 32)
}
