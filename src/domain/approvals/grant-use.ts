/** Uses of grants: finds those that answer a stopped call: a refusal, or one of which a use is left. */
import type { ToolResult } from '../../core/content.ts'
import { judge, type Judgement } from '../../core/json-schema.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { grants } from '../../store/db/tables/approvals.ts'
import { meets, type Requirement } from '../gates/index.ts'
import { isCovered, type CallableTool } from './digest.ts'
import { inForce, isRefusal, type Grant } from './grants.ts'
import { rejectedResult } from './outcome.ts'

/** The caller, agent or thread of a call that the gate stops. */
export interface Holder {
  agentId: string | null
  threadId: string | null
  requestedBy: string
}

/**
 * A grant that may answer a call. `met`: the requirement that its approval fulfilled. `reason`: what the model is told with
 * a refusal.
 */
export type UsableGrant = Grant & { met: Requirement; reason: string | null }

/**
 * The usable grants for these tools, earliest end first. Whoever holds a grant, it counts only for calls of the requester
 * whose call was approved with it. Takes no use.
 */
export async function findGrants(
  db: Database,
  toolIds: readonly string[],
  holder: Holder,
): Promise<UsableGrant[]> {
  if (toolIds.length === 0) return []
  const { agentId, threadId, requestedBy } = holder
  const rows = await selectRows<typeof grants, Pick<UsableGrant, 'met' | 'reason'>>(
    db,
    grants,
    sql`where tool_id in ${[...toolIds]} and ${inForce}
      and (agent_id = ${agentId} or thread_id = ${threadId} or requested_by = ${requestedBy})
      and exists (select from approvals as a where a.id = grants.approval_id and a.requested_by = ${requestedBy})
      order by expires_at, id`,
    sql`, (select a.requirement from approvals as a where a.id = grants.approval_id) as met,
      (select a.votes -> -1 ->> 'reason' from approvals as a where a.id = grants.approval_id) as reason`,
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
    const { id: grantId, reason, expiresAt } = grant
    if (isRefusal(grant)) return { grantId, refused: rejectedResult(reason, expiresAt) }
    const rows = await query(
      tx,
      sql`update grants set uses = uses + 1 where id = ${grantId} and uses < max_uses and revoked_at is null
        and expires_at > now() returning 1`,
    )
    if (rows.length > 0) return { grantId, refused: null }
  }
  return null
}
