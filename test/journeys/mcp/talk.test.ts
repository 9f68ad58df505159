/** Talking to an agent over the bridge: progress while it works, cancellation, and a limit that people do not count in. */
import { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callRaw, rpc } from '../../support/bridge.ts'
import { makeGatedAgent, type GatedAgent } from '../../support/gated-agent.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { callThrough, peers, textOf, transportV2 } from '../../support/mcp-clients.ts'

let h: Harness
let agent: GatedAgent

beforeAll(async () => {
  h = await openHarness({}, { mcp: { runMs: 1500, inlineHoldMs: 100, progressMs: 50 } })
  agent = await makeGatedAgent(h)
})
afterAll(async () => {
  await agent?.close()
  await h?.stop()
})

const slowly = 'slow 80ms\nsay one two three four five six seven eight nine ten'

test.each([
  ['old', 'legacy' as const],
  ['new', { pin: '2026-07-28' }],
])('progress tells steps and text in the %s era, with a number that rises', async (_era, mode) => {
  const client = new Client({ name: 't', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transportV2(agent.url, agent.callerKey, () => {}))
  const heard: { progress: number; message?: string | undefined }[] = []
  const message = `call echo {"word":"step"}\nthen\n${slowly}`
  const result = await client.callTool(
    { name: 'teller', arguments: { message } },
    { onprogress: (one) => void heard.push(one) },
  )
  await client.close()
  expect(JSON.stringify(result.content)).toContain('one two three')
  const words = heard.map((one) => one.message)
  expect(words).toEqual(expect.arrayContaining(['The agent has begun.', 'Calling echo.', 'echo: SUCCEEDED.']))
  expect(words.some((word) => word?.startsWith('one'))).toBe(true)
  expect(heard.map((one) => one.progress)).toEqual(heard.map((_one, i) => i + 1))
})

test('hanging up ends the run in the new era', async () => {
  const gone = new AbortController()
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: 1,
  }
  const params = { name: 'teller', arguments: { message: `slow 500ms\n${slowly}` }, _meta }
  const response = await fetch(agent.url, {
    method: 'POST',
    signal: gone.signal,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${agent.callerKey}`,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'teller',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  await response.body!.getReader().read()
  const { data } = await h.gql('query($a: ID!) { generations(agentId: $a, first: 1) { nodes { id } } }', {
    a: agent.agentId,
  })
  gone.abort()
  const ended = await h.until(data['generations'].nodes[0].id, ['CANCELLED', 'COMPLETED', 'FAILED'])
  expect(ended['status']).toBe('CANCELLED')
})

test('a run that takes too long is a timeout in the words of S1, goes on, and is joined by its key', async () => {
  const args = { message: 'slow 400ms\nsay a b c d e f g h', idempotency_key: 'long' }
  const late = await callRaw(agent.url, agent.callerKey, 'teller', args)
  expect(late.body['error']).toMatchObject({ code: -32003, data: { type: 'agent_timeout', retryable: true } })
  const id = late.body['error'].data.call_id
  const ended = await h.until(id, ['COMPLETED'])
  const joined = await callRaw(agent.url, agent.callerKey, 'teller', args)
  expect(joined.body['result'].content[0].text).toBe(ended['output'].text)
  expect(joined.body['result']._meta['gatehouse/call_id']).toBe(id)
})

test('a run that takes too long and has no key is not to be repeated: approval_wait finds it', async () => {
  const late = await callRaw(agent.url, agent.callerKey, 'teller', {
    message: 'slow 400ms\nsay a b c d e f g h',
  })
  expect(late.body['error'].data).toMatchObject({ type: 'agent_timeout', retryable: false })
  const id = late.body['error'].data.call_id
  const wire = { 'mcp-protocol-version': '2025-11-25' }
  const ended = await h.until(id, ['COMPLETED'])
  const found = await callRaw(agent.url, agent.callerKey, 'approval_wait', { call_id: id }, wire)
  expect(found.body['result'].content[0].text).toBe(ended['output'].text)
})

test("people's time does not count: a run that waits at the gate for longer than its limit is not late", async () => {
  const peer = await peers['SDK v1 with progress']!(agent.url, agent.callerKey)
  const call = callThrough(peer, 'teller', { message: 'call pay {"word":"slowly"}' })
  const query = 'subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED]) { type at } }'
  const [asked] = await h.collect(query, {}, () => true)
  const until = new Date(asked.at).getTime() + 2000
  // The time itself is what this is about.
  await new Promise((resolve) => setTimeout(resolve, until - Date.now()))
  await agent.decide()
  const result = await call
  await peer.close()
  expect(result.isError ?? false).toBe(false)
  expect(textOf(result)).toContain('done: /pay')
})

test('a session shares one thread, another session has its own, and a forged one is not there', async () => {
  const accept = 'application/json, text/event-stream'
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const hello = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const open = async () => {
    const { headers } = await rpc(agent.url, agent.callerKey, hello, { accept })
    return { accept, 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': headers.get('mcp-session-id')! }
  }
  const [one, two] = [await open(), await open()]
  const threadOf = async (session: Record<string, string>) =>
    (await callRaw(agent.url, agent.callerKey, 'teller', { message: 'hi' }, session)).body['result']._meta[
      'gatehouse/conversation_id'
    ]
  const threads = [await threadOf(one), await threadOf(one), await threadOf(two)]
  expect(threads[0]).toBe(threads[1])
  expect(threads[2]).not.toBe(threads[0])
  const forged = { ...one, 'mcp-session-id': `${one['mcp-session-id'].slice(0, -1)}_` }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect((await rpc(agent.url, agent.callerKey, list, forged)).status).toBe(404)
})
