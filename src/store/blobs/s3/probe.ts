/** Tries at the start what files will need of a bucket, because later is too late to find it missing. */
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { BucketFaultError, type Bucket } from '../blobs.ts'
import { bucketPrefix } from '../store.ts'

/** An ETag that nothing has. */
const noEtag = `"${'0'.repeat(32)}"`

/**
 * Writes, reads, copies and removes a small object. Throws BucketFaultError, also for an object store that ignores `If-Match`:
 * with it bytes that a person approved could be replaced by others.
 */
export async function probeBucket(bucket: Bucket): Promise<void> {
  const key = `${bucketPrefix}probe_${randomBytes(8).toString('hex')}`
  const copied = `${key}_copied`
  const bytes = Buffer.from('Gatehouse tries the bucket.')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (await bucket.stat(`${key}_none`)) throw deviates('finds what was never written')
  const etag = await bucket.put(key, { size: bytes.length, sha256, open: () => Readable.from([bytes]) })
  try {
    if ((await bucket.stat(key, etag))?.size !== bytes.length)
      throw deviates('does not find what was written')
    const other = await bucket.read(key, noEtag)
    other?.stream.destroy()
    if (other) throw deviates('ignores the header If-Match')
    if (!(await bucket.copy(key, etag, copied))) throw deviates('does not copy')
  } finally {
    await bucket.remove(key)
    await bucket.remove(copied)
  }
}

function deviates(how: string): BucketFaultError {
  return new BucketFaultError(
    `The object store of GATEHOUSE_S3_ENDPOINT ${how}: it cannot be used for files.`,
    true,
  )
}
