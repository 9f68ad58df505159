/** Keys of the bucket, each written once and never used again, and the move of bytes to it while they are served. */
import { randomBytes, createHash } from 'node:crypto'
import { AppError } from '../../core/errors.ts'
import { nowPlus, query, type Database, atomically } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { bucketPrefix, type BlobStore, type Bucket } from '../../store/blobs/blobs.ts'
import type { Services } from '../access/index.ts'
import { type StoredFile, blobKeysOf, loadFiles } from './file.ts'

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

/** What a pass has done, in files. */
export interface MoveCounts {
  moved: number
  /** That no file has: of deleted files, and of uploads that go on. */
  left: number
  /** That could not be moved, because the bytes are not those of the file. */
  faulty: number
}

/**
 * One pass over the disk. A file is in one of both places at any moment, and its bytes leave the disk when the object store has
 * shown that it has them. Idempotent, goes on after a kill at any point, and safe in any number of processes. Throws
 * BucketFaultError.
 */
export async function moveToBucket(services: Services, isStopped: () => boolean): Promise<MoveCounts> {
  const { db, blobs, log } = services
  const done: MoveCounts = { moved: 0, left: 0, faulty: 0 }
  const { bucket, disk } = blobs
  if (!bucket) return done
  for await (const key of disk.keys()) {
    if (isStopped()) break
    const [file] = await loadFiles(db, [fileIdOf(key)])
    if (file?.status !== 'READY' || !blobKeysOf(file).includes(key)) {
      done.left++
      continue
    }
    const placed = file.blobKey === null ? await copyToBucket(services, bucket, file, key) : file
    if (!placed) {
      done.left++
      continue
    }
    if (placed.blobKey === null || !(await bucket.stat(placed.blobKey, placed.etag))) {
      done.faulty++
      log.error(
        { fileId: file.id },
        'the bytes of a file could not be moved to the bucket; they stay on the disk',
      )
      continue
    }
    await disk.remove(key)
    done.moved++
  }
  return done
}

const fileIdOf = (key: string) => key.split('_', 2).join('_')

/**
 * The file as it is afterwards, in the bucket unless the bytes on the disk are not its own; null when it is deleted. Another
 * process may be first at any moment.
 */
async function copyToBucket(
  services: Services,
  bucket: Bucket,
  file: StoredFile,
  diskKey: string,
): Promise<StoredFile | null> {
  const after = async () => (await loadFiles(services.db, [file.id]))[0] ?? null
  try {
    const isSame = (await hashOnDisk(services.blobs, diskKey)) === file.sha256
    if (isSame) await copyBytes(services, bucket, file, diskKey)
    return await after()
  } catch (error) {
    // Of two processes the faster one may have removed the bytes from the disk.
    const found = await after()
    if (found && found.blobKey === null) throw error
    return found
  }
}

async function copyBytes(
  { db, blobs }: Services,
  bucket: Bucket,
  { id, projectId, size, sha256 }: StoredFile,
  diskKey: string,
): Promise<void> {
  const key = newBucketKey(id)
  await noteWrite(db, { key, projectId, fileId: id })
  const open = async () => (await blobs.disk.read(diskKey))!.stream
  const etag = await bucket.put(key, { size: size!, sha256: sha256!, open })
  const isFirst = await atomically(db, async (tx) => {
    const rows = await query(
      tx,
      sql`update files set blob_key = ${key}, etag = ${etag} where id = ${id} and blob_key is null returning id`,
    )
    if (rows.length > 0) await claimKey(tx, key)
    return rows.length > 0
  })
  if (!isFirst) await bucket.remove(key)
}

async function hashOnDisk({ disk }: BlobStore, key: string): Promise<string | null> {
  const found = await disk.read(key)
  if (!found) return null
  const hash = createHash('sha256')
  for await (const chunk of found.stream) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
