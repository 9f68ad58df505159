/** Operations on API keys. */
import * as view from '../../../core/view.ts'
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Page } from '../../../core/page.ts'
import { idOf, idShape, optional, scalar, part } from '../../../core/shapes.ts'
import { atomically, query } from '../../../store/db/database.ts'
import { listPage } from '../../../store/db/lists.ts'
import { apiKeys } from '../../../store/db/tables/access.ts'
import { agents } from '../../../store/db/tables/agents.ts'
import { apiKeyCreated, apiKeyRevoked, appendProjectEvents } from '../../events/index.ts'
import { projectOf, reachable, type Ctx } from '../context/context.ts'
import { assertMay, visibleRows, recordChange } from '../permission/permission.ts'
import { ApiKey, insertKey, keyOf, loadKeys, markRevoked } from './keys.ts'
import { inProject, operation } from '../context/operation.ts'
import { assertStillValid } from './still-valid.ts'
import { checkPolicy, policyOfRole, role, within, type Policy, type Role } from '../permission/policy.ts'
import { assertQuota } from '../limits/rates.ts'
import { deleteLoginsOf } from './persons.ts'
import { deleteSessionsOf } from './sessions.ts'
import { isSubject } from './subjects.ts'
import { sql } from '../../../store/db/sql.ts'

/** What a new key and an invitation are given. */
export const newKey = {
  ...inProject,
  name: text(100, 1).describe('The display name of the API key, 1 to 100 characters.'),
  expiresAt: optional(
    z.date().describe('When the API key expires.'),
    'with the API key that creates it, or never',
  ),
}
const newRights = z
  .object({
    ...newKey,
    role: role.describe('A built-in set of permissions; not together with policy.').nullish(),
    policy: scalar('JSONObject', z.unknown())
      .describe(
        'The permissions as {statement: [{effect, action: ["tools:Call"], resource: ["*"]}]}; not together with role.',
      )
      .nullish(),
    votes: optional(
      z
        .boolean()
        .describe(
          'Whether the API key may decide approvals and gate changes; false marks the key of a program.',
        ),
      'true',
    ),
    agentId: optional(
      idShape(
        'The id of an agent; it begins with agt_. The API key can then use the MCP bridge of this agent and nothing else.',
      ),
      'the whole project',
    ),
  })
  .describe('The API key to create: give exactly one of role and policy.')

const payload = part('ApiKeyPayload', 'The API key, and its secret if it is new.', {
  apiKey: ApiKey.describe('The API key after the mutation.'),
  secret: z
    .string()
    .nullable()
    .describe(
      'The secret, sent as "Authorization: Bearer …". It cannot be read again. Null unless the mutation made it.',
    ),
})

/**
 * Exactly one of `role` and `policy` sets its rights. A role is given by who has it, and every role by an admin, because
 * gates ask for roles by name. A key made with another key may not vote when that may not. Key, audit entry and event are
 * written together.
 */
export const createApiKey = operation({
  name: 'createApiKey',
  does:
    'Creates an API key with a role or a policy, and with no more permissions or lifetime than the API key that ' +
    'creates it.',
  permission: 'keys:Create',
  input: newRights,
  payload,
  refuses: ['NOT_FOUND', 'LIMITED'],
  run: (ctx, given) => createKey(ctx, given, null),
})

/** Creates a key; with `invitedUntil` it is an invitation. */
export async function createKey(
  ctx: Ctx,
  { name, role: wantedRole, policy: wanted, ...rest }: z.output<typeof newRights>,
  invitedUntil: Date | null,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const projectId = await projectOf(ctx, rest.projectId)
  await assertMay(ctx, 'keys:Create', projectId, 'key/*')
  if (((wantedRole ?? null) === null) === ((wanted ?? null) === null))
    throw invalidAt(['input', 'role'], 'give exactly one of role and policy')
  if (wantedRole) assertGives(ctx, wantedRole)
  if (rest.expiresAt && rest.expiresAt.getTime() <= ctx.clock.now())
    throw invalidAt(['input', 'expiresAt'], 'must be in the future')
  const expiresAt = endOf(ctx, rest.expiresAt ?? null)
  if (rest.votes === true && !ctx.principal.votes)
    throw invalidAt(['input', 'votes'], 'must be false: your own key may not vote')
  if (rest.agentId) await assertAgent(ctx, projectId, rest.agentId)
  const policy = grantable(
    ctx,
    wantedRole ? policyOfRole(wantedRole) : checkPolicy(wanted, ['input', 'policy']),
  )
  return atomically(ctx.db, async (tx) => {
    // A revocation of the caller's key waits for this transaction, and then also revokes the new key.
    await assertStillValid(tx, ctx.principal)
    await assertQuota(tx, ctx, apiKeys, projectId, 'API keys')
    const made = await insertKey(tx, {
      projectId,
      name,
      role: wantedRole ?? null,
      policy,
      installation: false,
      agentId: rest.agentId ?? null,
      votes: ctx.principal.votes && (rest.votes ?? true),
      invitedUntil,
      expiresAt,
      createdBy: ctx.principal.id,
    })
    const resource = `key/${made.apiKey.id}`
    const details: JsonObject = invitedUntil ? { name, invitation: 'sent' } : { name }
    await recordChange(tx, ctx, { projectId, action: 'keys:Create', resource, details })
    await appendProjectEvents(tx, projectId, [apiKeyCreated({ apiKeyId: made.apiKey.id })])
    return made
  })
}

/** The expiry of the new key: as requested, but not after the key that creates it. A person's token sets no limit. */
function endOf({ principal }: Ctx, wanted: Date | null): Date | null {
  const last = isSubject(principal.id) ? null : principal.expiresAt
  if (!last) return wanted
  if (wanted && wanted.getTime() > last.getTime())
    throw invalidAt(
      ['input', 'expiresAt'],
      `must not be after ${last.toISOString()}, when the key that creates it expires`,
    )
  return wanted ?? last
}

/** Throws NOT_FOUND unless the project has the agent. Reads the table directly, because agents is a module above. */
export async function assertAgent(ctx: Ctx, projectId: string, agentId: string): Promise<void> {
  const [agent] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.id, agentId), eq(agents.projectId, projectId)))
  if (!agent) throw notFound('agent', agentId)
}

/** A role is a right of its own: a gate may ask for an admin, whom a key with a policy of everything is not. */
function assertGives({ principal }: Ctx, wanted: Role): void {
  if (principal.role === 'admin' || principal.role === wanted) return
  const way =
    principal.role === null ? 'give a policy' : `give the role ${principal.role.toUpperCase()} or a policy`
  throw new AppError('FORBIDDEN', `A key cannot give a role that it does not have: ${way}.`, {
    action: 'keys:Create',
  })
}

function grantable(ctx: Ctx, wanted: Policy): Policy {
  const policy = within(ctx.principal.policy, wanted)
  if (!policy)
    throw new AppError('FORBIDDEN', 'A key cannot grant more rights than it has.', {
      action: 'keys:Create',
    })
  return policy
}

/** The keys made with it end too, directly or through other keys, and the tool calls of its running generations are refused. */
export const revokeApiKey = operation({
  name: 'revokeApiKey',
  does: 'Revokes an API key and every key created with it: requests fail at once and sockets are closed. Idempotent.',
  permission: 'keys:Revoke',
  input: z
    .object({
      id: idOf('apiKey', 'API key'),
      keepMade: optional(
        z.boolean().describe('Whether API keys created with this key stay valid.'),
        'false, they are revoked too',
      ),
    })
    .describe('The API key to revoke.'),
  payload,
  refuses: ['NOT_FOUND'],
  async run(ctx, { id, keepMade }) {
    const alone = keepMade ?? false
    const { projectId, installation } = await findKey(ctx, id)
    await assertMay(ctx, 'keys:Revoke', projectId, `key/${id}`)
    if (installation && !ctx.principal.installation)
      throw new AppError('FORBIDDEN', "Only an operator's key may revoke an operator's key.", {
        action: 'keys:Revoke',
      })
    const revoked = await atomically(ctx.db, async (tx) => {
      const ended = await markRevoked(tx, id, alone)
      const ids = ended.map((one) => one.id)
      await deleteSessionsOf(tx, ids)
      await deleteLoginsOf(tx, ids)
      for (const one of ended) {
        const details: JsonObject = one.id !== id ? { madeWith: id } : alone ? { keepMade: true } : {}
        const resource = `key/${one.id}`
        await recordChange(tx, ctx, { projectId: one.projectId, action: 'keys:Revoke', resource, details })
        await appendProjectEvents(tx, one.projectId, [apiKeyRevoked({ apiKeyId: one.id })])
      }
      return ended
    })
    ctx.pubsub.publish(
      revoked.flatMap((one) => [
        { kind: 'signal', name: 'revoked', id: one.id } as const,
        { kind: 'news', projectId: one.projectId, generationId: null, seq: null } as const,
      ]),
    )
    return { apiKey: (await loadKeys(ctx.db, [id]))[0]!, secret: null }
  },
})

async function findKey(ctx: Ctx, id: string): Promise<ApiKey> {
  const [key] = await loadKeys(ctx.db, [id])
  return reachable(ctx, key, 'API key', id)
}

/** Keys by id, null for what does not exist for the caller. Action `keys:Get` on each. */
export async function getApiKeys(ctx: Ctx, ids: readonly string[]): Promise<(ApiKey | null)[]> {
  const rows = await loadKeys(ctx.db, ids)
  return visibleRows(ctx, ids, rows, 'keys:Get', (key) => `key/${key.id}`)
}

/** Keys of a project, newest first; with `votes` those of people, or of programs. Action `keys:List`. */
export async function listApiKeys(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; votes?: boolean | null | undefined; page: Page },
): Promise<ApiKey[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'keys:List', projectId, 'key/*')
  const where = typeof input.votes === 'boolean' ? eq(apiKeys.votes, input.votes) : undefined
  return (await listPage(ctx.db, apiKeys, projectId, input.page, where)).map(keyOf)
}

/** What ends with a key. */
export const keyRevocation = part('KeyRevocation', 'What would end with an API key.', {
  madeKeys: view.int('The number of API keys that end with it, because they were created with it.'),
  includesCaller: view.flag(
    'Whether the API key of the caller ends: the key itself, or one created with it.',
  ),
  leavesNoAdmin: view.flag(
    'Whether the last API keys with the role ADMIN, or of an operator, are among those that end.',
  ),
})
export type Revocation = z.output<typeof keyRevocation>

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
