/** Repeated lists: the bytes of the SDK with another id, and only for a request that differs in nothing else. */
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const toolIds: string[] = []
for (const name of ['one', 'two']) {
  const inputSchema = objectSchema({ id: { type: 'number', default: 7 }, n: { type: 'string' } })
  const config = { http: { url: `http://127.0.0.1:9/${name}`, inputSchema } }
  toolIds.push((await h.mutate('createTool', { name, config }, 'tool { id }'))['tool'].id)
}
const input = { name: 'lister', toolIds, mcp: { enabled: true } }
const agentId: string = (await h.mutate('createAgent', input, 'agent { id }'))['agent'].id

const version = '2026-07-28'

async function list(
  id: unknown,
  more: { headers?: object; meta?: object; key?: string; params?: object } = {},
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...more.meta,
  }
  const response = await fetch(`${h.url}/mcp/${agentId}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${more.key ?? adminKey}`,
      'mcp-protocol-version': version,
      'mcp-method': 'tools/list',
      ...more.headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params: { _meta, ...more.params } }),
  })
  const text = await response.text()
  const body = JSON.parse(text || '{}') as Record<string, any>
  const names = (body['result']?.tools as { name: string }[] | undefined)?.map(({ name }) => name)
  return { status: response.status, type: response.headers.get('content-type'), text, body, names }
}

test.each([2, 0, -5, 'a "quoted" id', '$&', 'ü'])(
  'a repeat with the id %j has the same bytes but for its id',
  async (id) => {
    // 424242 stands nowhere in the list.
    const first = await list(424242)
    const again = await list(id)
    expect(first.names).toEqual(['one', 'two', 'lister'])
    expect(again.body['id']).toBe(id)
    expect(again.text).toBe(first.text.replace('"id":424242', () => `"id":${JSON.stringify(id)}`))
    expect(again).toMatchObject({ status: first.status, type: first.type })
  },
)

test('an id that also stands in the list is never confused with it', async () => {
  const meta = { 'io.modelcontextprotocol/clientInfo': { name: 'confusing', version: '1' } }
  for (const id of [7, 8, 7])
    expect((await list(id, { meta })).body).toMatchObject({ id, result: { resultType: 'complete' } })
  const [tool] = (await list(9, { meta })).body['result'].tools
  expect(tool.inputSchema.properties.id).toEqual({ type: 'number', default: 7 })
})

test.each([
  ['a protocol version that is not served', { headers: { 'mcp-protocol-version': '2099-01-01' } }],
  ['a method in the header that is not that of the message', { headers: { 'mcp-method': 'tools/call' } }],
  ['another content type', { headers: { 'content-type': 'text/plain' } }],
  ['an envelope of another version', { meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }],
  ['capabilities of a wrong type', { meta: { 'io.modelcontextprotocol/clientCapabilities': 5 } }],
])('a request with %s is refused after an equal one was served', async (_what, more) => {
  await list(1)
  const refused = await list(2, more)
  expect(refused.names).toBeUndefined()
  expect(refused.status).toBeGreaterThanOrEqual(400)
  const again = await list(3, more)
  expect([again.status, again.body['error']]).toEqual([refused.status, refused.body['error']])
})

test('a change of the agent is in the next list, and a key sees only what it may call', async () => {
  await list(1)
  const policy = {
    statement: [
      { effect: 'Allow', action: ['agents:Get'], resource: ['*'] },
      { effect: 'Allow', action: ['tools:Call'], resource: [`tool/${toolIds[1]}`] },
    ],
  }
  const { secret } = await h.mutate('createApiKey', { name: 'narrow', policy }, 'secret')
  expect((await list(1, { key: secret })).names).toEqual(['two'])
  expect((await list(2, { key: secret })).names).toEqual(['two'])
  expect((await list(2)).names).toEqual(['one', 'two', 'lister'])
  await h.mutate('updateAgent', { id: agentId, toolIds: [toolIds[0]] }, 'agent { id }')
  expect((await list(3)).names).toEqual(['one', 'lister'])
  expect((await list(3, { key: secret })).names).toEqual([])
})
