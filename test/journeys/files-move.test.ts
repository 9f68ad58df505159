/** Files move from the disk to a bucket while they are served: none is lost, and each is where its row says. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { openFile } from '../../src/domain/files/index.ts'
import { moveToBucket } from '../../src/domain/files/bucket-keys.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startS3Server, type S3Server } from '../support/s3-server.ts'

let s3: S3Server
let blobDir: string
let database: Awaited<ReturnType<typeof postgresDatabase>>
const opened: Harness[] = []

async function open(withBucket: boolean): Promise<Harness> {
  const config = { blobDir, databaseUrl: database.url, ...(withBucket ? { s3: s3.settings() } : {}) }
  const h = await openHarness({ ...config, role: 'api' })
  opened.push(h)
  return h
}

beforeEach(async () => {
  s3 = await startS3Server()
  blobDir = await mkdtemp(join(tmpdir(), 'gatehouse-move-'))
  database = await postgresDatabase()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((h) => h.stop()))
  await Promise.all([s3?.close(), database?.drop()])
  await rm(blobDir, { recursive: true, force: true })
})

async function upload(h: Harness, text: string): Promise<string> {
  const input = { filename: 'a.txt', contentType: 'text/plain', size: text.length }
  const { file, uploadUrl } = await h.mutate('presignUpload', input, 'file { id } uploadUrl')
  const sent = await fetch(uploadUrl, {
    method: 'PUT',
    body: text,
    headers: { 'content-type': 'text/plain' },
  })
  expect(sent.ok).toBe(true)
  return file.id
}

const linkOf = async (h: Harness, id: string) =>
  (await h.gql('query($id: ID!) { file(id: $id) { downloadUrl sha256 } }', { id })).data['file']
const onDisk = () =>
  readdirSync(blobDir, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('file_'))
const never = () => false
const move = (h: Harness) => moveToBucket(h.app.services, never)

test.skipIf(!hasPostgres)(
  'links go on through the move by two replicas at once, and the disk is empty afterwards',
  async () => {
    const before = await open(false)
    const texts = Array.from({ length: 20 }, (_, i) => `${i} ${randomBytes(500).toString('hex')}`)
    const ids: string[] = []
    for (const text of texts) ids.push(await upload(before, text))
    const replicas = [await open(true), await open(true)]
    const links = await Promise.all(ids.map((id) => linkOf(replicas[0]!, id)))
    let over = false
    let reads = 0
    const reading = (async () => {
      for (let i = 0; !over || i < ids.length * 2; i++) {
        const at = i % ids.length
        const url = links[at]!.downloadUrl.replace(replicas[0]!.url, replicas[i % 2]!.url)
        expect(await (await fetch(url)).text()).toBe(texts[at])
        reads++
      }
    })()
    const done = await Promise.all(replicas.map(move))
    over = true
    await reading
    expect(reads).toBeGreaterThan(20)
    expect(done.reduce((sum, { faulty }) => sum + faulty, 0)).toBe(0)
    expect(onDisk()).toEqual([])
    // Each file has one object; what the slower replica copied is removed.
    const { db } = replicas[0]!.app.services
    const keys = await query<{ key: string }>(db, sql`select blob_key as key from files order by 1`)
    expect([...s3.objects.keys()].toSorted()).toEqual(keys.map(({ key }) => key))
    // What was given with the file is as it was.
    expect((await linkOf(replicas[0]!, ids[0]!)).sha256).toBe(links[0]!.sha256)
  },
)

/** Each step of a move, and what was left when the process was lost there. */
const steps = [
  ['before the object', 'PUT'],
  ['before the row', 'row'],
  ['before the disk', 'HEAD'],
] as const

test.skipIf(!hasPostgres).each(steps)(
  'a move that ends %s is gone on with, and the file can be read all the time',
  async (_when, step) => {
    const h = await open(false)
    const id = await upload(h, 'precious')
    const moving = await open(true)
    const { services } = moving.app
    let breaks = true
    s3.fault = async (request, key) => {
      if (!breaks || !key.includes(id)) return null
      if (request.method !== step) {
        // The answer to the PUT is lost, and the time of the key is over before the row is written.
        if (step === 'row') await query(services.db, sql`update blob_writes set due_at = now()`)
        return null
      }
      return 500
    }
    await expect(move(moving)).rejects.toThrow()
    breaks = false
    const { downloadUrl } = await linkOf(moving, id)
    expect(await (await fetch(downloadUrl)).text()).toBe('precious')
    expect(await move(moving)).toMatchObject({ moved: 1, faulty: 0 })
    expect(await (await fetch(downloadUrl)).text()).toBe('precious')
    expect(onDisk()).toEqual([])
  },
)

test.skipIf(!hasPostgres)(
  'bytes that are not those of the file stay on the disk and are told, and so does what no file has',
  async () => {
    const h = await open(false)
    const [bad, good] = [await upload(h, 'as it was'), await upload(h, 'is good')]
    await writeFile(
      join(
        blobDir,
        onDisk().find((path) => path.includes(bad))!,
      ),
      'corrupted',
    )
    await h.app.services.blobs.disk
      .write(
        (async function* () {
          yield Buffer.from('of nobody')
        })(),
        100,
      )
      .then((draft) => draft!.keep('file_0mww00000unknown_00ff'))
    const moving = await open(true)
    expect(await move(moving)).toEqual({ moved: 1, left: 1, faulty: 1 })
    expect(onDisk()).toHaveLength(2)
    expect(await (await fetch((await linkOf(moving, good)).downloadUrl)).text()).toBe('is good')
  },
)

test.skipIf(!hasPostgres)('a file that is deleted while it moves is gone from both places', async () => {
  const h = await open(false)
  const id = await upload(h, 'going')
  const moving = await open(true)
  s3.fault = async (request, key) => {
    if (request.method === 'PUT' && key.includes(id))
      await h.mutate('deleteFile', { fileId: id }, 'file { id }')
    return null
  }
  await move(moving)
  expect([onDisk(), [...s3.objects.keys()]]).toEqual([[], []])
})

test.skipIf(!hasPostgres)(
  'a replica without the bucket says that it cannot tell, and not that a file is gone',
  async () => {
    const without = await open(false)
    const id = await upload(without, 'moved')
    await move(await open(true))
    const input = { filename: 'a', contentType: 'text/plain', size: 1 }
    const { file } = await opened[1]!.mutate('presignUpload', input, 'file { id }')
    const agent = await without.mutate('createAgent', { name: 'a' }, 'agent { id }')
    const start = { agentId: agent['agent'].id, prompt: 'hi', attachments: [{ fileId: file.id }] }
    await expect(without.mutate('startGeneration', start, 'generation { id }')).rejects.toThrow('UNAVAILABLE')
    const answer = await fetch((await linkOf(without, id)).downloadUrl)
    expect([answer.status, (await answer.json()).error.code]).toEqual([503, 'UNAVAILABLE'])
    await expect(openFile(without.app.services, id)).rejects.toThrow('GATEHOUSE_S3_BUCKET is not set')
  },
)
