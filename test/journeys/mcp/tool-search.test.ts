/** MCP clients of an agent with a large catalog: they list a search and call_tool, and what they call is the call of that name. */
import { describe, expect, test } from 'vitest'
import { callRaw, rpc } from '../../support/bridge.ts'
import { forFile } from '../../support/for-file.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { largeCatalog, serveCatalog } from '../../support/large-catalog.ts'
import { peers } from '../../support/mcp-clients.ts'
import { modernRpc } from '../../support/mcp-wire.ts'

const { h, agent } = await useGatedAgent({ inlineHoldMs: 50, roundHoldMs: 200 })
const server = await forFile(serveCatalog(largeCatalog()))
const { tool } = await h.mutate(
  'createTool',
  { name: 'big', config: { mcp: { url: server.url } } },
  'tool { id }',
)
await h.mutate('refreshUpstream', { toolId: tool.id }, 'tool { id }')
const toolIds = [...Object.values(agent.tools), tool.id]
const update = (more: object) => h.mutate('updateAgent', { id: agent.agentId, ...more }, 'agent { id }')
await update({ toolIds, toolLoading: 'SEARCH' })
const { url, callerKey: key } = agent

const listed = async (secret = key) =>
  (await rpc(url, secret, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).body['result'].tools as any[]
const namesOf = async (secret = key) => (await listed(secret)).map(({ name }) => name)
const results = async (name: string, args: object, secret = key) =>
  (await callRaw(url, secret, name, args)).body['result'] as Record<string, any>
const find = async (query: string, more: object = {}, secret = key) =>
  (await results('search_tools', { query, ...more }, secret))['structuredContent']
const call = (name: string, args: object) => results('call_tool', { name, arguments: args })
let count = 0
const fresh = () => ({ word: `w${++count}` })

const builtIn = ['search_tools', 'call_tool', 'teller', 'approval_wait', 'approval_cancel']

test('the list has the search, call_tool and the built-in tools, and the whole catalog a hundred times its bytes', async () => {
  const small = JSON.stringify(await listed())
  expect(await namesOf()).toEqual(builtIn)
  await update({ toolLoading: 'ALL' })
  const large = JSON.stringify(await listed())
  await update({ toolLoading: 'SEARCH' })
  expect(large.length / small.length).toBeGreaterThan(100)
  await update({ toolLoadingThreshold: 1000 })
  expect((await namesOf()).length).toBe(203)
  await update({ toolLoadingThreshold: null })
})

describe.each(Object.entries(peers))('%s', (_name, open) => {
  test('finds a tool with its schema, and calls it by its name and through call_tool', async () => {
    const peer = await open(url, key)
    expect((await peer.list()).map(({ name }) => name)).toEqual(builtIn)
    const found = await peer.call('search_tools', { query: 'echo', limit: 1 })
    const [first] = found.structuredContent!['tools']
    expect(first).toMatchObject({ name: 'echo', title: 'Echo', inputSchema: { required: ['word'] } })
    expect(Object.keys(first.inputSchema.properties)).toEqual(['word', 'idempotency_key', 'attachments'])
    const args = fresh()
    const through = await peer.call('call_tool', { name: 'echo', arguments: args })
    expect(through.content[0]!.text).toBe(`done: /echo ${JSON.stringify(args)}`)
    await peer.close()
  })
})

test('a call by its own name works without a search', async () => {
  expect((await results('echo', { word: 'direct' }))['content'][0].text).toContain('direct')
})

test('what is called through call_tool and by its name with one key is one call', async () => {
  const args = { ...fresh(), idempotency_key: `key${count}` }
  const before = agent.upstream.seen.length
  const first = await call('echo', args)
  const again = await results('echo', args)
  expect(again['_meta']['gatehouse/call_id']).toBe(first['_meta']['gatehouse/call_id'])
  expect(agent.upstream.seen).toHaveLength(before + 1)
})

test('a gated tool waits in the same way: the same request by its name joins it, and one execution follows', async () => {
  const args = fresh()
  const before = agent.paid()
  const asked = await call('pay', args)
  expect(asked['structuredContent']).toMatchObject({ status: 'pending_approval' })
  const joined = await results('pay', args)
  expect(joined['structuredContent'].call_id).toBe(asked['structuredContent'].call_id)
  expect(agent.paid()).toBe(before)
  await agent.decide()
  const { call_id: callId } = asked['structuredContent']
  await expect
    .poll(async () => (await call('approval_wait', { call_id: callId }))['content'][0].text)
    .toContain('done: /pay')
  expect(agent.paid()).toBe(before + 1)
})

test('a modern client goes on with its requestState, whichever way it began', async () => {
  const params = { name: 'call_tool', arguments: { name: 'pay', arguments: fresh() } }
  const asked = (await modernRpc(url, key, 'tools/call', params)).body['result']
  expect(asked.resultType).toBe('input_required')
  await agent.decide()
  let result = asked
  while (result.resultType === 'input_required') {
    const next = { ...params, requestState: result.requestState }
    result = (await modernRpc(url, key, 'tools/call', next)).body['result']
  }
  expect(result.content[0].text).toContain('done: /pay')
})

test('neither the list, the search nor call_tool has what the key may not call', async () => {
  const statement = [
    { effect: 'Allow', action: ['tools:Call', 'agents:Get'], resource: ['*'] },
    { effect: 'Deny', action: ['tools:Call'], resource: [`tool/${agent.tools.echo}`] },
  ]
  const { secret } = await h.mutate('createApiKey', { name: 'k', policy: { statement } }, 'secret')
  expect(await namesOf(secret)).toEqual(builtIn.filter((name) => name !== 'teller'))
  expect(await find('echo', {}, secret)).toMatchObject({ tools: [], total: 199 })
  const through = await callRaw(url, secret, 'call_tool', { name: 'echo', arguments: { word: 'x' } })
  expect(through.body['error'].message).toBe('Unknown tool: echo')
})

const malformed =
  'arguments: must be the name of another tool, and as arguments its own, reserved ones included'
test.each([
  [malformed, {}],
  [malformed, { name: 'call_tool', arguments: {} }],
  [malformed, { name: 'echo', arguments: { word: 'x' }, idempotency_key: 'k' }],
  ['arguments.word', { name: 'echo', arguments: {} }],
  ['arguments: must be a JSON object', { name: 'echo', arguments: 7 }],
])('a fault is told with its path: %s', async (fault, args) => {
  const before = agent.upstream.seen.length
  const { body } = await callRaw(url, key, 'call_tool', args)
  expect(body['error']).toMatchObject({ code: -32602, message: expect.stringContaining(fault) })
  expect(agent.upstream.seen).toHaveLength(before)
})

test('an unknown tool is one through call_tool as well', async () => {
  const { body } = await callRaw(url, key, 'call_tool', { name: 'nothing' })
  expect(body['error']).toMatchObject({ code: -32601, message: 'Unknown tool: nothing' })
})

test.each([
  ['empty', '', 0],
  ['of wildcards', '%_\\', 0],
  ['of another script', '検索', 0],
  ['of 10 kB', `${'x'.repeat(10_000)} echo`, 1],
])('a query that is %s is answered', async (_what, query, least) => {
  const { tools, hint } = await find(query, { limit: 1 })
  expect(tools).toHaveLength(least)
  if (least === 0) expect(hint).toContain('None of the 200 tools matches.')
})

test('tools that are named like the built-in ones keep their names', async () => {
  const inputSchema = { type: 'object' }
  const make = async (name: string) =>
    (
      await h.mutate(
        'createTool',
        { name, config: { http: { url: `${agent.upstream.url}/${name}`, method: 'POST', inputSchema } } },
        'tool { id }',
      )
    )['tool'].id
  await update({ toolIds: [...toolIds, await make('call_tool'), await make('search_tools')] })
  expect((await namesOf()).slice(0, 2)).toEqual(['search_tools_', 'call_tool_'])
  expect((await results('call_tool', { a: 1 }))['content'][0].text).toBe('done: /call_tool {"a":1}')
  const through = await results('call_tool_', { name: 'search_tools', arguments: { a: 2 } })
  expect(through['content'][0].text).toBe('done: /search_tools {"a":2}')
  await update({ toolIds })
})
