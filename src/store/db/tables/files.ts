/** Files: what is known of them; their bytes are blobs. */
import { bigint, index, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const files = pgTable(
  'files',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    filename: text('filename').notNull(),
    contentType: text('content_type').notNull(),
    /** PENDING until the bytes are there, then READY. */
    status: text('status').notNull().default('PENDING'),
    /** In bytes, once READY. */
    size: bigint('size', { mode: 'number' }),
    sha256: text('sha256'),
    /** The agent whose bound keys may attach it; null: none. */
    agentId: text('agent_id'),
    createdBy: text('created_by').notNull(),
    /** Until when the bytes may come. */
    uploadUntil: moment('upload_until').notNull(),
    createdAt: createdAt(),
    uploadedAt: moment('uploaded_at'),
  },
  (t) => [index('files_list').on(t.projectId, t.createdAt, t.id)],
)
