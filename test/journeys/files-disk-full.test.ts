/** The disk of files is full: whoever uploads is told so, nothing half-written stays, and a later upload works. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'

const diskBytes = 512 * 1024

/** A disk of its own, as far as this user may mount one. */
const disk = mountDisk()
if (!disk) console.warn('SKIPPED LOUDLY: no tmpfs can be mounted here; a full disk of files is not tested.')

function mountDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'))
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder]
    execFileSync('mount', options, { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true, force: true })
    return null
  }
}

describe.skipIf(!disk)('on a disk of half a megabyte', () => {
  let h: Harness
  let fixtures: Fixtures
  beforeAll(async () => {
    h = await openHarness({ blobDir: join(disk!, 'blobs') })
    fixtures = await makeFixtures(h)
    await fixtures.agent({ name: 'plain' })
  })
  afterAll(async () => {
    await fixtures?.close()
    await h?.stop()
    execFileSync('umount', [disk!])
    rmSync(disk!, { recursive: true, force: true })
  })

  const drafts = () => readdirSync(join(disk!, 'blobs', 'drafts'))
  const announce = () =>
    h.mutate('presignUpload', { filename: 'a.txt', contentType: 'text/plain' }, 'file { id } uploadUrl')
  const put = (url: string, body: BodyInit) =>
    fetch(url, {
      method: 'PUT',
      body,
      headers: { 'content-type': 'text/plain' },
      duplex: 'half',
    } as RequestInit)
  const read = async (id: string) =>
    (await h.gql('query($id: ID!) { file(id: $id) { status size downloadUrl } }', { id })).data['file']
  const filler = join(disk ?? '', 'filler')
  const makeRoom = () => rmSync(filler, { force: true })
  afterEach(makeRoom)
  /** Leaves so many bytes free. */
  function fillUpTo(free: number): void {
    const { bavail, bsize } = statfsSync(disk!)
    writeFileSync(filler, Buffer.alloc(bavail * bsize - free))
  }
  const chunked = (bytes: Uint8Array, size = 16 * 1024) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size))
        controller.close()
      },
    })

  test.each([
    { how: 'at once', free: 0, size: 20_000, parts: false },
    { how: 'in its last part', free: 16 * 1024, size: 20_000, parts: false },
    { how: 'in the middle', free: 64 * 1024, size: 300_000, parts: true },
    { how: 'in the middle of much more than that', free: 64 * 1024, size: 5_000_000, parts: true },
  ])('an upload that does not fit $how is UNAVAILABLE, and works when there is room', async (one) => {
    const { file, uploadUrl } = await announce()
    const bytes = randomBytes(one.size)
    fillUpTo(one.free)
    const refused = await put(uploadUrl, one.parts ? chunked(bytes) : bytes)
    expect([refused.status, (await refused.json()).error.code]).toEqual([503, 'UNAVAILABLE'])
    expect(refused.headers.get('retry-after')).not.toBeNull()
    expect(await read(file.id)).toMatchObject({ status: 'PENDING', size: null })
    await expect.poll(drafts).toEqual([])
    makeRoom()
    const small = bytes.subarray(0, 30_000)
    expect((await put(uploadUrl, small)).status).toBe(201)
    const ready = await read(file.id)
    expect(ready).toMatchObject({ status: 'READY', size: small.length })
    const got = Buffer.from(await (await fetch(ready.downloadUrl)).arrayBuffer())
    expect(got.equals(small)).toBe(true)
  })

  test('bytes inside a message that do not fit start no run, and the same request works later', async () => {
    const image = `data:image/png;base64,${randomBytes(50_000).toString('base64')}`
    const content = [
      { type: 'input_text', text: 'say ok' },
      { type: 'input_image', image_url: image },
    ]
    const ask = async () => {
      const response = await fetch(`${h.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'plain', input: [{ role: 'user', content }] }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, any> }
    }
    const count = async () =>
      (await h.gql('{ files(first: 50) { nodes { id } } generations(first: 50) { nodes { id } } }')).data
    const before = await count()
    fillUpTo(16 * 1024)
    expect(await ask()).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } })
    expect(await count()).toEqual(before)
    expect(drafts()).toEqual([])
    makeRoom()
    expect(await ask()).toMatchObject({ status: 200, body: { output_text: 'ok' } })
  })
})
