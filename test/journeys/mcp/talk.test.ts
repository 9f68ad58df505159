/** Running an agent over MCP: progress while it works, cancellation, conversations, and a timeout without the time for approvals. */
import { expect, test } from 'vitest'
import { callRaw, rpc, type RpcAnswer } from '../../support/bridge.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { callThrough, connectV2, peers, textOf } from '../../support/mcp-clients.ts'
import { openModern, startSession } from '../../support/mcp-wire.ts'

const { h, agent } = await useGatedAgent({ runMs: 1500, inlineHoldMs: 100, progressMs: 50 })

/** Calls the agent as a plain caller. */
const ask = (args: object, headers?: Record<string, string>): Promise<RpcAnswer> =>
  callRaw(agent.url, agent.callerKey, 'teller', args, headers)

const slowly = 'slow 40ms\nsay one two three four five six seven eight nine ten'

test.each([
  ['legacy', 'legacy' as const],
  ['modern', { pin: '2026-07-28' }],
])('progress reports steps and text in the %s protocol, with rising numbers', async (_era, mode) => {
  const client = await connectV2(agent.url, agent.callerKey, { mode })
  const heard: { progress: number; message?: string | undefined }[] = []
  const message = `call echo {"word":"step"}\nthen\n${slowly}`
  const result = await client.callTool(
    { name: 'teller', arguments: { message } },
    { onprogress: (one) => void heard.push(one) },
  )
  await client.close()
  expect(JSON.stringify(result.content)).toContain('one two three')
  const words = heard.map((one) => one.message)
  expect(words).toEqual(
    expect.arrayContaining(['The agent has started.', 'Calling echo.', 'echo: SUCCEEDED.']),
  )
  expect(words.some((word) => word?.startsWith('one'))).toBe(true)
  expect(heard.map((one) => one.progress)).toEqual(heard.map((_one, i) => i + 1))
})

test('a disconnect cancels the run in the modern protocol', async () => {
  const connection = new AbortController()
  const message = 'slow 5s before\nsay never'
  const params = { name: 'teller', arguments: { message }, _meta: { progressToken: 1 } }
  const { url, callerKey } = agent
  const response = await openModern(url, callerKey, 'tools/call', params, connection.signal)
  await response.body!.getReader().read()
  const { data } = await h.gql(
    'query($a: ID!) { generations(filter: { agentId: $a }, first: 1) { nodes { id } } }',
    {
      a: agent.agentId,
    },
  )
  connection.abort()
  const ended = await h.until(data['generations'].nodes[0].id, ['CANCELLED', 'COMPLETED', 'FAILED'])
  expect(ended['status']).toBe('CANCELLED')
})

test('a run that takes too long is a timeout with code -32003, goes on, and is joined by its idempotency key', async () => {
  const args = { message: 'slow 400ms\nsay a b c d e f g h', idempotency_key: 'long' }
  const late = await ask(args)
  expect(late.body['error']).toMatchObject({ code: -32003, data: { type: 'agent_timeout', retryable: true } })
  const id = late.body['error'].data.call_id
  const ended = await h.until(id, ['COMPLETED'])
  const joined = await ask(args)
  expect(joined.body['result'].content[0].text).toBe(ended['output'].text)
  expect(joined.body['result']._meta['gatehouse/call_id']).toBe(id)
})

test('a run that takes too long and has no key is not retryable: approval_wait finds it', async () => {
  const late = await ask({
    message: 'slow 400ms\nsay a b c d e f g h',
  })
  expect(late.body['error'].data).toMatchObject({ type: 'agent_timeout', retryable: false })
  const id = late.body['error'].data.call_id
  const headers = { 'mcp-protocol-version': '2025-11-25' }
  const ended = await h.until(id, ['COMPLETED'])
  const found = await callRaw(agent.url, agent.callerKey, 'approval_wait', { call_id: id }, headers)
  expect(found.body['result'].content[0].text).toBe(ended['output'].text)
})

test('approval_wait finds a late run of an agent without gates, too, and a late wait says to wait again', async () => {
  const input = { name: 'free', toolIds: [], mcp: { enabled: true } }
  const { agent: free } = await h.mutate('createAgent', input, 'agent { id }')
  const url = `${h.url}/mcp/${free.id}`
  const headers = { 'mcp-protocol-version': '2025-11-25' }
  const call = async (name: string, args: object) =>
    (await callRaw(url, agent.callerKey, name, args, headers)).body['result']
  const late = await call('free', { message: 'slow 5s before\nsay at last' })
  const { call_id: id } = late.structuredContent.error
  expect(late.content[0].text).toContain(`approval_wait with {"call_id": "${id}"}`)
  const waited = await call('approval_wait', { call_id: id })
  expect(waited.content[0].text).toContain('repeat this request unchanged')
  await h.until(id, ['COMPLETED'])
  expect((await call('approval_wait', { call_id: id })).content[0].text).toBe('at last')
})

test('the time of an approval does not count: a run that waits for one longer than its limit is not late', async () => {
  const peer = await peers['SDK v1 with progress']!(agent.url, agent.callerKey)
  const call = callThrough(peer, 'teller', { message: 'call pay {"word":"slowly"}' })
  const query = 'subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED]) { type at } }'
  const [asked] = await h.collect(query, {}, () => true)
  const until = new Date(asked.at).getTime() + 2000
  // This test is about elapsed time itself.
  await new Promise((resolve) => setTimeout(resolve, until - Date.now()))
  await agent.decide()
  const result = await call
  await peer.close()
  expect(result.isError ?? false).toBe(false)
  expect(textOf(result)).toContain('done: /pay')
})

test('the calls of a session share a thread, another session has its own, and a forged session does not exist', async () => {
  const open = () => startSession(agent.url, agent.callerKey, '2025-06-18')
  const [one, two] = [await open(), await open()]
  const threadOf = async (session: Record<string, string>) =>
    (await ask({ message: 'hi' }, session)).body['result']._meta['gatehouse/conversation_id']
  const threads = [await threadOf(one), await threadOf(one), await threadOf(two)]
  expect(threads[0]).toBe(threads[1])
  expect(threads[2]).not.toBe(threads[0])
  const id: string = one['mcp-session-id']
  // Some bits of the last character mean nothing.
  const forged = {
    ...one,
    'mcp-session-id': `${id.slice(0, -2)}${id.at(-2) === 'A' ? 'B' : 'A'}${id.at(-1)}`,
  }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect((await rpc(agent.url, agent.callerKey, list, forged)).status).toBe(404)
})
