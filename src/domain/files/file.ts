/** The type of a file, its rows, and references to files in calls and messages. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { entity, optional, openPart, scalar, part, idOf, choice } from '../../core/shapes.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'

const fileStatus = choice('FileStatus', 'Whether the bytes of a file were uploaded.', {
  PENDING: 'The file was created; the bytes are not uploaded yet.',
  READY: 'The bytes are uploaded and never change.',
})
export type FileStatus = z.output<typeof fileStatus>

export const fileShape = part('File', 'A file that was created with presignUpload.', {
  id: idOf('file'),
  filename: view.text('The file name given to presignUpload.'),
  contentType: view.text('The media type given to presignUpload.'),
  status: fileStatus.describe('Whether the bytes of the file were uploaded.'),
  size: view.float('The size in bytes; null while the file is PENDING.').nullable(),
  sha256: view
    .text(
      'The SHA-256 hash of the bytes in hexadecimal; null while the file is PENDING, and for bytes that were ' +
        'uploaded straight to a bucket.',
    )
    .nullable(),
  agentId: view
    .id('The id of the agent whose bound API keys may attach the file; null: no bound key may.')
    .nullable(),
  createdBy: view.principal(
    'creator',
    'The principal that created the file.',
    'The id of the API key or person that created the file.',
  ),
  createdAt: view.date('When the file was created.'),
  uploadedAt: view.date('When the upload was complete; null while the file is PENDING.').nullable(),
})
export interface StoredFile extends z.output<typeof fileShape> {
  projectId: string
  /** The key of the bytes in the bucket; null while they are on the disk. */
  blobKey: string | null
  /** Of the bytes in the bucket. */
  etag: string | null
  uploadUntil: Date
}

export const File = entity<StoredFile>()('File')

/** A reference to a file. A name and type given by the caller replace those of the file. */
export interface Attachment {
  fileId: string
  filename: string
  contentType: string
}

export const filenameShape = text(255, 1).refine(
  (name) => !/[/\\\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(name) && name !== '.' && name !== '..',
  'must be a file name without slashes, control characters and bidirectional control characters',
)

export const contentTypeShape = text(100, 3)
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i,
    'must be a media type, such as text/csv',
  )
  .transform((type) => type.toLowerCase())

/** The most files of one call or message. */
export const maxAttachments = 20

/** References as the input of an operation. */
export const attachmentsShape = z
  .array(
    openPart('AttachmentInput', 'A reference to an uploaded file of the same project.', {
      fileId: scalar('ID', z.string().max(60)).describe('The id of the file; it begins with file_.'),
      filename: optional(filenameShape.describe('The file name for this use.'), 'the name of the file'),
      contentType: optional(
        contentTypeShape.describe('The media type for this use.'),
        'the media type of the file',
      ),
    }),
  )
  .max(maxAttachments)

export type AttachmentsInput = z.input<typeof attachmentsShape>

/** Whether a pattern of the list, such as `image/*`, matches the type. */
export function allowsType(patterns: readonly string[], contentType: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? contentType.startsWith(pattern.slice(0, -1)) : pattern === contentType,
  )
}

/** The key on the disk. It contains the hash of the bytes, so that another upload never replaces them. */
export function blobKey(id: string, sha256: string): string {
  return `${id}_${sha256.slice(0, 32)}`
}

/** Files by id, in any order. Checks no permission. */
export async function loadFiles(db: Database, ids: readonly string[]): Promise<StoredFile[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, files, sql`where id in ${[...ids]}`)) as StoredFile[]
}

/**
 * The keys under which the bytes of a file may be: in the bucket, and on the disk, where earlier releases stored them under the id
 * alone.
 */
export function blobKeysOf({
  id,
  sha256,
  blobKey: bucketKey,
}: Pick<StoredFile, 'id' | 'sha256' | 'blobKey'>): string[] {
  return [...(bucketKey === null ? [] : [bucketKey]), ...(sha256 === null ? [] : [blobKey(id, sha256)]), id]
}

/** Notes that a request refers to these files of the project, which keeps them from being removed before it names them in a row. */
export async function noteUsed(db: Database, projectId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await query(
    db,
    sql`update files set used_at = now()
      where id in ${[...ids]} and project_id = ${projectId} and created_at < now() - interval '1 hour'
        and coalesce(used_at < now() - interval '30 minutes', true)`,
  )
}
