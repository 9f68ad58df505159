/** Files: created, uploaded and downloaded by signed links; attached to calls, messages and MCP requests. */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepBlobs } from '../../src/domain/files/worker.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { callRaw } from '../support/bridge.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

/** The limit for one file, in bytes. */
const maxFileBytes = 100_000
let now = Date.now()

const blobDir = await folderForFile()
const provider = await forFile(startStrictProvider())
const h = await forFile(openHarness({ blobDir, maxFileBytes }, { clock: { now: () => now } } as never))
const fixtures = await forFile(makeFixtures(h))

const fileFields = 'id status size sha256 filename contentType downloadUrl'
const announce = (input: object, key?: string) =>
  h.mutate('presignUpload', input, `file { ${fileFields} } uploadUrl expiresAt`, key)
const put = (url: string, body: string | Uint8Array | ReadableStream, type = 'text/plain') =>
  fetch(url, { method: 'PUT', body, headers: { 'content-type': type }, duplex: 'half' } as RequestInit)

/** Uploads a text file; returns its id. */
async function uploaded(text: string, filename = 'notes.txt'): Promise<string> {
  const { file, uploadUrl } = await announce({ filename, contentType: 'text/plain' })
  expect((await put(uploadUrl, text)).status).toBe(201)
  return file.id
}

const read = async (id: string) =>
  (await h.gql(`query($id: ID!) { file(id: $id) { ${fileFields} } }`, { id })).data['file']

test('a file is created, uploaded with PUT once, and downloaded byte for byte', async () => {
  const { file, uploadUrl } = await announce({ filename: 'São Paulo.txt', contentType: 'text/plain' })
  expect(file).toMatchObject({ status: 'PENDING', size: null, downloadUrl: null })
  const brought = await put(uploadUrl, 'olá')
  expect([brought.status, await brought.json()]).toMatchObject([201, { file_id: file.id, size: 4 }])
  const ready = await read(file.id)
  expect(ready).toMatchObject({ status: 'READY', size: 4, filename: 'São Paulo.txt' })
  const got = await fetch(ready.downloadUrl)
  expect(await got.text()).toBe('olá')
  expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''S%C3%A3o%20Paulo.txt")
  expect(got.headers.get('x-content-type-options')).toBe('nosniff')
  expect(got.headers.get('content-security-policy')).toContain('sandbox')
  const again = await put(uploadUrl, 'other')
  expect([again.status, (await again.json()).error.code]).toEqual([409, 'CONFLICT'])
  expect(await (await fetch(ready.downloadUrl)).text()).toBe('olá')
  expect((await fetch(ready.downloadUrl, { method: 'HEAD' })).headers.get('content-length')).toBe('4')
})

test('of two simultaneous uploads by one link one is taken, with its own hash', async () => {
  for (let round = 0; round < 10; round++) {
    const { file, uploadUrl } = await announce({ filename: 'a.txt', contentType: 'text/plain' })
    const texts = ['a'.repeat(50_000), 'b'.repeat(40_000), 'c'.repeat(30_000)]
    const answers = await Promise.all(texts.map((text) => put(uploadUrl, text)))
    const statuses = answers.map((answer) => answer.status)
    expect(statuses.toSorted()).toEqual([201, 409, 409])
    const taken = texts[statuses.indexOf(201)]!
    const { size, sha256, downloadUrl } = await read(file.id)
    expect(await (await fetch(downloadUrl)).text()).toBe(taken)
    expect([size, sha256]).toEqual([taken.length, createHash('sha256').update(taken).digest('hex')])
  }
  expect(await readdir(join(blobDir, 'drafts'))).toEqual([])
})

test('POST /api/v1/files/presign-upload with a key returns the upload URL', async () => {
  const ask = (body: unknown, key: string | null = adminKey) =>
    fetch(`${h.url}/api/v1/files/presign-upload`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify(body),
    })
  const answer = await ask({ filename: 'q3.pdf', content_type: 'application/pdf', size: 3 })
  expect(answer.status).toBe(201)
  const made = await answer.json()
  expect(made).toMatchObject({ method: 'PUT', headers: { 'content-type': 'application/pdf' } })
  expect((await put(made.upload_url, 'pdf', 'application/pdf')).status).toBe(201)
  expect(await read(made.file_id)).toMatchObject({ status: 'READY', filename: 'q3.pdf' })
  expect((await ask({ filename: 'x' }, null)).status).toBe(401)
  const faulty = await ask({ filename: '../etc/passwd', content_type: 'text/plain' })
  expect([faulty.status, (await faulty.json()).error.message]).toEqual([
    422,
    'input.filename: must be a file name without slashes, control characters and bidirectional control characters',
  ])
  expect((await ask('no object')).status).toBe(422)
  expect((await fetch(`${h.url}/api/v1/files/presign-upload`)).status).toBe(405)
})

test('a link is valid for its file, its method and its time, and for nothing else', async () => {
  const { file, uploadUrl } = await announce({ filename: 'a.txt', contentType: 'text/plain' })
  const other = await announce({ filename: 'b.txt', contentType: 'text/plain' })
  expect((await fetch(uploadUrl)).status).toBe(403)
  expect((await put(uploadUrl.replace(file.id, other['file'].id), 'x')).status).toBe(403)
  expect((await put(uploadUrl.replace(/expires=\d+/, 'expires=99999999999'), 'x')).status).toBe(403)
  const forged = uploadUrl.replace(
    /signature=./,
    uploadUrl.includes('signature=_') ? 'signature=-' : 'signature=_',
  )
  expect((await put(forged, 'x')).status).toBe(403)
  expect((await put(uploadUrl.split('?')[0]!, 'x')).status).toBe(403)
  now += 16 * 60 * 1000
  const late = await put(uploadUrl, 'x')
  expect([late.status, (await late.json()).error.code]).toEqual([410, 'EXPIRED'])
  now = Date.now()
  expect((await put(uploadUrl, 'x', 'image/png')).status).toBe(422)
  expect(await read(file.id)).toMatchObject({ status: 'PENDING' })
  expect((await put(uploadUrl, 'x')).status).toBe(201)
})

test('a file that is too large is refused, declared or detected, and leaves nothing on the disk', async () => {
  const before = (await readdir(blobDir, { recursive: true })).filter((path) => path.includes('file_')).length
  const told = await announce({ filename: 'a', contentType: 'text/plain', size: maxFileBytes + 1 })
  expect(told).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'size'] }] })
  const { uploadUrl } = await announce({ filename: 'a', contentType: 'text/plain' })
  const large = 'x'.repeat(maxFileBytes + 1)
  const stream = new Blob([large]).stream()
  expect((await put(uploadUrl, stream)).status).toBe(413)
  const paths = await readdir(blobDir, { recursive: true })
  expect(paths.filter((path) => path.includes('file_'))).toHaveLength(before)
  expect((await put(uploadUrl, large.slice(1))).status).toBe(201)
})

test.each(['text/html', 'application/javascript', 'image/svg+xml'])(
  '%s is not accepted',
  async (contentType) => {
    const refused = await announce({ filename: 'page', contentType })
    expect(refused).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'contentType'] }],
    })
  },
)

test('an http tool gets links to the files of its call, and approvers see which they are', async () => {
  const { tool } = await h.mutate(
    'createTool',
    {
      name: 'send',
      gate: { autoApprove: false },
      config: {
        http: { url: `${fixtures.upstream.url}/send`, inputSchema: objectSchema({ to: { type: 'string' } }) },
      },
    },
    'tool { id }',
  )
  const fileId = await uploaded('for you')
  const attachments = [{ fileId, filename: 'renamed.txt' }]
  const { toolCall } = await h.mutate(
    'callTool',
    { toolId: tool.id, arguments: { to: 'x' }, attachments },
    'toolCall { id attachments { id } approval { id arguments } }',
  )
  expect(toolCall.attachments).toEqual([{ id: fileId }])
  const asked = [{ file_id: fileId, filename: 'renamed.txt', content_type: 'text/plain' }]
  expect(toolCall.approval.arguments).toEqual({ to: 'x', attachments: asked })
  const settled = fixtures.upstream.nextRequest
  const arrived = (async () => {
    while (!fixtures.upstream.seen.some((seen) => seen.url === '/send')) await settled()
    return fixtures.upstream.seen.find((seen) => seen.url === '/send')!
  })()
  // An edit changes the arguments only: the files stay.
  const decided = await h.mutate(
    'decideApproval',
    { approvalId: toolCall.approval.id, verdict: 'APPROVE', arguments: { to: 'y' } },
    'approval { arguments }',
  )
  expect(decided['approval'].arguments).toEqual({ to: 'y', attachments: asked })
  const sent = JSON.parse((await arrived).body)
  expect(sent).toMatchObject({ to: 'y', attachments: asked })
  expect(await (await fetch(sent.attachments[0].url)).text()).toBe('for you')
})

test('files of another project, without bytes, unknown, or for a tool without attachments are refused', async () => {
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const foreign = await announce({ projectId: project.id, filename: 'a.txt', contentType: 'text/plain' })
  await put(foreign['uploadUrl'], 'theirs')
  const pending = await announce({ filename: 'a.txt', contentType: 'text/plain' })
  const agentId = await fixtures.agent()
  for (const fileId of [foreign['file'].id, pending['file'].id, 'file_unknown']) {
    const start = { agentId, prompt: 'hi', attachments: [{ fileId }] }
    const refused = await h.mutate('startGeneration', start, 'generation { id }')
    expect(refused).toMatchObject({
      __typename: 'ValidationError',
      issues: [
        { path: ['input', 'attachments', '0', 'fileId'], message: 'names no uploaded file of this project' },
      ],
    })
  }
  const many = Array.from({ length: 21 }, () => ({ fileId: 'file_x' }))
  const tooMany = await h.mutate(
    'startGeneration',
    { agentId, prompt: 'hi', attachments: many },
    'generation { id }',
  )
  expect(tooMany).toMatchObject({ __typename: 'ValidationError' })
  const own = objectSchema({ attachments: { type: 'array' } })
  const { tool } = await h.mutate(
    'createTool',
    { name: 'own', config: { http: { url: `${fixtures.upstream.url}/own`, inputSchema: own } } },
    'tool { id }',
  )
  const fileId = await uploaded('mine')
  const refused = await h.mutate(
    'callTool',
    { toolId: tool.id, attachments: [{ fileId }] },
    'toolCall { id }',
  )
  expect(refused).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'attachments'] }],
  })
})

test("the agent's model gets the files of a message, and a note for a deleted one", async () => {
  await addProvider(h, provider, 'openai', 'files')
  const agentId = await fixtures.agent({ model: 'files/m' })
  const [kept, gone] = [await uploaded('the words in it'), await uploaded('soon gone', 'gone.txt')]
  await h.mutate('deleteFile', { fileId: gone }, 'file { id }')
  const refused = await h.mutate(
    'startGeneration',
    { agentId, prompt: 'Read.', attachments: [{ fileId: gone }] },
    'generation { id }',
  )
  expect(refused['__typename']).toBe('ValidationError')
  provider.script({ text: 'I read it.' })
  const id = await fixtures.start(agentId, 'Read.', { attachments: [{ fileId: kept }] })
  expect((await h.until(id, ['COMPLETED', 'FAILED']))['output'].text).toBe('I read it.')
  const { body, fault } = provider.journal.at(-1)!
  expect(fault).toBeNull()
  expect(JSON.stringify(body)).toContain('the words in it')
  // The row contains the reference and not the bytes.
  await h.mutate('deleteFile', { fileId: kept }, 'file { id }')
  provider.script({ text: 'It is gone.' })
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { threadId } }', { id })
  const next = await fixtures.start(agentId, 'Again.', { threadId: data['generation'].threadId })
  await h.until(next, ['COMPLETED', 'FAILED'])
  expect(JSON.stringify(provider.journal.at(-1)!.body)).toContain('[file notes.txt: no longer available]')
  expect(provider.clear()).toBe(0)
})

test('attachments of tools/call reach the tool and the agent itself', async () => {
  const config = {
    http: { url: `${fixtures.upstream.url}/mcp-send`, inputSchema: objectSchema({ to: { type: 'string' } }) },
  }
  const { tool } = await h.mutate('createTool', { name: 'mail', config }, 'tool { id }')
  const agentId = await fixtures.agent({ name: 'postman', toolIds: [tool.id], mcp: { enabled: true } })
  const fileId = await uploaded('through the bridge')
  const attachments = [{ file_id: fileId, filename: 'q3.txt' }]
  const url = `${h.url}/mcp/${agentId}`
  const called = await callRaw(url, adminKey, 'mail', { to: 'x', attachments })
  expect(called.body['result'].isError).toBe(false)
  const { body } = fixtures.upstream.seen.find((seen) => seen.url === '/mcp-send')!
  const sent = JSON.parse(body)
  expect(sent).toMatchObject({
    to: 'x',
    attachments: [{ file_id: fileId, filename: 'q3.txt', content_type: 'text/plain' }],
  })
  expect(await (await fetch(sent.attachments[0].url)).text()).toBe('through the bridge')
  const unknown = await callRaw(url, adminKey, 'mail', { to: 'x', attachments: [{ file_id: 'file_nobody' }] })
  expect(unknown.body['error']).toMatchObject({ code: -32602 })
  const talked = await callRaw(url, adminKey, 'postman', { message: 'say thanks', attachments })
  expect(talked.body['result'].content[0].text).toContain('thanks')
  const { data } = await h.gql('{ generations(first: 1) { nodes { agent { name } status } } }')
  expect(data['generations'].nodes[0]).toMatchObject({ agent: { name: 'postman' }, status: 'COMPLETED' })
})

describe('what a lost process has left on the disk', () => {
  let folder: string
  let own: Harness
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-left-'))
    await mkdir(join(folder, 'drafts'))
    for (const name of ['old', 'new']) await writeFile(join(folder, 'drafts', name), 'half of a file')
    const yesterday = new Date(Date.now() - 25 * 3_600_000)
    await utimes(join(folder, 'drafts/old'), yesterday, yesterday)
    // No worker of its own takes what the test looks for.
    own = await openHarness({ blobDir: folder, role: 'api' })
  })
  afterAll(async () => {
    await own?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('half of a file is deleted when nobody writes to it any more', async () => {
    await expect.poll(() => readdir(join(folder, 'drafts'))).toEqual(['new'])
  })

  test('the bytes of a deleted file go also when the process is lost behind the commit', async () => {
    const { blobs, db } = own.app.services
    const sweep = () => sweepBlobs(own.app.services, () => false)
    const bytes = async () =>
      (await readdir(folder, { recursive: true })).filter((path) => path.includes('file_'))
    const uploads = ['first', 'second'].map(async (body) => {
      const input = { filename: 'a.txt', contentType: 'text/plain' }
      const { file, uploadUrl } = await own.mutate('presignUpload', input, 'file { id } uploadUrl')
      expect((await put(uploadUrl, body)).status).toBe(201)
      return file.id as string
    })
    const ids = await Promise.all(uploads)
    expect(await bytes()).toHaveLength(2)
    const remove = blobs.remove
    blobs.remove = () => Promise.reject(new Error('the process is lost here'))
    for (const fileId of ids) await own.mutate('deleteFile', { fileId }, 'file { id }')
    expect(await bytes()).toHaveLength(2)
    // One that cannot be deleted holds up no other.
    blobs.remove = (key) => (key.includes(ids[0]!) ? Promise.reject(new Error('no')) : remove(key))
    await expect(sweep()).rejects.toThrow('no')
    expect(await bytes()).toEqual([expect.stringContaining(ids[0]!)])
    await query(db, sql`update blob_writes set taken_until = null`)
    blobs.remove = remove
    await sweep()
    expect(await bytes()).toEqual([])
  })
})
