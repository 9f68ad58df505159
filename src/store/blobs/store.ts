/** Both places of blobs as one: a key says where its bytes are. */
import { BucketFaultError, type BlobStore, type Bucket, type DiskBlobs } from './blobs.ts'

/** How the keys of a bucket begin. Those of a disk begin with `file_`. */
export const bucketPrefix = 's3_'

/** The bucket. Throws BucketFaultError when there is none: what is in one is elsewhere, not gone. */
export function bucketOf({ bucket }: Pick<BlobStore, 'bucket'>): Bucket {
  if (bucket) return bucket
  throw new BucketFaultError('Files are in a bucket, but GATEHOUSE_S3_BUCKET is not set.', true)
}

/** The two as one. Throws BucketFaultError for a key of a bucket when there is none. */
export function storeOf(disk: DiskBlobs, bucket: Bucket | null): BlobStore {
  const placeOf = (key: string) => (key.startsWith(bucketPrefix) ? bucketOf({ bucket }) : disk)
  return {
    disk,
    bucket,
    write: (source, maxBytes) => (bucket ?? disk).write(source, maxBytes),
    read: async (key, etag) => placeOf(key).read(key, etag),
    remove: async (key) => placeOf(key).remove(key),
  }
}
