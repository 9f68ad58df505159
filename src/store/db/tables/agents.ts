/** Agents: a model, instructions and tools. */
import { index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, projectId, updatedAt } from './columns.ts'

export const agents = pgTable(
  'agents',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    version: integer('version').notNull().default(1),
    /** The AgentDefinition of domain/agents. */
    definition: jsonb('definition').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex('agents_name').on(t.projectId, t.name),
    index('agents_list').on(t.projectId, t.createdAt, t.id),
  ],
)

/** Every version of every agent, kept after the agent is changed or deleted. */
export const agentVersions = pgTable(
  'agent_versions',
  {
    agentId: text('agent_id').notNull(),
    version: integer('version').notNull(),
    projectId: projectId(),
    name: text('name').notNull(),
    /** The AgentDefinition of domain/agents. */
    definition: jsonb('definition').notNull(),
    /** The principal that made the version; null for one that a release before this table wrote. */
    createdBy: text('created_by'),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.agentId, t.version] })],
)
