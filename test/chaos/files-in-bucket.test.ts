/** Files in a bucket, with servers that are processes: killed while files move, backed up, restored, and started wrongly. */
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { command } from '../cli/command.ts'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { embeddedDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { startS3Server, type S3Server } from '../support/s3-server.ts'

const key = 'gh_bucket_operator_012345678901234567890123456789012345'
const closers: (() => unknown)[] = []
let s3: S3Server

beforeEach(async () => {
  s3 = await startS3Server()
  closers.push(() => s3.close())
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Settings of a server with folders of its own. */
async function newPlace() {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bucket-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  return {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LOG_LEVEL: 'info',
    GATEHOUSE_DATA_DIR: dataDir,
  }
}

const bucketSettings = () => ({
  GATEHOUSE_S3_BUCKET: s3.settings().bucket,
  GATEHOUSE_S3_ENDPOINT: s3.url,
  GATEHOUSE_S3_REGION: s3.identity.region,
  AWS_ACCESS_KEY_ID: s3.identity.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.identity.secretAccessKey,
})

async function serverIn(settings: Record<string, string>): Promise<Replica> {
  const replica = startReplica((await buildServer()).entry, settings)
  closers.push(() => replica.kill())
  await replica.ready
  return replica
}

async function upload(url: string, text: string): Promise<string> {
  const input = { filename: 'a.txt', contentType: 'text/plain', size: text.length }
  const made = await mutate(url, key, 'presignUpload', input, 'file { id } uploadUrl')
  const headers = { 'content-type': 'text/plain' }
  expect((await fetch(made['uploadUrl'], { method: 'PUT', headers, body: text })).ok).toBe(true)
  return made['file'].id
}

async function textOf(url: string, id: string): Promise<string> {
  const { data } = await ask(url, key, 'query($id: ID!) { file(id: $id) { downloadUrl } }', { id })
  return (await fetch(data['file'].downloadUrl)).text()
}

test('a server that is killed in the middle of the move has lost nothing, and the next one goes on', async () => {
  const settings = await newPlace()
  await embeddedDatabase(settings.GATEHOUSE_DATA_DIR)
  const before = await serverIn(settings)
  const texts = Array.from({ length: 6 }, (_, i) => `text ${i}`)
  const ids: string[] = []
  for (const text of texts) ids.push(await upload(before.url, text))
  await before.stop()
  const onDisk = () =>
    readdirSync(join(settings.GATEHOUSE_DATA_DIR, 'blobs'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.includes('file_'),
    )
  // Killed at the third object, then at the first one that must be proved to be there, then not any more.
  for (const [method, nth] of [
    ['PUT', 3],
    ['HEAD', 2],
  ] as const) {
    let left: number = nth
    let killed: Replica | null = null
    s3.fault = async (request, of) => {
      if (request.method !== method || !of.startsWith('s3_file_') || --left > 0) return null
      await killed?.kill()
      return 'cut'
    }
    killed = startReplica((await buildServer()).entry, { ...settings, ...bucketSettings() })
    closers.push(() => killed?.kill())
    await killed.exited
    expect(onDisk().length).toBeGreaterThan(0)
  }
  s3.fault = () => null
  const last = await serverIn({ ...settings, ...bucketSettings() })
  for (const [i, id] of ids.entries()) expect(await textOf(last.url, id)).toBe(texts[i])
  await vi.waitFor(() => expect(onDisk()).toEqual([]), { timeout: 90_000, interval: 50 })
  for (const [i, id] of ids.entries()) expect(await textOf(last.url, id)).toBe(texts[i])
}, 360_000)

test('a backup says that the files of the bucket are not in it, and a restore needs the bucket', async () => {
  const settings = { ...(await newPlace()), ...bucketSettings() }
  await embeddedDatabase(settings.GATEHOUSE_DATA_DIR)
  const server = await serverIn(settings)
  const id = await upload(server.url, 'in the bucket')
  expect(await textOf(server.url, id)).toBe('in the bucket')
  const folder = join(settings.GATEHOUSE_DATA_DIR, 'copy')
  const backup = await command(['backup', folder], settings)
  expect([await backup.ended, backup.err()]).toEqual([0, ''])
  expect(backup.out()).toContain(`The files in the bucket ${s3.settings().bucket} are not in it`)
  await server.stop()
  const target = await newPlace()
  const refused = await command(['restore', folder], target)
  expect(await refused.ended).toBe(1)
  expect(refused.err()).toContain('GATEHOUSE_S3_BUCKET is required')
  const restored = await command(['restore', folder], { ...target, ...bucketSettings() })
  expect([await restored.ended, restored.err()]).toEqual([0, ''])
  const again = await serverIn({ ...target, ...bucketSettings() })
  expect(await textOf(again.url, id)).toBe('in the bucket')
}, 360_000)

test('a server that cannot use its bucket ends with one sentence; while the bucket is only away it starts', async () => {
  const settings = { ...(await newPlace()), ...bucketSettings() }
  await embeddedDatabase(settings.GATEHOUSE_DATA_DIR)
  const wrong = startReplica((await buildServer()).entry, { ...settings, AWS_SECRET_ACCESS_KEY: 'wrong' })
  closers.push(() => wrong.kill())
  expect((await wrong.exited).code).toBe(1)
  expect(wrong.output()).toContain('The object store does not accept the credentials')
  expect(wrong.output()).not.toContain('    at ')
  s3.fault = () => 503
  const server = await serverIn(settings)
  expect(server.output()).toContain('the bucket of files does not answer')
  s3.fault = () => null
  expect(await textOf(server.url, await upload(server.url, 'later'))).toBe('later')
}, 360_000)
