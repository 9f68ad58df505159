/**
 * Keys of the bucket. Each is written once and never used again, so that nothing which is late, a write or a removal, can meet
 * the bytes of another. What is written is noted before, so that a lost process leaves nothing behind.
 */
import { randomBytes } from 'node:crypto'
import { AppError } from '../../core/errors.ts'
import { nowPlus, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { bucketPrefix } from '../../store/blobs/store.ts'

/** How long a write may take until a file has its key, in milliseconds. */
export const writeMs = 60 * 60 * 1000

/** The key to which the upload link of a file leads. No file ever has it: what a link can write to may change. */
export function uploadKey(fileId: string): string {
  return `${bucketPrefix}${fileId}`
}

/** A key that is written by its caller only. */
export function newBucketKey(fileId: string): string {
  return `${bucketPrefix}${fileId}_${randomBytes(8).toString('hex')}`
}

export interface BlobWrite {
  key: string
  projectId: string
  fileId: string
  /** In bytes: what it counts in the quota of the project until then. */
  size?: number
}

/** Notes a key that is about to be written. Unless a file has it within `milliseconds`, what is under it is removed. */
export async function noteWrite(db: Database, write: BlobWrite, milliseconds = writeMs): Promise<void> {
  const { key, projectId, fileId, size = 0 } = write
  await query(
    db,
    sql`insert into blob_writes (key, project_id, file_id, size, due_at)
      values (${key}, ${projectId}, ${fileId}, ${size}::bigint, ${nowPlus(milliseconds)})`,
  )
}

/**
 * In the transaction that gives the key to a file: it is not removed any more. Throws UNAVAILABLE when its time is over, for a
 * process that was suspended: the bytes may be gone.
 */
export async function claimKey(tx: Database, key: string): Promise<void> {
  const rows = await query(
    tx,
    sql`delete from blob_writes where key = ${key} and due_at > now() returning key`,
  )
  if (rows.length === 0)
    throw new AppError('UNAVAILABLE', 'Storing the file took too long; nothing was stored. Try again.', {
      retryAfterMs: 1000,
    })
}

/** What announced uploads of a project may still bring, in bytes. */
export function announcedBytes(projectId: string): SQL {
  return sql`(select coalesce(sum(size), 0) from blob_writes where project_id = ${projectId})`
}
