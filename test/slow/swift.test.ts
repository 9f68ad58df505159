/** Files in OpenStack Swift: what its S3 API takes and refuses, so that the promises do not rest on a server of our own. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import type { Bucket } from '../../src/store/blobs/blobs.ts'
import { probeBucket, s3Bucket } from '../../src/store/blobs/s3/bucket.ts'
import { type Harness, openHarness } from '../support/harness.ts'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { s3Requests, type S3Settings } from '../../src/store/blobs/s3/requests.ts'

/** OpenStack Swift with its S3 API, as Debian packages it: an object store that somebody else has written. */
const servers = ['account', 'container', 'object'] as const

/** Whether it is installed: apt-get install swift-proxy swift-account swift-container swift-object. */
const hasSwift = [...servers, 'proxy'].every((name) => existsSync(`/usr/bin/swift-${name}-server`))
if (!hasSwift) console.warn('SKIPPED LOUDLY: no OpenStack Swift; what it judges does not run.')

interface Swift {
  settings(more?: Partial<S3Settings>): S3Settings
  stop(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts it on free ports, with one bucket, below the folder of temporary files. */
async function startSwift(): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-swift-'))
  const running: ChildProcess[] = []
  const exits: Promise<unknown>[] = []
  const stop = async () => {
    for (const child of running) child.kill('SIGKILL')
    await Promise.all(exits)
    await rm(folder, { recursive: true, force: true })
  }
  const common = (port: number) =>
    `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nworkers = 0\nuser = ${userInfo().username}\n` +
    `swift_dir = ${folder}\ndevices = ${folder}/disks\nmount_check = false\n`
  const start = async (name: string, port: number, rest: string) => {
    const path = join(folder, `${name}.conf`)
    await writeFile(path, `${common(port)}${rest}`)
    const child = spawn(`/usr/bin/swift-${name}-server`, [path], { stdio: 'ignore' })
    running.push(child)
    exits.push(new Promise((resolve) => child.once('exit', resolve)))
  }
  try {
    await mkdir(join(folder, 'disks', 'd1'), { recursive: true })
    for (const name of servers) {
      const port = await freePort()
      const ring = (...args: string[]) =>
        execFileSync('/usr/bin/swift-ring-builder', [join(folder, `${name}.builder`), ...args])
      ring('create', '4', '1', '1')
      ring('add', `r1z1-127.0.0.1:${port}/d1`, '1')
      ring('rebalance')
      await start(
        name,
        port,
        `[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`,
      )
    }
    const port = await freePort()
    await start('proxy', port, proxy)
    const url = `http://127.0.0.1:${port}`
    const settings: Swift['settings'] = (more = {}) => ({ ...identity, ...placeOf(url), ...more })
    await makeBucket(settings())
    return { settings, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const bucketName = 'files-of-tests'
const placeOf = (url: string) => ({
  bucket: bucketName,
  url: `${url}/${bucketName}`,
  publicUrl: `${url}/${bucketName}`,
})
const identity = {
  region: 'eu-central-1',
  accessKeyId: 'test:tester',
  secretAccessKey: 'testing',
  sessionToken: null,
}

const proxy = `[pipeline:main]
pipeline = catch_errors gatekeeper cache s3api tempauth copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = eu-central-1
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
`

async function makeBucket(settings: S3Settings): Promise<void> {
  const requests = s3Requests(settings)
  try {
    await vi.waitFor(() => requests.send({ method: 'PUT', key: '' }), { timeout: 120_000, interval: 500 })
  } finally {
    await requests.close()
  }
}

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
