/** Files in a bucket: uploaded straight to it, used and downloaded, with the same promises as on the disk. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { sql } from '../../src/store/db/sql.ts'
import { query } from '../../src/store/db/database.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startS3Server } from '../support/s3-server.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

const maxFileBytes = 100_000

const blobDir = await folderForFile()
const s3 = await forFile(startS3Server())
const provider = await forFile(startStrictProvider())
const h = await forFile(
  openHarness({ blobDir, maxFileBytes, maxProjectFileBytes: 250_000, s3: s3.settings() }),
)
const fixtures = await forFile(makeFixtures(h))
await addProvider(h, provider, 'openai', 'files')
afterEach(() => {
  s3.fault = () => null
})

const fileFields = 'id status size sha256 downloadUrl'
const announce = (input: object) => h.mutate('presignUpload', input, `file { ${fileFields} } uploadUrl`)
const put = (url: string, body: string, type = 'text/plain') =>
  fetch(url, { method: 'PUT', body, headers: { 'content-type': type } })
const read = async (id: string) =>
  (await h.gql(`query($id: ID!) { file(id: $id) { ${fileFields} } }`, { id })).data['file']
const rows = <Row extends object>(text: ReturnType<typeof sql>) => query<Row>(h.app.services.db, text)
/** The keys of the bucket that belong to a file. */
const keysOf = (id: string) => [...s3.objects.keys()].filter((key) => key.includes(id))

async function announced(text: string, filename = 'notes.txt') {
  const { file, uploadUrl } = await announce({ filename, contentType: 'text/plain', size: text.length })
  return { id: file.id as string, uploadUrl: uploadUrl as string }
}

async function uploaded(text: string, filename?: string): Promise<string> {
  const { id, uploadUrl } = await announced(text, filename)
  expect((await put(uploadUrl, text)).status).toBe(200)
  return id
}

/** Makes everything that is noted due, and does it. */
async function sweep() {
  await rows(sql`update blob_writes set due_at = now() - interval '1 second', taken_until = null`)
  await h.app.workers!.files.runNow()
}

test('bytes go straight to the bucket, and the file is READY when somebody asks for it', async () => {
  const { id, uploadUrl } = await announced('hello')
  expect(uploadUrl.startsWith(s3.url)).toBe(true)
  expect(await read(id)).toMatchObject({ status: 'PENDING', downloadUrl: null })
  expect((await put(uploadUrl, 'hello')).status).toBe(200)
  const ready = await read(id)
  expect(ready).toMatchObject({ status: 'READY', size: 5, sha256: null })
  const got = await fetch(ready.downloadUrl)
  expect(got.redirected).toBe(true)
  expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''notes.txt")
  expect(await got.text()).toBe('hello')
  const head = await fetch(ready.downloadUrl, { method: 'HEAD' })
  expect([head.status, head.redirected, head.headers.get('content-length')]).toEqual([200, false, '5'])
  const events = await rows<{ type: string }>(
    sql`select type from events where data->>'fileId' = ${id} order by id`,
  )
  expect(events.map(({ type }) => type)).toEqual(['FILE_CREATED', 'FILE_UPLOADED'])
})

test('the size is required, and what the installation or the quota does not allow is refused before any upload', async () => {
  const without = await announce({ filename: 'a', contentType: 'text/plain' })
  expect(without).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'size'], message: 'is required, in bytes: the link takes exactly so many' }],
  })
  const large = await fetch(`${h.url}/api/v1/files/presign-upload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ filename: 'a', content_type: 'text/plain', size: 5_000_000_000 }),
  })
  expect([large.status, (await large.json()).error.message]).toEqual([
    422,
    'input.size: must be at most 100000 bytes',
  ])
  const { project } = await h.mutate('createProject', { name: 'full' }, 'project { id }')
  const ask = () =>
    announce({ projectId: project.id, filename: 'a', contentType: 'text/plain', size: maxFileBytes })
  expect([(await ask())['__typename'], (await ask())['__typename']]).toEqual([
    'PresignUploadPayload',
    'PresignUploadPayload',
  ])
  // Two are announced: a third one would not fit, although no byte has come yet.
  expect(await ask()).toMatchObject({ code: 'LIMITED' })
})

test('a link that is still valid cannot change what was attached', async () => {
  const { id, uploadUrl } = await announced('approved')
  await put(uploadUrl, 'approved')
  const { downloadUrl } = await read(id)
  expect((await put(uploadUrl, 'replaced')).status).toBe(200)
  expect(await (await fetch(downloadUrl)).text()).toBe('approved')
  await sweep()
  expect(keysOf(id)).toHaveLength(1)
  expect(await (await fetch(downloadUrl)).text()).toBe('approved')
})

test('an http tool gets the bytes that were approved, or none: also when someone else writes to the bucket', async () => {
  const config = {
    http: { url: `${fixtures.upstream.url}/send`, inputSchema: objectSchema({ to: { type: 'string' } }) },
  }
  const { tool } = await h.mutate(
    'createTool',
    { name: 'send', gate: { autoApprove: false }, config },
    'tool { id }',
  )
  const seen = () => fixtures.upstream.seen.filter(({ url }) => url === '/send')
  const sent = async (id: string, between: () => void) => {
    const before = seen().length
    const { toolCall } = await h.mutate(
      'callTool',
      { toolId: tool.id, arguments: { to: 'x' }, attachments: [{ fileId: id }] },
      'toolCall { approval { id } }',
    )
    between()
    const approval = { approvalId: toolCall.approval.id, verdict: 'APPROVE' }
    await h.mutate('decideApproval', approval, 'approval { status }')
    const arrived = await vi.waitFor(() => {
      const sends = seen()
      expect(sends.length).toBeGreaterThan(before)
      return sends.at(-1)!
    })
    return JSON.parse(arrived.body).attachments[0].url as string
  }
  const kept = await sent(await uploaded('for you'), () => {})
  expect(await (await fetch(kept)).text()).toBe('for you')
  const id = await uploaded('for you')
  const changed = await sent(id, () => {
    for (const key of keysOf(id)) s3.replace(key, 'for all')
  })
  const refused = await fetch(changed)
  expect([refused.status, (await refused.json()).error.code]).toEqual([404, 'NOT_FOUND'])
  // The object store is away when the tool follows the link.
  const away = await sent(await uploaded('for you'), () => {})
  s3.fault = () => 503
  const later = await fetch(away, { redirect: 'manual' })
  expect([later.status, (await later.json()).error.code]).toEqual([503, 'UNAVAILABLE'])
  s3.fault = () => null
  expect(await (await fetch(away)).text()).toBe('for you')
})

test('files of another project, not uploaded, or with other bytes than announced cannot be attached', async () => {
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const foreign = await announce({ projectId: project.id, filename: 'a', contentType: 'text/plain', size: 6 })
  await put(foreign['uploadUrl'], 'theirs')
  const pending = await announced('never')
  const odd = await announced('12345')
  // An object store that does not check what was signed.
  s3.objects.set(`s3_${odd.id}`, { bytes: Buffer.from('123456'), contentType: 'text/plain', etag: '"x"' })
  const typed = await announced('12345')
  s3.objects.set(`s3_${typed.id}`, { bytes: Buffer.from('12345'), contentType: 'text/html', etag: '"x"' })
  const agentId = await fixtures.agent()
  for (const fileId of [foreign['file'].id, pending.id, odd.id, typed.id]) {
    const start = { agentId, prompt: 'hi', attachments: [{ fileId }] }
    expect(await h.mutate('startGeneration', start, 'generation { id }')).toMatchObject({
      __typename: 'ValidationError',
      issues: [
        { path: ['input', 'attachments', '0', 'fileId'], message: 'names no uploaded file of this project' },
      ],
    })
  }
  expect(keysOf(foreign['file'].id)).toHaveLength(1)
})

test('while the object store is away nothing is half done, and the same request works later', async () => {
  const { id, uploadUrl } = await announced('later')
  await put(uploadUrl, 'later')
  const agentId = await fixtures.agent()
  const start = () =>
    h.mutate(
      'startGeneration',
      { agentId, prompt: 'say ok', attachments: [{ fileId: id }] },
      'generation { id }',
    )
  s3.fault = () => 503
  expect(await read(id)).toMatchObject({ status: 'PENDING' })
  await expect(start()).rejects.toThrow('UNAVAILABLE')
  s3.fault = () => null
  expect(await start()).toMatchObject({ generation: { id: expect.any(String) } })
})

test("the agent's model gets bytes from the bucket, after a fault in the middle of them too", async () => {
  const agentId = await fixtures.agent({ model: 'files/m' })
  const id = await uploaded('the words in it')
  let cuts = 1
  s3.fault = (request) => (request.method === 'GET' && cuts-- > 0 ? 'cut-body' : null)
  provider.script({ text: 'I read it.' })
  const run = await fixtures.start(agentId, 'Read.', { attachments: [{ fileId: id }] })
  expect(await h.until(run, ['COMPLETED', 'FAILED'])).toMatchObject({ output: { text: 'I read it.' } })
  expect(cuts).toBeLessThan(1)
  expect(JSON.stringify(provider.journal.at(-1)!.body)).toContain('the words in it')
  expect(provider.clear()).toBe(0)
})

test('bytes inside a message are put into the bucket, once, and a draft is left nowhere', async () => {
  const bytes = Buffer.from('an image').toString('base64')
  const ask = async () => {
    const content = [
      { type: 'input_text', text: 'say ok' },
      { type: 'input_image', image_url: `data:image/png;base64,${bytes}` },
    ]
    const response = await fetch(`${h.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'plain', input: [{ role: 'user', content }] }),
    })
    return response.status
  }
  await fixtures.agent({ name: 'plain' })
  s3.fault = (request) => (request.method === 'PUT' ? 500 : null)
  expect(await ask()).toBe(503)
  s3.fault = () => null
  expect([await ask(), await ask()]).toEqual([200, 200])
  const stored = await rows<{ id: string; key: string }>(
    sql`select id, blob_key as key from files where content_type = 'image/png'`,
  )
  expect(stored).toHaveLength(1)
  expect(String(s3.objects.get(stored[0]!.key)!.bytes)).toBe('an image')
  expect(await readdir(join(blobDir, 'drafts'))).toEqual([])
})

test('an object whose file was never written, as by a process that was lost before, leaves the bucket', async () => {
  const agentId = await fixtures.agent({ name: 'lost' })
  const before = [...s3.objects.keys()]
  // The time of the key is over when the row is to be written: as after a kill, there is an object and no file.
  s3.fault = async (request) => {
    if (request.method === 'PUT') await rows(sql`update blob_writes set due_at = now() where size = 0`)
    return null
  }
  const image_url = `data:image/png;base64,${Buffer.from('lost').toString('base64')}`
  const content = [
    { type: 'input_text', text: 'say ok' },
    { type: 'input_image', image_url },
  ]
  const input = [{ role: 'user', content }]
  const response = await fetch(`${h.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: agentId, input }),
  })
  expect(response.status).toBe(503)
  s3.fault = () => null
  const left = [...s3.objects.keys()].find((key) => !before.includes(key))
  expect(String(s3.objects.get(left!)!.bytes)).toBe('lost')
  await h.app.workers!.files.runNow()
  expect(s3.objects.has(left!)).toBe(false)
})

test('a query waits some seconds for an object store that hangs, and says what is known', async () => {
  const { id, uploadUrl } = await announced('hangs')
  await put(uploadUrl, 'hangs')
  s3.fault = () => 'hang'
  expect(await read(id)).toMatchObject({ status: 'PENDING' })
  s3.fault = () => null
})

test('an upload that nobody asked for is READY after its time, and what no file has leaves the bucket', async () => {
  const [used, late, gone] = [await announced('used'), await announced('late'), await announced('gone')]
  for (const { uploadUrl, text } of [
    { ...used, text: 'used' },
    { ...late, text: 'late' },
    { ...gone, text: 'gone' },
  ])
    await put(uploadUrl, text)
  await read(used.id)
  await h.mutate('deleteFile', { fileId: gone.id }, 'file { id }')
  await sweep()
  const states = await rows<{ id: string; status: string }>(
    sql`select id, status from files where id in (${used.id}, ${late.id}, ${gone.id}) order by filename, id`,
  )
  expect(states.map(({ status }) => status)).toEqual(['READY', 'READY'])
  expect([keysOf(used.id).length, keysOf(late.id).length, keysOf(gone.id).length]).toEqual([1, 1, 0])
  // What the last look has noted goes in the next round, when a file has it.
  await sweep()
  expect(keysOf(late.id)).toHaveLength(1)
  expect(await rows(sql`select key from blob_writes where file_id in (${used.id}, ${late.id})`)).toEqual([])
})

test('a deleted file leaves the bucket, also when the object store was away', async () => {
  const [one, two] = [await uploaded('one'), await uploaded('two')]
  const links = [(await read(one)).downloadUrl, (await read(two)).downloadUrl]
  await h.mutate('deleteFile', { fileId: one }, 'file { id }')
  s3.fault = () => 503
  await h.mutate('deleteFile', { fileId: two }, 'file { id }')
  s3.fault = () => null
  expect((await Promise.all(links.map((link) => fetch(link)))).map(({ status }) => status)).toEqual([
    404, 404,
  ])
  await sweep()
  expect([...keysOf(one), ...keysOf(two)]).toEqual([])
})

test('of many who ask at once one makes the file READY, with one event', async () => {
  const { id, uploadUrl } = await announced('at once')
  await put(uploadUrl, 'at once')
  const seen = await Promise.all(Array.from({ length: 20 }, () => read(id)))
  expect(new Set(seen.map(({ status }) => status))).toEqual(new Set(['READY']))
  const events = await rows(
    sql`select 1 from events where data->>'fileId' = ${id} and type = 'FILE_UPLOADED'`,
  )
  expect(events).toHaveLength(1)
})

test('a process that was suspended while it copied gives no file a key whose time is over', async () => {
  const { id, uploadUrl } = await announced('slow')
  await put(uploadUrl, 'slow')
  s3.fault = async (request) => {
    if (request.headers['x-amz-copy-source'] === undefined) return null
    await rows(sql`update blob_writes set due_at = now() where file_id = ${id} and key <> ${`s3_${id}`}`)
    return null
  }
  expect(await read(id)).toMatchObject({ status: 'PENDING' })
  s3.fault = () => null
  expect(await read(id)).toMatchObject({ status: 'READY' })
  await sweep()
  expect(keysOf(id)).toHaveLength(1)
})
