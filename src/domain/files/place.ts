/** Gives bytes that have arrived their place: the bucket if there is one, else the disk. */
import type { Draft } from '../../store/blobs/blobs.ts'
import type { Database } from '../../store/db/database.ts'
import type { Services } from '../access/index.ts'
import { claimKey, newBucketKey, noteWrite } from './bucket-keys.ts'
import type { StoredFile } from './file.ts'
import { blobKey } from './stored.ts'

/** Bytes that become those of a file with a transaction. */
export interface Placed {
  /** Columns of the file. */
  columns: Pick<StoredFile, 'size' | 'sha256' | 'blobKey' | 'etag'>
  /** The last step of the transaction that makes the file READY. */
  claim(tx: Database): Promise<void>
}

/**
 * Stores a draft for a file, before the transaction that makes it READY: it must not wait for a bucket. Bytes that no
 * transaction claims are removed from the bucket later.
 */
export async function place(
  { db, blobs }: Pick<Services, 'db' | 'blobs'>,
  { id, projectId }: Pick<StoredFile, 'id' | 'projectId'>,
  draft: Draft,
): Promise<Placed> {
  const { size, sha256 } = draft
  if (!blobs.bucket)
    return {
      columns: { size, sha256, blobKey: null, etag: null },
      // A rename, before the commit. The lock may be lost by now, so the key contains the hash of these bytes.
      claim: async () => void (await draft.keep(blobKey(id, sha256))),
    }
  const key = newBucketKey(id)
  await noteWrite(db, { key, projectId, fileId: id })
  const etag = await draft.keep(key)
  return { columns: { size, sha256, blobKey: key, etag }, claim: (tx) => claimKey(tx, key) }
}
