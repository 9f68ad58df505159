/**
 * The row that owns a tool call and its approval: a generation, or the call itself outside one. Every transaction that
 * changes them locks the owner first, so that decisions, deadlines and the worker run one after another without
 * deadlock.
 */
import { query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { WorkTable } from '../db/tables/columns.ts'
import type { ClaimedRow } from './work.ts'

export interface Owner {
  table: 'generations' | 'tool_calls'
  id: string
  projectId: string
  /** Who requested a call outside a generation; the row of a generation says its own. */
  requestedBy?: string
}

/** The place of a child run: its parent, the waiting call and the root. */
export interface ParentLink {
  projectId: string
  parentId: string
  /** The parent's call that waits for it. */
  callId: string
  rootId: string
}

/** Selects `parent`, a ParentLink or null, from a row of generations. */
export const parentLinkOf = sql`case when root_id is not null then jsonb_build_object(
    'projectId', project_id,
    'parentId', parent_id,
    'callId', parent_call_id,
    'rootId', root_id
  ) end as parent`

/** An owner that was claimed by the statement that woke it, as the worker of its table gets it. */
export interface ClaimedOwner extends ClaimedRow {
  /** The status that a claim would have found. */
  was: 'QUEUED'
  lastSeq: number
  parent: ParentLink | null
}

/** The owner of a tool call. */
export function ownerOf(call: {
  id: string
  generationId: string | null
  projectId: string
  requestedBy: string
}): Owner {
  const { generationId, projectId, requestedBy } = call
  return generationId === null
    ? { table: 'tool_calls', id: call.id, projectId, requestedBy }
    : { table: 'generations', id: generationId, projectId }
}

/**
 * Locks the owners in the one order that every transaction uses: generations from the deepest descendants up to their
 * roots (whose logs get copies of their events), then calls. Call it first in the transaction.
 */
export async function lockOwners(tx: Database, owners: readonly Owner[]): Promise<void> {
  const idsOf = (table: WorkTable) => [
    ...new Set(owners.filter((owner) => owner.table === table).map((owner) => owner.id)),
  ]
  const [generations, calls] = [idsOf('generations'), idsOf('tool_calls')]
  if (generations.length > 0)
    await query(
      tx,
      sql`select 1 from generations where id in ${generations}
          or id in (select root_id from generations where id in ${generations})
        order by depth desc, id for update`,
    )
  if (calls.length > 0)
    await query(tx, sql`select 1 from tool_calls where id in ${calls} order by id for update`)
}
