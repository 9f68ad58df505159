/** Versions of an agent: each change adds a row, and people read what changed, by whom and when. */
import { type JsonObject, changesBetween } from '../../core/json.ts'
import { viewOf } from '../../core/field-list.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { versionPage } from '../../store/db/lists.ts'
import { agents, agentVersions } from '../../store/db/tables/agents.ts'
import type { Ctx } from '../access/index.ts'
import { mostChanges, type ShownVersion } from '../tools/index.ts'
import { settingsOf, type Agent } from './agent.ts'
import { agentFields } from './fields.ts'

type AgentRow = typeof agents.$inferSelect

/** Stores the row of an agent as its version. Call it in the transaction of the change. */
export async function insertVersion(tx: Database, ctx: Ctx, row: AgentRow): Promise<void> {
  const { id: agentId, version, projectId, name, definition, updatedAt } = row
  const createdBy = ctx.principal.id
  await tx
    .insert(agentVersions)
    .values({ agentId, version, projectId, name, definition, createdBy, createdAt: updatedAt })
}

/**
 * Stores the version that is about to be replaced when it is missing: a replica of the release before this table made
 * it while both ran. Call it before the update, in its transaction.
 */
export async function keepPresentVersion(
  tx: Database,
  { id, version }: Pick<Agent, 'id' | 'version'>,
): Promise<void> {
  await tx.execute(sql`insert into agent_versions (agent_id, version, project_id, name, definition, created_at)
    select id, version, project_id, name, definition, updated_at
    from agents
    where id = ${id} and version = ${version}::int
    on conflict do nothing`)
}

/** The versions of an agent that the caller may read, newest first. */
export async function listAgentVersions(ctx: Ctx, agent: Agent, page: Page): Promise<ShownVersion[]> {
  const owner = { column: agentVersions.agentId, id: agent.id }
  const rows = await versionPage(ctx.db, agentVersions, owner, page)
  return rows.map(({ row, before }) => {
    const { version, createdBy, createdAt } = row
    const definition = shownDefinition(row)
    const changes = before ? changesBetween(shownDefinition(before), definition, mostChanges) : []
    return { id: String(version), version, createdBy, createdAt, definition, changes }
  })
}

function shownDefinition({ name, definition }: typeof agentVersions.$inferSelect): JsonObject {
  return { name, ...viewOf(agentFields, settingsOf(definition), null) }
}
