/** Two uploads by one link while the process of one is frozen, and a link whose first upload was aborted. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'

let h: Harness
let blobDir: string
let database: { url: string; drop(): Promise<void> }

beforeAll(async () => {
  if (!hasPostgres) return
  blobDir = await mkdtemp(join(tmpdir(), 'gatehouse-frozen-'))
  database = await postgresDatabase()
  h = await openHarness({ blobDir, databaseUrl: database.url })
})
afterAll(async () => {
  await h?.stop()
  await database?.drop()
  if (blobDir) await rm(blobDir, { recursive: true, force: true })
})

const announce = async () => {
  const input = { filename: 'a.txt', contentType: 'text/plain' }
  return h.mutate('presignUpload', input, 'file { id } uploadUrl')
}
const put = (url: string, body: string) =>
  fetch(url, { method: 'PUT', body, headers: { 'content-type': 'text/plain' } })
const read = async (id: string) =>
  (await h.gql('query($id: ID!) { file(id: $id) { status size sha256 downloadUrl } }', { id })).data['file']

async function expectWhole(id: string, text: string) {
  const { status, size, sha256, downloadUrl } = await read(id)
  expect(await (await fetch(downloadUrl)).text()).toBe(text)
  expect([status, size, sha256]).toEqual([
    'READY',
    text.length,
    createHash('sha256').update(text).digest('hex'),
  ])
}

/** The next upload stops before it moves its bytes into place, until `thaw`. */
function freezeNext(): { frozen: Promise<void>; thaw(): void } {
  const { blobs } = h.app.services
  const write = blobs.write.bind(blobs)
  let freeze = () => {}
  let thaw = () => {}
  const frozen = new Promise<void>((resolve) => (freeze = resolve))
  const thawed = new Promise<void>((resolve) => (thaw = resolve))
  blobs.write = async (source, maxBytes) => {
    blobs.write = write
    const draft = await write(source, maxBytes)
    return (
      draft && {
        ...draft,
        async keep(key) {
          freeze()
          await thawed
          return draft.keep(key)
        },
        // A frozen process cleans up nothing.
        async drop() {
          await thawed
          await draft.drop()
        },
      }
    )
  }
  return { frozen, thaw: () => thaw() }
}

test.skipIf(!hasPostgres)(
  'an upload whose transaction ended while it was frozen changes nothing of the other one',
  async () => {
    const { file, uploadUrl } = await announce()
    const first = freezeNext()
    const late = put(uploadUrl, 'from the frozen one')
    await first.frozen
    const own = postgres(database.url, { max: 1, onnotice: () => {} })
    await own`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`
    expect((await put(uploadUrl, 'from the other')).status).toBe(201)
    first.thaw()
    expect((await late).status).toBeGreaterThanOrEqual(400)
    await expectWhole(file.id, 'from the other')
    await own.end()
  },
)

test.skipIf(!hasPostgres)('an aborted upload leaves the link usable', async () => {
  const { file, uploadUrl } = await announce()
  await new Promise<void>((resolve) => {
    const broken = request(uploadUrl, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain', 'content-length': 1000 },
    })
    broken.on('error', () => resolve())
    broken.write('half', () => broken.destroy())
  })
  expect(await read(file.id)).toMatchObject({ status: 'PENDING' })
  expect((await put(uploadUrl, 'the whole')).status).toBe(201)
  await expectWhole(file.id, 'the whole')
})
