/**
 * What a request was checked against, out of the memory of this process: the statement that begins its call proves that it
 * is still so.
 */
import { sql, type SQL } from '../../store/db/sql.ts'
import { callerColumns, callerRow, callersValid, stillValid, type Caller } from '../access/index.ts'
import { isToolVersion, type ToolBasis } from '../tools/index.ts'
import { isCatalog } from '../upstream/index.ts'

/** Null: read for this request, and not proved. */
export interface Basis {
  caller: Caller | null
  /** The version of the agent through which a call came over the bridge. */
  agentVersion: number | null
  tool: ToolBasis | null
}

export const provesNothing: Basis = { caller: null, agentVersion: null, tool: null }

/** The columns of a relation `x` that tell the basis of each of its rows, with their SQL types. */
export const basisColumns: Record<string, string> = {
  ...callerColumns,
  agent_version: 'integer',
  proved_version: 'integer',
  proves_catalog: 'boolean',
  catalog_hash: 'text',
}

/** The values of these columns. */
export function basisRow({ caller, agentVersion, tool }: Basis): Record<string, unknown> {
  return {
    ...callerRow(caller),
    agent_version: agentVersion,
    proved_version: tool?.version ?? null,
    proves_catalog: tool?.catalog != null,
    catalog_hash: tool?.catalog?.hash ?? null,
  }
}

/** A condition on a row of `x`, which also has the columns `tool_id` and `agent_id`: its basis is still so. */
export const basisHolds: SQL = sql`${callersValid}
  and (x.agent_version is null
    or exists (select 1 from agents where id = x.agent_id and version = x.agent_version))
  and (x.proved_version is null
    or ${isToolVersion({ id: sql`x.tool_id`, version: sql`x.proved_version` })})
  and (not x.proves_catalog or ${isCatalog(sql`x.tool_id`, sql`x.catalog_hash`)})`

/** The same as a condition of a statement that begins one call; undefined when there is nothing to prove. */
export function stillHolds(
  { caller, agentVersion, tool }: Basis,
  { toolId, agentId }: { toolId: string; agentId: string | null },
): SQL | undefined {
  const id = sql`${toolId}::text`
  const conditions = [
    ...(caller ? [stillValid(caller)] : []),
    ...(agentVersion === null
      ? []
      : [sql`exists (select 1 from agents where id = ${agentId} and version = ${agentVersion}::int)`]),
    ...(tool ? [isToolVersion({ id, version: sql`${tool.version}::int` })] : []),
    ...(tool?.catalog ? [isCatalog(id, sql`${tool.catalog.hash}::text`)] : []),
  ]
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : undefined
}
