/** Uses of grants: finds the grant that covers a stopped call, and takes one use of it, never more than `max_uses`. */
import { judge } from '../../core/json-schema.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { grants } from '../../store/db/tables/approvals.ts'
import { meets, type Requirement } from '../gates/index.ts'
import { isCovered, type CallableTool } from './digest.ts'
import type { Grant } from './grants.ts'

/** The caller, agent or thread of a call that the gate stops. */
export interface Holder {
  agentId: string | null
  threadId: string | null
  requestedBy: string
}

/** A grant that may let a call pass. `met`: the requirement that its approval fulfilled. */
export type UsableGrant = Grant & { met: Requirement }

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
  const rows = await selectRows<typeof grants, { met: Requirement }>(
    db,
    grants,
    sql`where tool_id in ${[...toolIds]} and expires_at > now() and revoked_at is null and uses < max_uses
      and (agent_id = ${agentId} or thread_id = ${threadId} or requested_by = ${requestedBy})
      and exists (select from approvals as a where a.id = grants.approval_id and a.requested_by = ${requestedBy})
      order by expires_at, id`,
    sql`, (select a.requirement from approvals as a where a.id = grants.approval_id) as met`,
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
 * Whether the grant covers a call of that tool with these merged arguments. False when the gates require more than
 * the grant's approval fulfilled: then an approval is needed.
 */
export function covers(grant: UsableGrant, { tool, merged, requirement }: StoppedCall): boolean {
  if (!isCovered(grant, tool)) return false
  if (!meets(grant.met, requirement)) return false
  if (grant.scope === 'TOOL') return true
  if (grant.scope === 'EXACT') return grant.argumentsHash === hashJson(merged)
  return judge(grant.schema, grant.projectId, merged).fits === 'YES'
}

/**
 * Takes one use of the first of these grants that has one left, and returns its id; null when none has. Race-safe:
 * `uses` never exceeds `max_uses`.
 */
export async function takeUse(tx: Database, candidates: readonly Grant[]): Promise<string | null> {
  for (const { id } of candidates) {
    const rows = await query(
      tx,
      sql`update grants set uses = uses + 1 where id = ${id} and uses < max_uses and revoked_at is null
        and expires_at > now() returning 1`,
    )
    if (rows.length > 0) return id
  }
  return null
}
