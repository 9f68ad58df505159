/** Blobs in a bucket: requests and links are judged by AWS's own signer, and faults are told in a sentence. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BucketFaultError, type Bucket } from '../../../src/store/blobs/blobs.ts'
import { s3Bucket, probeBucket } from '../../../src/store/blobs/s3/bucket.ts'
import type { S3Settings } from '../../../src/store/blobs/s3/requests.ts'
import { startS3Server, type S3Server } from '../../support/s3-server.ts'

let server: S3Server
let folder: string
let bucket: Bucket
const opened: Bucket[] = []

function open(more: Partial<S3Settings> = {}): Bucket {
  const made = s3Bucket(server.settings(more), { draftFolder: folder })
  opened.push(made)
  return made
}

beforeEach(async () => {
  server = await startS3Server()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-s3-'))
  bucket = open()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

const drafts = () => readdir(join(folder, 'drafts')).catch(() => [])
const textOf = async (found: { stream: Readable } | null) => found && String(await buffer(found.stream))

async function written(key: string, text: string | Buffer): Promise<string> {
  const draft = (await bucket.write(Readable.from([Buffer.from(text)]), 10_000_000))!
  try {
    return (await draft.keep(key))!
  } finally {
    await draft.drop()
  }
}

test('bytes are written, read by their ETag, copied and removed, each with a signature that AWS would make', async () => {
  const large = randomBytes(3_000_000)
  const etag = await written('s3_a', large)
  const found = (await bucket.read('s3_a', etag))!
  expect(found.size).toBe(large.length)
  expect((await buffer(found.stream)).equals(large)).toBe(true)
  expect(await bucket.copy('s3_a', etag, 's3_b')).toBe(true)
  expect(await bucket.stat('s3_b')).toMatchObject({ size: large.length, etag })
  await bucket.remove('s3_a')
  await bucket.remove('s3_a')
  expect([await bucket.stat('s3_a'), await bucket.read('s3_a')]).toEqual([null, null])
  expect(await bucket.copy('s3_a', etag, 's3_c')).toBe(false)
  expect(await drafts()).toEqual([])
})

test('an empty blob, one of too many bytes, and temporary credentials', async () => {
  expect(await textOf(await bucket.read('s3_a', await written('s3_a', '')))).toBe('')
  expect(await bucket.write(Readable.from([Buffer.alloc(11)]), 10)).toBeNull()
  server.identity.sessionToken = 'token/of=a+session'
  const session = open({ sessionToken: 'token/of=a+session' })
  expect(await session.stat('s3_a')).toMatchObject({ size: 0 })
  const link = await session.downloadLink('s3_a', { contentType: 'text/plain', filename: 'ä', seconds: 60 })
  expect((await fetch(link)).status).toBe(200)
  expect(await drafts()).toEqual([])
})

test('bytes that were replaced behind its back are no longer those of the ETag', async () => {
  const etag = await written('s3_a', 'approved')
  server.replace('s3_a', 'other')
  expect(await bucket.read('s3_a', etag)).toBeNull()
  expect(await bucket.stat('s3_a', etag)).toBeNull()
  expect(await bucket.copy('s3_a', etag, 's3_b')).toBe(false)
})

describe('a link for an upload', () => {
  const put = (url: string, body: string, type = 'text/csv') =>
    fetch(url, { method: 'PUT', body, headers: { 'content-type': type } })
  const linked = (seconds = 900) => bucket.uploadLink('s3_a', { contentType: 'text/csv', size: 5, seconds })

  test('takes the bytes of the announced size and type', async () => {
    expect((await put(await linked(), '1,2,3')).status).toBe(200)
    expect(await bucket.stat('s3_a')).toMatchObject({ size: 5, contentType: 'text/csv' })
  })

  test.each([
    ['a longer body', async (url: string) => put(url, '1,2,3,4')],
    ['a shorter body', async (url: string) => put(url, '1,2')],
    ['another type', async (url: string) => put(url, '1,2,3', 'text/html')],
    ['another key', async (url: string) => put(url.replace('/s3_a?', '/s3_b?'), '1,2,3')],
    ['a longer time', async (url: string) => put(url.replace('Expires=900', 'Expires=90000'), '1,2,3')],
    ['another method', async (url: string) => fetch(url)],
    ['no signature', async (url: string) => put(url.split('?')[0]!, '1,2,3')],
  ])('takes nothing with %s', async (_what, send) => {
    expect((await send(await linked())).status).toBe(403)
    expect(server.objects.size).toBe(0)
  })

  test('takes nothing when its time is over', async () => {
    const url = await linked(60)
    server.skewMs = 61_000
    expect((await put(url, '1,2,3')).status).toBe(403)
    expect(server.objects.size).toBe(0)
  })
})

test('a link for a download returns an attachment with the type and name of the file, for its time', async () => {
  await written('s3_a', 'olá')
  const link = await bucket.downloadLink('s3_a', {
    contentType: 'text/plain',
    filename: "São (1)'s.txt",
    seconds: 60,
  })
  const got = await fetch(link)
  expect([got.headers.get('content-type'), await got.text()]).toEqual(['text/plain', 'olá'])
  expect(got.headers.get('content-disposition')).toBe(
    "attachment; filename*=UTF-8''S%C3%A3o%20%281%29%27s.txt",
  )
  const shown = link.replace('attachment', 'inline')
  expect((await fetch(shown)).status).toBe(403)
  server.skewMs = 61_000
  expect((await fetch(link)).status).toBe(403)
})

describe('a fault', () => {
  const faultOf = async (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => (error instanceof BucketFaultError ? [error.isLasting, error.message] : error),
    )

  test.each([
    ['another bucket', () => ({ url: `${server.url}/other` }), 'GATEHOUSE_S3_BUCKET'],
    ['an unknown key id', () => ({ accessKeyId: 'nobody' }), 'AWS_ACCESS_KEY_ID'],
    ['another secret', () => ({ secretAccessKey: 'wrong' }), 'AWS_SECRET_ACCESS_KEY'],
    ['an expired token', () => ({ sessionToken: 'old' }), 'AWS_SESSION_TOKEN'],
    ['another region', () => ({ region: 'us-east-1' }), 'GATEHOUSE_S3_REGION'],
  ])('by %s is told at the start and at each use, and names the setting', async (_what, wrong, setting) => {
    const other = open(wrong())
    for (const work of [
      () => probeBucket(other),
      () => other.stat('s3_a'),
      () => other.read('s3_a'),
      () => other.remove('s3_a'),
      () => other.copy('s3_a', '"x"', 's3_b'),
    ])
      expect(await faultOf(work())).toEqual([true, expect.stringContaining(setting)])
  })

  test('of clocks that differ is told as such', async () => {
    server.skewMs = 20 * 60_000
    expect(await faultOf(probeBucket(bucket))).toEqual([true, expect.stringContaining('clocks')])
    expect(await faultOf(bucket.stat('s3_a'))).toEqual([true, expect.stringContaining('clocks')])
  })

  test('of rights that do not tell a missing object from a forbidden one is found at the start', async () => {
    server.mayList = false
    expect(await faultOf(probeBucket(bucket))).toEqual([true, expect.stringContaining('s3:ListBucket')])
  })

  test('of an object store that ignores If-Match is found at the start, and nothing stays there', async () => {
    server.ignores.add('if-match')
    expect(await faultOf(probeBucket(bucket))).toEqual([true, expect.stringContaining('If-Match')])
    expect(server.objects.size).toBe(0)
  })

  test('that passes is repeated, and one that stays is told as passing', async () => {
    let left = 2
    server.fault = () => (left-- > 0 ? 503 : null)
    await expect(probeBucket(bucket)).resolves.toBeUndefined()
    server.fault = () => 500
    expect(await faultOf(bucket.stat('s3_a'))).toEqual([false, 'The object store answered 500.'])
    expect(await faultOf(bucket.read('s3_a'))).toEqual([
      false,
      'The object store answered 500 (InternalError).',
    ])
    server.fault = () => 'cut'
    expect(await faultOf(bucket.remove('s3_a'))).toEqual([false, expect.stringContaining('does not answer')])
  })

  test('of an address where nothing listens is told with the address', async () => {
    const nowhere = open({ url: 'http://127.0.0.1:1/files-of-tests' })
    expect(await faultOf(probeBucket(nowhere))).toEqual([
      false,
      'http://127.0.0.1:1 of GATEHOUSE_S3_ENDPOINT does not answer (ECONNREFUSED).',
    ])
  })

  test('in the middle of a body ends the stream with an error, and never as if it were complete', async () => {
    const etag = await written('s3_a', 'these are many bytes')
    server.fault = (request) => (request.method === 'GET' ? 'cut-body' : null)
    const found = await bucket.read('s3_a', etag)
    await expect(buffer(found!.stream)).rejects.toThrow()
  })
})

test('bytes that change on their way are refused by the object store', async () => {
  const sha256 = createHash('sha256').update('told').digest('hex')
  const put = bucket.put('s3_a', { size: 4, sha256, open: () => Readable.from([Buffer.from('sent')]) })
  await expect(put).rejects.toThrow('The object store answered 400 (XAmzContentSHA256Mismatch).')
  expect(server.objects.size).toBe(0)
})
