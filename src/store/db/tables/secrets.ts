/** Encrypted secret values. The API never returns them. */
import { pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, projectId, updatedAt } from './columns.ts'

export const secrets = pgTable(
  'secrets',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    /** AES-256-GCM: version, nonce, tag and ciphertext, base64url, bound to project and name. */
    sealed: text('sealed').notNull(),
    /** The hosts that the value may be sent to; null: any, also for secrets saved before this column existed. */
    allowedHosts: jsonb('allowed_hosts'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [uniqueIndex('secrets_name').on(t.projectId, t.name)],
)
