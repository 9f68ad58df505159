/** Both places of blobs as one: a key says where its bytes are. */
import { BucketFaultError, type BlobStore, type Bucket, type DiskBlobs } from './blobs.ts'

/** How the keys of a bucket begin. Those of a disk begin with `file_`. */
export const bucketPrefix = 's3_'

/** Throws BucketFaultError for a key of a bucket when there is none: what it names is elsewhere, not gone. */
export function storeOf(disk: DiskBlobs, bucket: Bucket | null): BlobStore {
  const placeOf = (key: string) => {
    if (!key.startsWith(bucketPrefix)) return disk
    if (bucket) return bucket
    throw new BucketFaultError('Files are in a bucket, but GATEHOUSE_S3_BUCKET is not set.', true)
  }
  return {
    disk,
    bucket,
    write: (source, maxBytes) => (bucket ?? disk).write(source, maxBytes),
    read: async (key, etag) => placeOf(key).read(key, etag),
    remove: async (key) => placeOf(key).remove(key),
  }
}
