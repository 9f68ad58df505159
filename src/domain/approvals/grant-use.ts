/** Using grants: which of them covers a stopped call, and one use taken, never one too many. */
import { sql } from 'drizzle-orm'
import { compileSchema } from '../../core/json-schema.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { grants } from '../../store/db/tables/approvals.ts'
import { meets, type Requirement } from '../tools/index.ts'
import type { Asked } from './digest.ts'
import type { Grant } from './grants.ts'

/** Who makes a call that the gate stops. */
export interface Holder {
  agentId: string | null
  threadId: string | null
  requestedBy: string
}

/** A grant that may let a call pass, with what its approval had asked for. */
export type UsableGrant = Grant & { met: Requirement }

/** The grants that may let calls of these tools pass, soonest to end first. They are not used up by this. */
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
      order by expires_at, id limit 200`,
    sql`, (select a.requirement from approvals as a where a.id = grants.approval_id) as met`,
  )
  return rows as UsableGrant[]
}

/** A call that the gate stops. */
export interface StoppedCall {
  tool: Asked
  merged: JsonObject
  requirement: Requirement
}

/**
 * Whether the grant covers a call of that version with these merged arguments. It cannot agree to more than those did
 * who gave it: where the gates ask for more than they had to meet, people are asked.
 */
export function covers(grant: UsableGrant, { tool, merged, requirement }: StoppedCall): boolean {
  if (grant.toolId !== tool.id || grant.toolVersion !== tool.version) return false
  if (grant.action !== tool.action || grant.definitionHash !== tool.definitionHash) return false
  if (!meets(grant.met, requirement)) return false
  if (grant.scope === 'TOOL') return true
  if (grant.scope === 'EXACT') return grant.argumentsHash === hashJson(merged)
  const compiled = compileSchema(grant.schema)
  return compiled.ok && compiled.validate(merged).length === 0
}

/** Takes one use of the first of these grants that still has one; null when none has. Never one too many. */
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
