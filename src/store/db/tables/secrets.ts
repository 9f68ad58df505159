/** Encrypted values, write-only from outside. */
import { jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, projectId, updatedAt } from './columns.ts'

export const secrets = pgTable(
  'secrets',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    /** AES-256-GCM: version, nonce, tag and ciphertext, base64url, bound to project and name. */
    sealed: text('sealed').notNull(),
    /** The hosts that it may be sent to; null: any, for secrets of before and where nobody said. */
    allowedHosts: jsonb('allowed_hosts'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [uniqueIndex('secrets_name').on(t.projectId, t.name)],
)
