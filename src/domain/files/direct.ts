/**
 * Uploads that go straight to the bucket. Nobody tells when they are there: who needs the file looks. The bytes are copied
 * inside the object store to a key that no link leads to, and so can never change once the file is READY.
 */
import { and, eq } from 'drizzle-orm'
import { atomically, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import { BucketFaultError, bucketOf } from '../../store/blobs/blobs.ts'
import type { Services } from '../access/index.ts'
import { appendProjectEvents, fileUploaded, withRequester } from '../events/index.ts'
import { claimKey, newBucketKey, noteWrite, uploadKey } from './bucket-keys.ts'
import { type StoredFile, loadFiles } from './file.ts'
import { assertFits, bytesLeft } from './receive.ts'

/** What is under way in this process, by the id of the file: many may look at one file at once. */
const settling = new Map<string, Promise<StoredFile>>()

/**
 * The file as it is now: READY if the announced bytes have come to the bucket, else unchanged. Idempotent; of many at once, in
 * any number of processes, one makes it READY. LIMITED when the quota of the project is used up by now. Throws
 * BucketFaultError.
 */
export async function settleUpload(services: Services, file: StoredFile): Promise<StoredFile> {
  if (file.status !== 'PENDING') return file
  const known = settling.get(file.id)
  if (known) return known
  const settled = settle(services, file).finally(() => settling.delete(file.id))
  settling.set(file.id, settled)
  return settled
}

async function settle(services: Services, file: StoredFile): Promise<StoredFile> {
  const { id, projectId, contentType } = file
  const [announced] = await query<{ size: number }>(
    services.db,
    sql`select size::float8 as size from blob_writes where key = ${uploadKey(id)}`,
  )
  // Its link leads to this server.
  if (!announced) return file
  const { size } = announced
  const bucket = bucketOf(services.blobs)
  const found = await bucket.stat(uploadKey(id))
  if (found?.size !== size || found.contentType !== contentType) return file
  const key = newBucketKey(id)
  await noteWrite(services.db, { key, projectId, fileId: id })
  // Replaced meanwhile: who asks again gets the other bytes.
  if (!(await bucket.copy(uploadKey(id), found.etag, key))) return file
  const copied = await bucket.stat(key)
  if (copied?.size !== size) throw new BucketFaultError('The object store has not copied all bytes.', false)
  const ready = await makeReady(services, file, { size, blobKey: key, etag: copied.etag })
  if (!ready) return (await loadFiles(services.db, [id]))[0] ?? file
  services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
  return ready
}

/** Null when another one was first, or the file is deleted. Its copy is removed then. */
async function makeReady(
  services: Services,
  { id, projectId }: StoredFile,
  bytes: { size: number; blobKey: string; etag: string },
): Promise<StoredFile | null> {
  return atomically(services.db, async (tx) => {
    // Locks the project, because two files together may exceed a quota that each of them keeps.
    await tx.execute(sql`select 1 from projects where id = ${projectId} for no key update`)
    const [ready] = await tx
      .update(files)
      .set({ ...bytes, status: 'READY', uploadedAt: sql`now()` })
      .where(and(eq(files.id, id), eq(files.status, 'PENDING')))
      .returning()
    if (!ready) return null
    await query(tx, sql`update blob_writes set size = 0 where key = ${uploadKey(id)}`)
    assertFits(services, 0, await bytesLeft(tx, services, projectId))
    await claimKey(tx, bytes.blobKey)
    await appendProjectEvents(
      tx,
      projectId,
      withRequester(ready.createdBy, [fileUploaded({ fileId: id, name: ready.filename })]),
    )
    return ready as StoredFile
  })
}
