/** A key that an operator makes on the machine, without another key: who can write the database may do this. */
import { asc } from 'drizzle-orm'
import { z } from 'zod'
import { writeJson } from '../../../core/json.ts'
import { check, text } from '../../../core/check.ts'
import type { Clock } from '../../../core/time.ts'
import { invalidAt } from '../../../core/errors.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { projects } from '../../../store/db/tables/access.ts'
import { record } from '../../audit/index.ts'
import { apiKeyCreated, appendProjectEvents } from '../../events/index.ts'
import { insertKey, type ApiKey } from './keys.ts'
import { policyOfRole, roles } from '../permission/policy.ts'
import { systemId } from './subjects.ts'

const shape = z.strictObject({
  name: text(100, 1),
  role: z.enum(roles, `must be one of ${roles.join(', ').toUpperCase()}`),
  /** An id or a name; left out: the only one. */
  project: z.string().optional(),
  expires: z.iso.datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' }).optional(),
  votes: z.boolean(),
  /** An operator's key, whose rights are those of an admin in every project. */
  operator: z.boolean(),
  /** The account of the system that ran the command. */
  user: text(200),
})
export type KeyOnMachine = z.input<typeof shape>

/**
 * Makes the key with its audit entry and event. INVALID, at the option of the command, for an unknown role or project, for
 * several projects when none is named, and for an end in the past. Checks no permission.
 */
export async function createKeyOnMachine(
  db: Database,
  clock: Clock,
  given: unknown,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const { name, role, project, expires, votes, operator, user } = check(shape, given, [])
  if (operator && role !== 'admin') throw invalidAt(['role'], "must be ADMIN for an operator's key")
  const expiresAt = expires === undefined ? null : new Date(expires)
  if (expiresAt && expiresAt.getTime() <= clock.now()) throw invalidAt(['expires'], 'must be in the future')
  return atomically(db, async (tx) => {
    const projectId = await projectNamed(tx, project)
    const made = await insertKey(tx, {
      projectId,
      name,
      role,
      policy: policyOfRole(role),
      installation: operator,
      agentId: null,
      votes,
      expiresAt,
      createdBy: null,
    })
    await record(tx, {
      projectId,
      principalId: systemId,
      action: 'keys:Create',
      resource: `key/${made.apiKey.id}`,
      outcome: 'ALLOWED',
      details: { name, role, operator, madeOn: 'this machine', systemUser: user },
    })
    await appendProjectEvents(tx, projectId, [apiKeyCreated({ apiKeyId: made.apiKey.id })])
    return made
  })
}

/** How many projects an error names. */
const mostNamed = 20

async function projectNamed(tx: Database, wanted: string | undefined): Promise<string> {
  const known = await tx
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .orderBy(asc(projects.createdAt))
  const found =
    wanted === undefined ? known : known.filter(({ id, name }) => id === wanted || name === wanted)
  if (found.length === 1) return found[0]!.id
  const listed = known.slice(0, mostNamed).map(({ id, name }) => `${id} (${writeJson(name)})`)
  const isUnknown = wanted !== undefined && found.length === 0
  throw invalidAt(
    ['project'],
    `${isUnknown ? 'is no project here' : 'must name one of several projects'}: ${listed.join(', ')}`,
  )
}
