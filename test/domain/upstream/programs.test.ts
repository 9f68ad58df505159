/** Popular servers: the one for files behind a proxy, and one made with fastmcp. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { saveTo } from '../../support/upstream-services.ts'
import { startFastMcp, startFilesystem, type RunningServer } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

const servers: RunningServer[] = []
const h = await forFile(openHarness())
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()))
})

it.skipIf(!hasPeers)('server-filesystem behind a proxy lists its tools and reads a file', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-files-')))
  await writeFile(join(folder, 'note.txt'), 'remember the milk')
  const server = await startFilesystem(folder)
  servers.push(server)
  const files = await saveTo(h.app.services, server.url)
  expect(await files.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
  expect((await files.state()).catalog.tools.map((tool) => tool.name)).toContain('read_text_file')
  const read = await files.call('read_text_file', { path: join(folder, 'note.txt') })
  expect(read.result).toMatchObject({
    isError: false,
    content: [{ type: 'text', text: 'remember the milk' }],
  })
  const refused = await files.call('read_text_file', { path: '/etc/hostname' })
  expect(refused.result.isError).toBe(true)
  await server.restart()
  const again = await files.call('read_text_file', { path: join(folder, 'note.txt') })
  expect(again.result.isError).toBe(false)
  await rm(folder, { recursive: true })
})

it.skipIf(!hasPeers)(
  'a fastmcp server is discovered and called, with its progress, image and error',
  async () => {
    const server = await startFastMcp()
    servers.push(server)
    const fast = await saveTo(h.app.services, server.url)
    expect(await fast.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
    expect((await fast.state()).catalog.tools.map((tool) => tool.name)).toEqual(['add', 'fail', 'picture'])
    const seen: number[] = []
    const sum = await fast.call('add', { a: 2, b: 3 }, { onProgress: ({ progress }) => seen.push(progress) })
    expect(sum.result).toMatchObject({ isError: false, content: [{ type: 'text', text: '5' }] })
    expect(seen).toEqual([1])
    expect((await fast.call('picture')).result.content[0]).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
    })
    expect((await fast.call('fail')).result).toMatchObject({ isError: true })
  },
)
