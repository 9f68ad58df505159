/** Blobs in an S3 bucket, or that of an S3-compatible server, which is tried at the start. */
import { createReadStream } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { attachmentNamed } from '../../../core/content.ts'
import { BucketFaultError, type Bucket, bucketPrefix } from '../blobs.ts'
import { onDiskWith, writeDraft } from '../disk.ts'
import {
  codeIn,
  faultOf,
  faultWithoutResponse,
  beginningOf,
  s3Requests,
  type S3Response,
  type S3Request,
  type S3Settings,
} from './requests.ts'
import { createHash, randomBytes } from 'node:crypto'

export interface BucketOptions {
  /** Where bytes are until they are complete. */
  draftFolder: string
  /** Told of faults of the disk of drafts. */
  onDiskFault?: (error: unknown) => void
}

/** Keys have lower-case letters, digits and `_`. Every operation may throw BucketFaultError. */
export function s3Bucket(
  settings: S3Settings,
  { draftFolder, onDiskFault = () => {} }: BucketOptions,
): Bucket {
  const requests = s3Requests(settings)
  const onDisk = onDiskWith(onDiskFault)
  const stored = objects(requests.send, settings)
  return {
    ...stored,
    async write(source, maxBytes) {
      const draft = await writeDraft(draftFolder, source, maxBytes, onDisk)
      if (!draft) return null
      const { path, size, sha256, drop } = draft
      const keep = (key: string) => stored.put(key, { size, sha256, open: () => createReadStream(path) })
      return { size, sha256, keep, drop }
    },
    uploadLink: (key, { contentType, size, seconds }) =>
      link(settings, 'PUT', key, seconds, {
        headers: { 'content-type': contentType, 'content-length': String(size) },
      }),
    downloadLink: (key, { contentType, filename, seconds }) =>
      link(settings, 'GET', key, seconds, {
        query: {
          'response-content-type': contentType,
          'response-content-disposition': attachmentNamed(filename),
          'response-cache-control': 'private, no-store',
        },
      }),
    close: () => requests.close(),
  }
}

type Send = (sending: S3Request, expected?: readonly number[]) => Promise<S3Response>

function objects(
  send: Send,
  settings: S3Settings,
): Pick<Bucket, 'put' | 'stat' | 'read' | 'remove' | 'copy'> {
  const done = async (sending: S3Request, expected: readonly number[]) => {
    const response = await send(sending, expected)
    response.body.resume()
    return response
  }
  const ifMatch = (etag: string | null | undefined) => (etag ? { headers: { 'if-match': etag } } : {})
  return {
    async put(key, body) {
      return etagOf(await done({ method: 'PUT', key, body }, []))
    },
    async stat(key, etag) {
      const found = await done({ method: 'HEAD', key, ...ifMatch(etag) }, [400, 403, 404, 412])
      if (found.status >= 300 && found.status !== 412) {
        // A response to HEAD has no body that says why, or what is missing: the object or the bucket.
        await done({ method: 'GET', key, headers: { range: 'bytes=0-0' } }, [404, 416])
        if (found.status !== 404) throw faultOf(found.status, null)
      }
      if (found.status >= 300) return null
      const { 'content-length': size, 'content-type': contentType = '' } = found.headers
      return { size: Number(size), contentType: contentType.toLowerCase(), etag: etagOf(found) }
    },
    async read(key, etag) {
      const { status, headers, body } = await send({ method: 'GET', key, ...ifMatch(etag) }, [404, 412])
      if (status >= 300) return null
      return { stream: withFaults(body, settings), size: Number(headers['content-length']) }
    },
    async remove(key) {
      await done({ method: 'DELETE', key }, [404])
    },
    async copy(from, etag, to) {
      const headers = {
        'x-amz-copy-source': `/${settings.bucket}/${from}`,
        'x-amz-copy-source-if-match': etag,
      }
      const { status, body } = await send({ method: 'PUT', key: to, headers, isCopy: true }, [404, 412])
      if (status >= 300) return false
      // The object store may find out that it cannot copy after it has begun to answer 200.
      const code = codeIn(await beginningOf(body))
      if (code !== null) throw faultOf(503, code)
      return true
    },
  }
}

/** The same bytes; an error is a BucketFaultError. */
function withFaults(body: Readable, settings: S3Settings): Readable {
  const stream = new PassThrough()
  // Its reader may have destroyed it and be gone.
  stream.on('error', () => {})
  stream.once('close', () => body.destroy())
  body.once('error', (error) => stream.destroy(faultWithoutResponse(settings, error)))
  return body.pipe(stream)
}

function etagOf({ headers }: S3Response): string {
  const { etag } = headers
  // A weak one may name other bytes, too.
  if (etag && /^"?[\w+/=.:-]{1,200}"?$/.test(etag)) return etag
  throw new BucketFaultError(
    'The object store names no ETag, without which bytes cannot be told apart.',
    true,
  )
}

async function link(
  { publicUrl, accessKeyId, secretAccessKey, sessionToken, region }: S3Settings,
  method: 'PUT' | 'GET',
  key: string,
  seconds: number,
  { headers = {}, query = {} }: { headers?: Record<string, string>; query?: Record<string, string> },
): Promise<string> {
  const url = new URL(`${publicUrl}/${key}`)
  for (const [name, value] of Object.entries({ ...query, 'X-Amz-Expires': String(seconds) }))
    url.searchParams.set(name, value)
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === null ? {} : { sessionToken }),
    service: 's3',
    region,
    signQuery: true,
    // Otherwise neither size nor type are signed: the link would take anything.
    allHeaders: true,
  })
  return (await signer.sign()).url.href
}

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
