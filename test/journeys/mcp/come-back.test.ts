/** Clients over MCP that come back as they were told, after what stopped them is gone or their connection was: nothing runs twice. */
import { sql } from 'drizzle-orm'
import { inputRequired } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { makeGatedAgent, useGatedAgent } from '../../support/gated-agent.ts'
import { openHarness } from '../../support/harness.ts'
import { holdStatement } from '../../support/held-statement.ts'
import { acceptStream, legacyProtocol, modernRpc, openModern, startSession } from '../../support/mcp-wire.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startModern } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

const { h, agent } = await useGatedAgent({ inlineHoldMs: 50 })
const far = await forFile(startModern())
let count = 0
const fresh = () => ({ word: `w${++count}` })

/** An agent with one tool of its own. */
async function agentWith(tool: object): Promise<{ url: string; toolId: string; name: string }> {
  const name = `own${++count}`
  const toolId = (await h.mutate('createTool', { name, ...tool }, 'tool { id }'))['tool'].id as string
  const input = { name: `of_${name}`, toolIds: [toolId], mcp: { enabled: true } }
  const made = await h.mutate('createAgent', input, 'agent { id }')
  return { url: `${h.url}/mcp/${made['agent'].id}`, toolId, name }
}

const posting = (path: string) => ({
  http: {
    url: `${agent.upstream.url}/${path}`,
    method: 'POST',
    inputSchema: objectSchema({ word: { type: 'string' } }, ['word']),
  },
})
const executions = (path: string) => agent.upstream.seen.filter(({ url }) => url === `/${path}`).length

async function resultOf(url: string, name: string, args: object, more: Record<string, string> = {}) {
  return (await callRaw(url, agent.callerKey, name, args, more)).body['result'] as Record<string, any>
}
const callIdOf = (result: Record<string, any>): string => result['_meta']['gatehouse/call_id']

const questions = async (): Promise<{ id: string }[]> => {
  const { data } = await h.gql('{ approvals(filter: { statuses: [PENDING] }, first: 100) { nodes { id } } }')
  return data['approvals'].nodes
}
async function approve(): Promise<void> {
  const [first] = await questions()
  await h.mutate('decideApproval', { approvalId: first!.id, verdict: 'APPROVE' }, '__typename')
}
const rowOf = async (id: string): Promise<Record<string, any>> => {
  const [row] = await query<Record<string, any>>(
    h.app.services.db,
    sql`select status, awaited from tool_calls where id = ${id}`,
  )
  return row!
}
const statusOf = (id: string) => expect.poll(async () => (await rowOf(id))['status'])
/** When another request has its response, the server knows of a closed connection. */
const known = () => rpc(agent.url, agent.callerKey, { jsonrpc: '2.0', id: 1, method: 'ping' })

/** Opens a modern request, waits until it reports that it waits, and returns what disconnects it. */
async function hold(
  url: string,
  params: Record<string, any>,
  key = agent.callerKey,
): Promise<() => Promise<void>> {
  const connection = new AbortController()
  const held = { ...params, _meta: { progressToken: 1 } }
  const response = await openModern(url, key, 'tools/call', held, connection.signal)
  const reader = response.body!.getReader()
  let heard = ''
  while (!heard.includes('waiting for approval'))
    heard += Buffer.from((await reader.read()).value!).toString()
  return async () => {
    connection.abort()
    await known()
  }
}

test('a call that was approved is found by its repeat, although its gate is gone', async () => {
  const { url, toolId, name } = await agentWith({ config: posting('gone'), gate: { mode: 'ALWAYS' } })
  const args = fresh()
  const first = callIdOf(await resultOf(url, name, args))
  await approve()
  await statusOf(first).toBe('SUCCEEDED')
  await h.mutate('updateTool', { id: toolId, gate: { autoApprove: true } }, '__typename')
  const again = await resultOf(url, name, args)
  expect([callIdOf(again), executions('gone')]).toEqual([first, 1])
  expect(again['content'][0].text).toContain('done: /gone')
  // It has its outcome: from now on the same request is a call of its own.
  expect(callIdOf(await resultOf(url, name, args))).not.toBe(first)
  expect(executions('gone')).toBe(2)
})

test('a call that waits is joined by its repeat, although its gate is gone', async () => {
  const { url, toolId, name } = await agentWith({ config: posting('waits'), gate: { mode: 'ALWAYS' } })
  const args = fresh()
  const first = callIdOf(await resultOf(url, name, args))
  await h.mutate('updateTool', { id: toolId, gate: { autoApprove: true } }, '__typename')
  expect(callIdOf(await resultOf(url, name, args))).toBe(first)
  expect(executions('waits')).toBe(0)
  expect(await questions()).toHaveLength(1)
  await h.mutate('cancelToolCall', { toolCallId: first }, '__typename', agent.callerKey)
})

test('a call that a pause held is found by its repeat after the pause', async () => {
  const { url, toolId, name } = await agentWith({ config: posting('held') })
  const args = fresh()
  const { pause } = await h.mutate('pause', { toolId }, 'pause { id }')
  const connection = new AbortController()
  const lost = fetch(url, {
    method: 'POST',
    signal: connection.signal,
    headers: { 'content-type': 'application/json', 'x-agent-api-key': agent.callerKey },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    }),
  }).catch(() => null)
  const calls = () =>
    query<{ id: string }>(h.app.services.db, sql`select id from tool_calls where tool_id = ${toolId}`)
  await expect.poll(async () => (await calls()).length).toBe(1)
  const [{ id }] = (await calls()) as [{ id: string }]
  connection.abort()
  await lost
  await h.mutate('resume', { pauseId: pause.id }, '__typename')
  await statusOf(id).toBe('SUCCEEDED')
  expect(callIdOf(await resultOf(url, name, args))).toBe(id)
  expect(executions('held')).toBe(1)
})

test('an outcome that comes as its client cancels is kept for the next request', async () => {
  const session = await startSession(agent.url, agent.callerKey)
  const args = fresh()
  const before = agent.paid()
  const id = callIdOf(await resultOf(agent.url, 'pay', args, session))
  await approve()
  await statusOf(id).toBe('SUCCEEDED')
  const { arrived, release } = holdStatement(h.app.services.db, { begins: 'select', value: id })
  const params = { name: 'pay', arguments: args }
  const given = rpc(
    agent.url,
    agent.callerKey,
    { jsonrpc: '2.0', id: 9, method: 'tools/call', params },
    session,
  )
  await arrived
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
  await rpc(agent.url, agent.callerKey, cancel, session)
  release()
  await given
  expect(await rowOf(id)).toMatchObject({ awaited: true })
  const again = await resultOf(agent.url, 'pay', args, session)
  expect([callIdOf(again), again['content'][0].text]).toEqual([id, expect.stringContaining(args.word)])
  expect(agent.paid()).toBe(before + 1)
})

test('a run at the gate outlives the connection of a modern client, whose repeat joins it', async () => {
  const { word } = fresh()
  const params = { name: 'teller', arguments: { message: `call pay {"word":"${word}"}\nthen\nsay paid` } }
  const before = agent.paid()
  const disconnect = await hold(agent.url, params)
  await disconnect()
  const again = modernRpc(agent.url, agent.callerKey, 'tools/call', params)
  expect(await questions()).toHaveLength(1)
  await agent.decide()
  expect((await again).body['result']).toMatchObject({ isError: false, content: [{ text: 'paid' }] })
  expect(agent.paid()).toBe(before + 1)
})

test.skipIf(!hasPostgres)('a call that waits is not withdrawn because its server stops', async () => {
  const database = await postgresDatabase()
  const open = () => openHarness({ databaseUrl: database.url })
  const [stopping, other] = [await open(), await open()]
  const own = await makeGatedAgent(stopping)
  try {
    await hold(own.url, { name: 'pay', arguments: fresh() }, own.callerKey)
    await stopping.stop()
    const rows = await query(other.app.services.db, sql`select status from tool_calls`)
    expect(rows).toEqual([{ status: 'AWAITING_APPROVAL' }])
  } finally {
    await own.close()
    await Promise.all([stopping.stop(), other.stop()])
    await database.drop()
  }
})

test('an approved call that runs outlives the connection of a modern client, whose repeat gets its outcome', async () => {
  let [started, finish] = [() => {}, () => {}]
  const running = new Promise<void>((resolve) => (started = resolve))
  const finished = new Promise<void>((resolve) => (finish = resolve))
  let runs = 0
  far.tools.set('slow', {
    tool: { name: 'slow' },
    async run() {
      runs++
      started()
      await finished
      return { content: [{ type: 'text', text: 'at last' }] }
    },
  })
  const { url, name } = await agentWith({ config: { mcp: { url: far.url } }, gate: { mode: 'ALWAYS' } })
  const params = { name: `${name}_slow`, arguments: {} }
  const disconnect = await hold(url, params)
  await approve()
  await running
  await disconnect()
  const again = modernRpc(url, agent.callerKey, 'tools/call', params)
  await known()
  finish()
  expect((await again).body['result'].content).toEqual([{ type: 'text', text: 'at last' }])
  expect([runs, await questions()]).toEqual([1, []])
})

test('a call with a key that asks its client is asked about again when the connection was lost', async () => {
  const asked = { mode: 'form' as const, message: 'Who?', requestedSchema: objectSchema({}, []) }
  far.tools.set('greet', {
    tool: { name: 'greet' },
    run: (_args, { mcpReq }) =>
      mcpReq.inputResponses?.user
        ? { content: [{ type: 'text', text: `Hello, ${mcpReq.inputResponses.user.content.name}` }] }
        : inputRequired({
            inputRequests: { user: { method: 'elicitation/create', params: asked as never } },
          }),
  })
  const { url, name } = await agentWith({ config: { mcp: { url: far.url } } })
  const headers = {
    'content-type': 'application/json',
    'x-agent-api-key': agent.callerKey,
    accept: acceptStream,
    'mcp-protocol-version': legacyProtocol,
  }
  const capabilities = { elicitation: {} }
  const client = { protocolVersion: legacyProtocol, capabilities, clientInfo: { name: 't', version: '1' } }
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: client }
  const opened = await rpc(url, agent.callerKey, initialize, { accept: acceptStream })
  const session = { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  const params = { name: `${name}_greet`, arguments: { idempotency_key: 'greeting' } }
  const connection = new AbortController()
  /** Sends the call and reads its stream until it has this text. */
  const open = async (id: number, signal: AbortSignal | null) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    const reader = (await fetch(url, { method: 'POST', headers: session, body, signal })).body!.getReader()
    let heard = ''
    return async (text: string) => {
      while (!heard.includes(text)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`the stream ended: ${heard}`)
        heard += Buffer.from(value).toString()
      }
      return heard
    }
  }
  await (
    await open(1, connection.signal)
  )('elicitation/create')
  connection.abort()
  await known()
  const until = await open(2, null)
  const [, question] = /"id":"(ask-[^"]+)"/.exec(await until('elicitation/create'))!
  const result = { action: 'accept', content: { name: 'Ada' } }
  await rpc(url, agent.callerKey, { jsonrpc: '2.0', id: question, result }, session)
  await until('Hello, Ada')
})
