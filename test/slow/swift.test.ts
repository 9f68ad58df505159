/** Files in OpenStack Swift: what its S3 API takes and refuses, so that the promises do not rest on a server of our own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import type { Bucket } from '../../src/store/blobs/blobs.ts'
import { s3Bucket, probeBucket } from '../../src/store/blobs/s3/bucket.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { hasSwift, startSwift, type Swift } from '../support/swift.ts'

describe.skipIf(!hasSwift)('with OpenStack Swift', () => {
  let swift: Swift
  let bucket: Bucket
  let h: Harness
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-in-swift-'))
    swift = await startSwift()
    bucket = s3Bucket(swift.settings(), { draftFolder: folder })
    h = await openHarness({ blobDir: folder, s3: swift.settings() })
  }, 360_000)
  afterAll(async () => {
    await h?.stop()
    await bucket?.close()
    await swift?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const put = (url: string, body: string, type = 'text/csv') =>
    fetch(url, { method: 'PUT', body, headers: { 'content-type': type } })
  const linked = (seconds = 900) => bucket.uploadLink('s3_a', { contentType: 'text/csv', size: 5, seconds })

  test('the bucket is found fit for files', async () => {
    await expect(probeBucket(bucket)).resolves.toBeUndefined()
  })

  test('bytes are written, read by their ETag, copied and removed', async () => {
    const draft = (await bucket.write(Readable.from([Buffer.from('bytes')]), 100))!
    const etag = (await draft.keep('s3_b'))!
    await draft.drop()
    expect(String(await buffer((await bucket.read('s3_b', etag))!.stream))).toBe('bytes')
    expect(await bucket.read('s3_b', '"00000000000000000000000000000000"')).toBeNull()
    expect(await bucket.copy('s3_b', etag, 's3_c')).toBe(true)
    expect(await bucket.copy('s3_none', etag, 's3_d')).toBe(false)
    expect(await bucket.copy('s3_b', '"00000000000000000000000000000000"', 's3_d')).toBe(false)
    await bucket.remove('s3_b')
    await bucket.remove('s3_b')
    expect([await bucket.stat('s3_b'), (await bucket.stat('s3_c'))?.size]).toEqual([null, 5])
  })

  test.each([
    ['a longer body', async (url: string) => put(url, '1,2,3,4')],
    ['a shorter body', async (url: string) => put(url, '1,2')],
    ['another type', async (url: string) => put(url, '1,2,3', 'text/html')],
    ['another key', async (url: string) => put(url.replace('/s3_a?', '/s3_x?'), '1,2,3')],
    ['a longer time', async (url: string) => put(url.replace('Expires=900', 'Expires=90000'), '1,2,3')],
    ['another method', async (url: string) => fetch(url)],
  ])('a link for an upload takes nothing with %s', async (_what, send) => {
    expect((await send(await linked())).status).toBe(403)
    expect(await bucket.stat('s3_a')).toBeNull()
  })

  test.each([
    ['another secret', { secretAccessKey: 'wrong' }, 'AWS_SECRET_ACCESS_KEY'],
    ['another bucket', { url: '' }, 'GATEHOUSE_S3_BUCKET'],
  ])('%s is told in a sentence', async (_what, wrong, setting) => {
    const settings = swift.settings(wrong)
    if (settings.url === '') settings.url = swift.settings().url.replace('files-of-tests', 'nowhere')
    const other = s3Bucket(settings, { draftFolder: folder })
    await expect(probeBucket(other)).rejects.toThrow(setting)
    await other.close()
  })

  test('a file is uploaded straight to it, pinned, downloaded, and only its own bytes stay', async () => {
    const input = { filename: 'é.csv', contentType: 'text/csv', size: 5 }
    const { file, uploadUrl } = await h.mutate('presignUpload', input, 'file { id } uploadUrl')
    expect((await put(uploadUrl, '1,2,3')).status).toBe(200)
    const asked = await h.gql('query($id: ID!) { file(id: $id) { status size downloadUrl } }', {
      id: file.id,
    })
    expect(asked.data['file']).toMatchObject({ status: 'READY', size: 5 })
    expect((await put(uploadUrl, '3,2,1')).status).toBe(200)
    const got = await fetch(asked.data['file'].downloadUrl)
    expect([got.headers.get('content-type'), await got.text()]).toEqual(['text/csv', '1,2,3'])
    expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''%C3%A9.csv")
    await query(h.app.services.db, sql`update blob_writes set due_at = now() - interval '1 second'`)
    await h.app.workers!.files.runNow()
    expect(await bucket.stat(`s3_${file.id}`)).toBeNull()
    expect(await (await fetch(asked.data['file'].downloadUrl)).text()).toBe('1,2,3')
  })
})
