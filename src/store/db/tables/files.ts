/** Metadata of files; their bytes are blobs. */
import { sql } from 'drizzle-orm'
import { bigint, index, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const files = pgTable(
  'files',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    filename: text('filename').notNull(),
    contentType: text('content_type').notNull(),
    /** PENDING until the bytes are uploaded, then READY. */
    status: text('status').notNull().default('PENDING'),
    /** In bytes, once READY. */
    size: bigint('size', { mode: 'number' }),
    sha256: text('sha256'),
    /** The agent whose bound keys may attach the file; null: no bound key may. */
    agentId: text('agent_id'),
    createdBy: text('created_by').notNull(),
    /** When the upload link expires. */
    uploadUntil: moment('upload_until').notNull(),
    createdAt: createdAt(),
    uploadedAt: moment('uploaded_at'),
    /** When a request last referred to it, to within an hour; null before. It is not removed soon after. */
    usedAt: moment('used_at'),
  },
  (t) => [
    index('files_list').on(t.projectId, t.createdAt, t.id),
    index('files_by_content')
      .on(t.projectId, t.sha256)
      .where(sql`sha256 is not null`),
  ],
)
