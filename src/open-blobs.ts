/** Opens the places of the bytes of files: the folder, and the bucket if one is configured. */
import { resolve } from 'node:path'
import { ConfigError, type Config } from './config.ts'
import type { Log } from './core/log.ts'
import { BucketFaultError, type BlobStore, type Bucket } from './store/blobs/blobs.ts'
import { diskBlobs } from './store/blobs/disk.ts'
import { dropAbandoned } from './store/blobs/draft.ts'
import { s3Bucket } from './store/blobs/s3/bucket.ts'
import { probeBucket } from './store/blobs/s3/probe.ts'
import { storeOf } from './store/blobs/store.ts'

/** How often the folder is searched for what lost processes have left, in milliseconds. */
const tidyMs = 3_600_000

/**
 * Tries the bucket first. Throws ConfigError when its settings, its rights or the clock must be changed. While it does not
 * answer the server starts all the same, and what needs the bytes of files is UNAVAILABLE.
 */
export async function openBlobs(
  { blobDir, s3 }: Pick<Config, 'blobDir' | 's3'>,
  log: Log,
  closers: (() => Promise<unknown>)[],
): Promise<BlobStore> {
  const folder = resolve(blobDir)
  const onDiskFault = (error: unknown) =>
    log.error({ err: error }, 'the disk of files takes no bytes; uploads are refused')
  const disk = diskBlobs(folder, onDiskFault)
  const tidy = setInterval(() => void dropAbandoned(folder), tidyMs).unref()
  closers.push(async () => clearInterval(tidy))
  void dropAbandoned(folder)
  if (!s3) return storeOf(disk, null)
  const bucket = s3Bucket(s3, { draftFolder: folder, onDiskFault })
  closers.push(() => bucket.close())
  await tryBucket(bucket, log)
  return storeOf(disk, bucket)
}

async function tryBucket(bucket: Bucket, log: Log): Promise<void> {
  try {
    await probeBucket(bucket)
  } catch (error) {
    if (!(error instanceof BucketFaultError)) throw error
    if (error.isLasting) throw new ConfigError([error.message])
    log.error({ err: error }, 'the bucket of files does not answer; files are unavailable until it does')
  }
}
