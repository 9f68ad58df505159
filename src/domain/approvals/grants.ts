/**
 * Grants ("remember this"): one verdict that also answers later calls, always with an end. That of an approval lets
 * some pass, and has a number of uses.
 */
import { entity, idOf, choice, openPart, scalar } from '../../core/shapes.ts'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { z } from 'zod'
import { whole } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { compileSchema, judge, type Judgement } from '../../core/json-schema.ts'
import { hashJson, isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { atomically, nowPlus, type Database, query } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals, grants } from '../../store/db/tables/approvals.ts'
import {
  assertMay,
  visibleRows,
  assertQuota,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
  operation,
} from '../access/index.ts'
import { appendProjectEvents, grantCreated, grantRevoked, withRequester } from '../events/index.ts'
import { type Approval, rejectedResult, type Rejection } from './approval.ts'
import type { ToolResult } from '../../core/content.ts'
import { selectRows } from '../../store/db/rows.ts'
import { meets, type Requirement } from '../gates/index.ts'
import { isCovered, type CallableTool } from './digest.ts'
import { grantScope, isRefusal, type Grant } from './grant.ts'

const grantHolder = choice('GrantHolder', 'Whose calls a grant covers.', {
  AGENT: 'The grant covers calls of the agent, in all its generations of the same requester.',
  THREAD: 'The grant covers calls of the same thread, in generations of the same requester.',
  CALLER: 'The grant covers calls of the same API key or person, direct calls included.',
})

const maxSeconds = 30 * 24 * 60 * 60

export const grantShape = openPart(
  'GrantInput',
  'A grant with which a verdict also answers later calls, limited in time. With APPROVE it lets a number of them pass the ' +
    'gate; with REJECT it refuses them, and no grant lets them pass.',
  {
    scope: grantScope.describe('Which calls the grant covers.'),
    schema: scalar(
      'JSONSchema',
      z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object'),
    )
      .nullish()
      .describe(
        'The JSON Schema of the arguments, presets included, for the scope SCHEMA; the decided call must match it.',
      ),
    holder: grantHolder.describe(
      'Whose calls the grant covers. They are always calls of the requester of the decided call.',
    ),
    expiresInSeconds: whole(1, maxSeconds).describe(
      'The lifetime of the grant in seconds, 1 to 2,592,000 (30 days).',
    ),
    maxUses: whole(1, 1000)
      .nullish()
      .describe(
        'The maximum number of calls that may pass, 1 to 1,000. Required with APPROVE; not allowed with REJECT.',
      ),
  },
)

export type GrantInput = z.input<typeof grantShape>
export type CheckedGrant = z.output<typeof grantShape>

/** The condition for a grant that answers calls now. */
const inForce = sql`revoked_at is null and expires_at > now() and (uses < max_uses or max_uses = 0)`

/**
 * Inserts the grant of a decided approval in the transaction of the verdict. INVALID, with a path under `root`, when the
 * approval has no such holder, the schema is not fit for its call, or uses do not go with the verdict.
 */
export async function insertGrant(
  tx: Database,
  ctx: Ctx,
  approval: Approval,
  merged: JsonObject,
  given: CheckedGrant,
  root: string[],
): Promise<void> {
  const at = (name: string, message: string) => invalidAt([...root, name], message)
  if ((given.scope === 'SCHEMA') !== Boolean(given.schema))
    throw at('schema', given.schema ? 'goes with the scope SCHEMA only' : 'is required with the scope SCHEMA')
  const { projectId } = approval
  const compiled = given.schema ? compileSchema(given.schema, projectId, [...root, 'schema']) : null
  if (compiled && !compiled.ok) throw invalidAt(compiled.issue.path, compiled.issue.message)
  // The arguments of the call itself must match the schema; else the approver made a mistake in it.
  if (compiled?.ok && compiled.judge(merged).fits !== 'YES')
    throw at('schema', 'does not allow the arguments of this very call')
  const isApproval = approval.status === 'APPROVED'
  if (isApproval !== (typeof given.maxUses === 'number'))
    throw at(
      'maxUses',
      isApproval ? 'is required with the verdict APPROVE' : 'goes with the verdict APPROVE only',
    )
  const { agentId, threadId, requestedBy, toolId, toolVersion, runtimeName } = approval
  const { action, definitionHash } = approval
  const holder = {
    AGENT: { agentId },
    THREAD: { threadId },
    CALLER: { requestedBy },
  }[given.holder]
  if (Object.values(holder)[0] === null)
    throw at('holder', 'this call belongs to no agent or thread; use CALLER')
  await assertQuota(tx, ctx, grants, projectId, 'grants')
  const id = newId('grant')
  await tx.insert(grants).values({
    id,
    projectId,
    approvalId: approval.id,
    toolId,
    toolVersion,
    runtimeName,
    action,
    definitionHash,
    ...holder,
    scope: given.scope,
    argumentsHash: given.scope === 'EXACT' ? hashJson(merged) : null,
    schema: given.schema ?? null,
    maxUses: given.maxUses ?? 0,
    expiresAt: nowPlus(given.expiresInSeconds * 1000),
    grantedBy: ctx.principal.id,
  })
  const created = grantCreated({ grantId: id, approvalId: approval.id, name: runtimeName })
  await appendProjectEvents(tx, projectId, withRequester(requestedBy, [created]))
}

/** Grants by id, null for what does not exist for the caller. Action `grants:Get` on each. */
export async function getGrants(ctx: Ctx, ids: readonly string[]): Promise<(Grant | null)[]> {
  const stored =
    ids.length > 0
      ? await ctx.db
          .select()
          .from(grants)
          .where(inArray(grants.id, [...ids]))
      : []
  const rows = stored as Grant[]
  return visibleRows(ctx, ids, rows, 'grants:Get', (grant) => `grant/${grant.id}`)
}

/** Grants of a project, newest first. `active`: only those that can still answer a call. Action `grants:List`. */
export async function listGrants(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    toolId?: string | null | undefined
    active?: boolean | null | undefined
    page: Page
  },
): Promise<Grant[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'grants:List', projectId, 'grant/*')
  const where = and(
    input.toolId ? eq(grants.toolId, input.toolId) : undefined,
    input.active ? inForce : undefined,
  )
  return (await listPage(ctx.db, grants, projectId, input.page, where)) as Grant[]
}

export const revokeGrant = operation({
  name: 'revokeGrant',
  does: 'Revokes a grant at once; calls that have passed go on. Idempotent.',
  permission: 'grants:Revoke',
  input: z.object({ grantId: idOf('grant') }).describe('The grant to revoke.'),
  payload: z
    .object({ grant: entity<Grant>()('Grant').describe('The grant after the mutation.') })
    .describe('The grant after the mutation.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { grantId }) {
    const [row] = await ctx.db.select().from(grants).where(eq(grants.id, grantId))
    const { projectId } = reachable(ctx, row, 'grant', grantId)
    await assertMay(ctx, 'grants:Revoke', projectId, `grant/${grantId}`)
    const revoked = await atomically(ctx.db, async (tx) => {
      const [changed] = await tx
        .update(grants)
        .set({ revokedAt: sql`now()`, revokedBy: ctx.principal.id })
        .where(and(eq(grants.id, grantId), isNull(grants.revokedAt)))
        .returning()
      if (!changed) return null
      await recordChange(tx, ctx, { projectId, action: 'grants:Revoke', resource: `grant/${grantId}` })
      const event = grantRevoked({ grantId, approvalId: changed.approvalId, name: changed.runtimeName })
      const [approval] = await tx
        .select({ requestedBy: approvals.requestedBy })
        .from(approvals)
        .where(eq(approvals.id, changed.approvalId))
      await appendProjectEvents(tx, projectId, withRequester(approval?.requestedBy ?? null, [event]))
      return changed as Grant
    })
    ctx.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
    return { grant: revoked ?? (row as Grant) }
  },
})

/** The caller, agent or thread of a call that the gate stops. */
export interface Holder {
  agentId: string | null
  threadId: string | null
  requestedBy: string
  /** For whom the requester acts; null for itself. */
  actsFor: string | null
}

/**
 * A grant that may answer a call. `met`: the requirement that its approval fulfilled. `said`: what the model is told with
 * a refusal.
 */
export type UsableGrant = Grant & { met: Requirement; said: Rejection }

/**
 * The usable grants for these tools, earliest end first. Whoever holds a grant, it counts only for calls of the requester
 * whose call was approved with it, and for the same person. Takes no use.
 */
export async function findGrants(
  db: Database,
  toolIds: readonly string[],
  holder: Holder,
): Promise<UsableGrant[]> {
  if (toolIds.length === 0) return []
  const { agentId, threadId, requestedBy, actsFor } = holder
  const rows = await selectRows<typeof grants, Pick<UsableGrant, 'met' | 'said'>>(
    db,
    grants,
    sql`where tool_id in ${[...toolIds]} and ${inForce}
      and (agent_id = ${agentId} or thread_id = ${threadId} or requested_by = ${requestedBy})
      and exists (select from approvals as a where a.id = grants.approval_id and a.requested_by = ${requestedBy}
        and a.requirement->>'actsFor' is not distinct from ${actsFor}::text)
      order by expires_at, id`,
    sql`, (select a.requirement from approvals as a where a.id = grants.approval_id) as met,
      (select a.votes -> -1 from approvals as a where a.id = grants.approval_id) as said`,
  )
  return rows as UsableGrant[]
}

/** A call that the gate stopped. */
export interface StoppedCall {
  tool: CallableTool
  merged: JsonObject
  requirement: Requirement
}

/**
 * Whether the grant covers a call of that tool with these merged arguments. NO when the gates require more than the grant's
 * approval fulfilled: then an approval is needed. A rejection needs no more than one person.
 */
function covers(grant: UsableGrant, { tool, merged, requirement }: StoppedCall): Judgement['fits'] {
  if (!isCovered(grant, tool)) return 'NO'
  if (!isRefusal(grant) && !meets(grant.met, requirement)) return 'NO'
  if (grant.scope === 'TOOL') return 'YES'
  if (grant.scope === 'EXACT') return grant.argumentsHash === hashJson(merged) ? 'YES' : 'NO'
  return judge(grant.schema, grant.projectId, merged).fits
}

/**
 * The grants that answer the call: a refusal alone where one covers it, else those that may let it pass. None where it cannot
 * be told whether a refusal covers it: a person is asked then.
 */
export function answersTo(usable: readonly UsableGrant[], call: StoppedCall): UsableGrant[] {
  const fits = new Map(usable.map((grant) => [grant, covers(grant, call)]))
  const fitting = usable.filter((grant) => fits.get(grant) === 'YES')
  const refusal = fitting.find(isRefusal)
  if (refusal) return [refusal]
  const isDoubtful = usable.some((grant) => isRefusal(grant) && fits.get(grant) === 'CANNOT_TELL')
  return isDoubtful ? [] : fitting
}

/** The grant that answers a call: null in `refused` lets it pass, a result settles it as REJECTED. */
export interface GrantAnswer {
  grantId: string
  refused: ToolResult | null
}

/**
 * What these grants answer a stopped call; null when a person must be asked. Takes one use of the grant that lets it pass.
 * Race-safe: `uses` never exceeds `max_uses`.
 */
export async function takeAnswer(
  tx: Database,
  usable: readonly UsableGrant[],
  call: StoppedCall,
): Promise<GrantAnswer | null> {
  for (const grant of answersTo(usable, call)) {
    const { id: grantId, said, expiresAt } = grant
    if (isRefusal(grant)) return { grantId, refused: rejectedResult(said, expiresAt) }
    const rows = await query(
      tx,
      sql`update grants set uses = uses + 1 where id = ${grantId} and uses < max_uses and revoked_at is null
        and expires_at > now() returning 1`,
    )
    if (rows.length > 0) return { grantId, refused: null }
  }
  return null
}
