/**
 * What users of a tool see of its configuration, what a refusal reveals of the network, and what file names may
 * contain.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { objectSchema } from '../support/fixtures.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

const maxProjectFileBytes = 1000
const blobDir = await folderForFile()
const lookup = async (host: string) => {
  if (host === 'inside.test') return ['10.0.0.7']
  if (host === 'closed.test') return ['203.0.113.1']
  throw new Error('ENOTFOUND')
}
const config = { egressAllowPrivate: false, blobDir, maxProjectFileBytes }
const h = await forFile(openHarness(config, { egress: { lookup } }))

test('presets and literal headers are shown only to those who may change the tool', async () => {
  const literal = 'Bearer literal-token'
  const http = {
    url: 'https://closed.test/',
    headers: { authorization: literal },
    inputSchema: objectSchema({ account: { type: 'string' } }),
  }
  const { tool } = await h.mutate(
    'createTool',
    { name: 'fixed', presetParameters: { account: 'acc-4711' }, config: { http } },
    'tool { id }',
  )
  const shown = async (key?: string) =>
    (
      await h.gql(
        'query($id: ID!) { tool(id: $id) { presetParameters ... on HttpTool { headers } } }',
        { id: tool.id },
        key,
      )
    ).data['tool']
  expect(await shown()).toEqual({
    presetParameters: { account: 'acc-4711' },
    headers: { authorization: literal },
  })
  const { secret } = await h.mutate('createApiKey', { name: 'v', role: 'VIEWER' }, 'secret')
  expect(await shown(secret)).toEqual({
    presetParameters: { account: '[masked]' },
    headers: { authorization: '[masked]' },
  })
})

test('a name that resolves to a private address is reported like one that does not exist', async () => {
  const errorOf = async (host: string) => {
    const http = { url: `http://${host}/`, method: 'GET', inputSchema: objectSchema({}) }
    const name = `to_${host.replace('.', '_')}`
    const { tool } = await h.mutate('createTool', { name, config: { http } }, 'tool { id }')
    const { toolCall } = await h.mutate(
      'callTool',
      { toolId: tool.id },
      'toolCall { status errorCode content }',
    )
    const trial = await h.mutate('testUpstream', { url: `http://${host}/mcp` }, 'ok error { code message }')
    return { ...toolCall, trial: trial['error'] }
  }
  const inside = await errorOf('inside.test')
  expect(inside).toEqual(await errorOf('nowhere.test'))
  expect(inside).toMatchObject({ errorCode: 'unreachable', trial: { code: 'unreachable' } })
})

const announce = (filename: string) =>
  h.mutate('presignUpload', { filename, contentType: 'text/plain' }, 'file { id } uploadUrl')
const put = (url: string, body: BodyInit) =>
  fetch(url, {
    method: 'PUT',
    body,
    headers: { 'content-type': 'text/plain' },
    duplex: 'half',
  } as RequestInit)

test('a file name with bidirectional control characters is refused', async () => {
  for (const name of ['photo\u202Egnp.exe', 'a\u2066b', 'x\u200F.txt', 'line\u2028.txt'])
    expect(await announce(name)).toMatchObject({ __typename: 'ValidationError' })
  expect(await announce('قائمة 清单 👩‍🚀.txt')).toMatchObject({ __typename: 'PresignUploadPayload' })
})

test('of two simultaneous uploads by one link the first ends: one upload at a time', async () => {
  const { uploadUrl } = await announce('slow.txt')
  const drafts = () => readdir(join(blobDir, 'drafts')).catch(() => [])
  const body = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(Buffer.from('first')) })
  const first = put(uploadUrl, body).then(
    ({ status }) => status,
    () => 'cut',
  )
  await expect.poll(drafts).toHaveLength(1)
  expect((await put(uploadUrl, 'second')).status).toBe(201)
  expect(['cut', 409]).toContain(await first)
  await expect.poll(drafts).toEqual([])
})

test('the files of a project share one quota, also when they arrive together', async () => {
  const links = await Promise.all(['a', 'b', 'c', 'd'].map(announce))
  const statuses = await Promise.all(
    links.map(async ({ uploadUrl }) => (await put(uploadUrl, 'x'.repeat(400))).status),
  )
  expect(statuses.toSorted()).toEqual([201, 201, 413, 413])
  const { uploadUrl } = await announce('e')
  expect((await put(uploadUrl, 'x'.repeat(300))).status).toBe(413)
  expect((await put(uploadUrl, 'x'.repeat(100))).status).toBe(201)
})
