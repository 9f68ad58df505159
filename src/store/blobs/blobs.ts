/** Blobs: bytes by key, on a disk that all replicas share or in a bucket. A blob is complete or does not exist. */
import type { Readable } from 'node:stream'

/** Bytes that were written to disk and have no key yet. The caller must call `keep` or `drop`. */
export interface Draft {
  /** In bytes. */
  size: number
  /** Hex. */
  sha256: string
  /** Stores the bytes under a key atomically, and replaces an earlier blob. Returns their ETag; null on a disk. */
  keep(key: string): Promise<string | null>
  /** Deletes the draft. A blob that `keep` has stored stays. */
  drop(): Promise<void>
}

/** A place for bytes. Its faults are DiskFaultError and BucketFaultError: the same may succeed later. */
export interface Blobs {
  /**
   * Writes all bytes of the source to a draft. Null when there are more than `maxBytes`; then, and when the source or the
   * disk fails, nothing is left. Throws the error of the source, too.
   */
  write(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Draft | null>
  /** A stream of the bytes; null when there is no blob with this key, or not the one with this ETag. */
  read(key: string, etag?: string | null): Promise<{ stream: Readable; size: number } | null>
  /** Idempotent. */
  remove(key: string): Promise<void>
}

/** Blobs on a disk. */
export interface DiskBlobs extends Blobs {
  /** The keys of all blobs, in no order. */
  keys(): AsyncIterable<string>
}

/** What a link accepts or returns, and for how long from now. */
export interface LinkTerms {
  contentType: string
  seconds: number
}

/** Blobs in a bucket of an object store, to which clients may get links. */
export interface Bucket extends Blobs {
  /** A link that takes exactly `size` bytes of this type with PUT. */
  uploadLink(key: string, terms: LinkTerms & { size: number }): Promise<string>
  /** A link that returns the blob with GET, as an attachment with this name. */
  downloadLink(key: string, terms: LinkTerms & { filename: string }): Promise<string>
  /** What is stored under the key; null when there is nothing, or not what has this ETag. */
  stat(key: string, etag?: string | null): Promise<ObjectState | null>
  /** Stores bytes whose size and hash are known; `open` is called for each attempt. Returns their ETag. */
  put(key: string, bytes: KnownBytes): Promise<string>
  /** Copies what has this ETag to another key, inside the object store. False when it is not there any more. */
  copy(from: string, etag: string, to: string): Promise<boolean>
  close(): Promise<void>
}

export interface KnownBytes {
  /** In bytes. */
  size: number
  /** Hex. */
  sha256: string
  open(): Readable | Promise<Readable>
}

export interface ObjectState {
  /** In bytes. */
  size: number
  contentType: string
  /** Names these bytes under this key: other bytes have another one. */
  etag: string
}

/** The places of an installation. As Blobs it writes to the bucket if there is one, and finds each key where it is. */
export interface BlobStore extends Blobs {
  disk: DiskBlobs
  /** Null: files are on the disk only. */
  bucket: Bucket | null
}

/** The disk takes no bytes: it is full, read-only or broken. The same write may succeed later. */
export class DiskFaultError extends Error {
  constructor(cause: unknown) {
    super('The disk of files takes no bytes.', { cause })
    this.name = 'DiskFaultError'
  }
}

/** The bucket cannot be used. `message` is a sentence for the operator, who alone may see it. */
export class BucketFaultError extends Error {
  /** Whether the settings or the bucket must be changed; else the same may succeed later by itself. */
  readonly isLasting: boolean

  constructor(message: string, isLasting: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'BucketFaultError'
    this.isLasting = isLasting
  }
}

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
