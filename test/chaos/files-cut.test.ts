/**
 * The life of a file in a bucket, cut off at each request that the bucket gets: before the object store has done it, or before
 * its answer arrives; once, or until this server has given up. Whoever asks again comes to the same end.
 */
import { expect, test, vi } from 'vitest'
import { sql } from '../../src/store/db/sql.ts'
import { query } from '../../src/store/db/database.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startS3Server } from '../support/s3-server.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

const blobDir = await folderForFile()
const s3 = await forFile(startS3Server())
const h = await forFile(openHarness({ blobDir, s3: s3.settings() }))
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'reader' })
const http = {
  url: `${fixtures.upstream.url}/send`,
  inputSchema: objectSchema({ to: { type: 'string' } }),
}
const input = { name: 'send', gate: { autoApprove: false }, config: { http } }
const toolId: string = (await h.mutate('createTool', input, 'tool { id }'))['tool'].id

/** As a client that asks again after every refusal that passes, and after an answer that did not come. */
function untilDone<T>(ask: () => Promise<T | null>): Promise<T> {
  return vi.waitUntil(async () => ask().catch(passing), { interval: 5, timeout: 60_000 }) as Promise<T>
}
function passing(error: unknown): null {
  if (/UNAVAILABLE|fetch failed|terminated|does not answer/.test(String(error))) return null
  throw error
}
const rows = <Row extends object>(text: ReturnType<typeof sql>) => query<Row>(h.app.services.db, text)
const keysOf = (id: string) => [...s3.objects.keys()].filter((key) => key.includes(id))

/** From the announcement to the last byte that is gone: what was sent to the tool, and what was left over. */
async function live(text: string) {
  const announcement = { filename: 'a.txt', contentType: 'text/plain', size: text.length }
  const { file, uploadUrl } = await h.mutate('presignUpload', announcement, 'file { id } uploadUrl')
  const headers = { 'content-type': 'text/plain' }
  await untilDone(async () =>
    (await fetch(uploadUrl, { method: 'PUT', headers, body: text })).ok ? true : null,
  )
  const read = async () =>
    (await h.gql('query($id: ID!) { file(id: $id) { status downloadUrl } }', { id: file.id })).data['file']
  const { downloadUrl } = await untilDone(async () => {
    const found = await read()
    return found.status === 'READY' ? found : null
  })
  const call = { toolId, arguments: { to: text }, attachments: [{ fileId: file.id }] }
  const { toolCall } = await untilDone(() => h.mutate('callTool', call, 'toolCall { id approval { id } }'))
  await h.mutate('decideApproval', { approvalId: toolCall.approval.id, verdict: 'APPROVE' }, '__typename')
  const sent = () => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${text}"`))
  await vi.waitUntil(() => sent().length > 0, { timeout: 60_000 })
  const { url } = JSON.parse(sent()[0]!.body).attachments[0]
  const textAt = (link: string) =>
    untilDone(async () => {
      const response = await fetch(link)
      return response.ok ? response.text() : null
    })
  const texts = [await textAt(url), await textAt(downloadUrl)]
  const inMessage = await untilDone(async () => {
    const image_url = `data:image/png;base64,${Buffer.from(`image ${text}`).toString('base64')}`
    const content = [
      { type: 'input_text', text: 'say ok' },
      { type: 'input_image', image_url },
    ]
    const response = await fetch(`${h.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'reader', input: [{ role: 'user', content }] }),
    })
    expect([200, 503]).toContain(response.status)
    return response.ok ? response.json() : null
  })
  expect(inMessage.status).toBe('completed')
  const [image] = await rows<{ id: string; key: string }>(
    sql`select id, blob_key as key from files where content_type = 'image/png' order by created_at desc limit 1`,
  )
  const stored = String(s3.objects.get(image!.key)?.bytes)
  const kept = [keysOf(file.id).length, keysOf(image!.id).length]
  for (const id of [file.id, image!.id])
    await untilDone(() => h.mutate('deleteFile', { fileId: id }, 'file { id }'))
  await untilDone(async () => {
    await rows(sql`update blob_writes set due_at = now() - interval '1 second', taken_until = null`)
    await h.app.workers!.files.runNow()
    return (await rows(sql`select key from blob_writes`)).length === 0 ? true : null
  })
  return { sends: sent().length, texts, stored, kept, left: [...s3.objects.keys()] }
}

test.each([
  ['cut', 'once', 1],
  ['cut', 'until it is given up', 3],
  ['lost', 'once', 1],
  ['lost', 'until it is given up', 3],
] as const)('%s %s, at each request', async (fault, _often, times) => {
  let requests: number
  let at = 0
  do {
    at++
    requests = 0
    s3.fault = () => (++requests >= at && requests < at + times ? fault : null)
    const text = `${fault} ${times} at ${at}`
    const life = await live(text)
    expect(life, text).toMatchObject({ sends: 1, texts: [text, text], stored: `image ${text}`, left: [] })
    // The upload, which a sweep takes when its link has ended, and the copy of it.
    expect(life.kept[0], text).toBeLessThanOrEqual(3)
  } while (requests > at + times)
  expect(at).toBeGreaterThan(8)
  s3.fault = () => null
})
