/** Operations on API keys. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { atomically } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import { agents } from '../../store/db/tables/agents.ts'
import { apiKeyCreated, apiKeyRevoked, appendProjectEvents } from '../events/index.ts'
import { projectOf, reachable, type Ctx } from './context.ts'
import { assertMay, eachSeen, recordChange } from './permission.ts'
import { insertKey, keyOf, loadKeys, markRevoked, type ApiKey } from './keys.ts'
import { assertStillValid } from './still-valid.ts'
import { checkPolicy, policyOfRole, roles, within, type Policy, type Role } from './policy.ts'
import { assertQuota } from './limits/quota.ts'
import { deleteSessionsOf } from './sessions.ts'
import { isSubject } from './subjects.ts'

const newKey = z.object({
  projectId: z.string().nullish(),
  name: text(100, 1),
  role: z.enum(roles).nullish(),
  policy: z.unknown().optional(),
  expiresAt: z.date().nullish(),
  agentId: z.string().nullish(),
  votes: z.boolean().nullish(),
})

/** What a new key is. */
export interface KeyInput {
  projectId?: string | null | undefined
  name: string
  role?: Role | null | undefined
  policy?: unknown
  expiresAt?: Date | null | undefined
  agentId?: string | null | undefined
  votes?: boolean | null | undefined
}

/**
 * Creates a key for a project. Action `keys:Create`. Exactly one of `role` and `policy` sets its rights, which cannot
 * exceed those of the caller; a role is given by who has it, and every role by an admin, because gates ask for roles by name.
 * A key made with another key does not outlive it, and may not vote when that may not. With
 * `agentId` the key is bound to that agent; with `votes: false` it may not decide approvals or gate changes. The secret
 * is returned once and cannot be read again. With `invitedUntil` it is an invitation: see createInvitation. Key, audit
 * entry and event are written together.
 */
export async function createApiKey(
  ctx: Ctx,
  input: KeyInput,
  invitedUntil: Date | null = null,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const { name, role, policy: wanted, ...rest } = check(newKey, input)
  const projectId = await projectOf(ctx, rest.projectId)
  await assertMay(ctx, 'keys:Create', projectId, 'key/*')
  if ((role === null || role === undefined) === (wanted === null || wanted === undefined))
    throw invalidAt(['input', 'role'], 'give exactly one of role and policy')
  if (role) assertGives(ctx, role)
  if (rest.expiresAt && rest.expiresAt.getTime() <= ctx.clock.now())
    throw invalidAt(['input', 'expiresAt'], 'must be in the future')
  const expiresAt = endOf(ctx, rest.expiresAt ?? null)
  if (rest.votes === true && !ctx.principal.votes)
    throw invalidAt(['input', 'votes'], 'must be false: your own key may not vote')
  if (rest.agentId) await assertAgent(ctx, projectId, rest.agentId)
  const policy = grantable(ctx, role ? policyOfRole(role) : checkPolicy(wanted, ['input', 'policy']))
  return atomically(ctx.db, async (tx) => {
    // A revocation of the caller's key waits for this transaction, and then also revokes the new key.
    await assertStillValid(tx, ctx.principal)
    await assertQuota(tx, ctx, apiKeys, projectId, 'API keys')
    const made = await insertKey(tx, {
      projectId,
      name,
      role: role ?? null,
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
function assertGives({ principal }: Ctx, role: Role): void {
  if (principal.role === 'admin' || principal.role === role) return
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

/**
 * Revokes a key and, unless `keepMade` is set, every key that was created with it, directly or through other keys.
 * Idempotent. Action `keys:Revoke`. Requests with a revoked key fail at once, its sockets are closed on every replica,
 * and the tool calls of its running generations are refused.
 */
export async function revokeApiKey(
  ctx: Ctx,
  input: { id: string; keepMade?: boolean | null | undefined },
): Promise<ApiKey> {
  const key = await findKey(ctx, input.id)
  const { projectId, id } = key
  await assertMay(ctx, 'keys:Revoke', projectId, `key/${id}`)
  if (key.installation && !ctx.principal.installation)
    throw new AppError('FORBIDDEN', "Only an operator's key may revoke an operator's key.", {
      action: 'keys:Revoke',
    })
  const alone = input.keepMade ?? false
  const revoked = await atomically(ctx.db, async (tx) => {
    const ended = await markRevoked(tx, id, alone)
    await deleteSessionsOf(
      tx,
      ended.map((one) => one.id),
    )
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
  return (await loadKeys(ctx.db, [id]))[0]!
}

async function findKey(ctx: Ctx, id: string): Promise<ApiKey> {
  const [key] = await loadKeys(ctx.db, [id])
  return reachable(ctx, key, 'API key', id)
}

/** Keys by id, null for what does not exist for the caller. Action `keys:Get` on each. */
export async function getApiKeys(ctx: Ctx, ids: readonly string[]): Promise<(ApiKey | null)[]> {
  const rows = await loadKeys(ctx.db, ids)
  return eachSeen(ctx, ids, rows, 'keys:Get', (key) => `key/${key.id}`)
}

/** Keys of a project, newest first. Action `keys:List`. */
export async function listApiKeys(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<ApiKey[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'keys:List', projectId, 'key/*')
  return (await listPage(ctx.db, apiKeys, projectId, input.page)).map(keyOf)
}
