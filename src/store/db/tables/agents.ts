/** Agents: a model, instructions and tools. */
import { index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, projectId, updatedAt } from './columns.ts'

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
