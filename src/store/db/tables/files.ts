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
    /** Hex, once READY; null for bytes that were uploaded straight to the bucket. */
    sha256: text('sha256'),
    /** The key of the bytes in the bucket, and their ETag there; both null while they are on the disk. */
    blobKey: text('blob_key'),
    etag: text('etag'),
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

/**
 * Keys under which something is or may be written, and that no file may have in the end: what is there is removed once the time is
 * over, unless a file has the key. Those of a bucket are noted before they are written, those of a disk when their file is deleted.
 */
export const blobWrites = pgTable(
  'blob_writes',
  {
    key: text('key').primaryKey(),
    projectId: projectId(),
    fileId: text('file_id').notNull(),
    /** In bytes: what counts in the project's quota, for an upload that was announced. */
    size: bigint('size', { mode: 'number' }).notNull().default(0),
    /** No file gets the key from then on. */
    dueAt: moment('due_at').notNull(),
    /** Until then a process has it in work. */
    takenUntil: moment('taken_until'),
  },
  (t) => [index('blob_writes_due').on(t.dueAt), index('blob_writes_project').on(t.projectId)],
)
