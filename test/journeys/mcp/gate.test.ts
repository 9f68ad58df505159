/** Approvals over MCP: how each kind of client waits, comes back or disconnects, and that no client can approve. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { callRaw, rpc, type RpcAnswer } from '../../support/bridge.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { adminKey } from '../../support/harness.ts'
import {
  legacyProtocol,
  modernRpc,
  openModern,
  startSession,
  tasksCapability,
} from '../../support/mcp-wire.ts'

const timings = { inlineHoldMs: 50, roundHoldMs: 400, progressMs: 20, taskAfterMs: 20 }
const { h, agent } = await useGatedAgent(timings)
let count = 0

/** Arguments that no other test uses: the same request would find the other test's call. */
const fresh = () => ({ word: `w${++count}` })

interface ModernOptions {
  key?: string
  capabilities?: object
}

function modern(
  method: string,
  params: Record<string, any>,
  options: ModernOptions = {},
): Promise<RpcAnswer> {
  return modernRpc(agent.url, options.key ?? agent.callerKey, method, params, options.capabilities)
}

/** Calls a tool as a plain caller. */
const plain = (name: string, args: object, key = agent.callerKey) => callRaw(agent.url, key, name, args)

const tasks = { capabilities: tasksCapability }

async function callOf(id: string): Promise<Record<string, any>> {
  const fields =
    'id status source isError errorCode agent { id } attempts { attempt } approval { id status voidReason }'
  const { data } = await h.gql(`query($id: ID!) { toolCall(id: $id) { ${fields} } }`, { id })
  return data['toolCall']
}

/** Waits for the pending approval of a call with this word. */
async function pendingWith(word: string): Promise<Record<string, any>> {
  const all = '{ approvals(filter: { statuses: [PENDING] }) { nodes { id toolCall { id arguments } } } }'
  const find = async () =>
    (await h.gql(all)).data['approvals'].nodes.find((one: any) => one.toolCall?.arguments.word === word)
  const asked = 'subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED]) { type } }'
  let found = await find()
  while (!found) {
    await h.collect(asked, {}, () => true)
    found = await find()
  }
  return found
}

/** Waits for an event of the project for which `found` is true. */
function eventOf(types: string, found: (event: any) => boolean): Promise<any[]> {
  const watch = `subscription { projectEvents(after: "0", types: [${types}]) { type ... on ToolCallSettledEvent { toolCall { id } } } }`
  return h.collect(watch, {}, (events) => events.some(found))
}

describe('a plain caller', () => {
  test('gets a pending result that is no error, and the result by the same request, once', async () => {
    const args = fresh()
    const first = await plain('pay', args)
    expect(first.body['result']).toMatchObject({
      isError: false,
      structuredContent: {
        status: 'pending_approval',
        call_id: expect.stringMatching(/^call_/),
        approval_id: expect.stringMatching(/^apr_/),
      },
    })
    const { call_id: id } = first.body['result'].structuredContent
    const again = await plain('pay', args)
    expect(again.body['result'].structuredContent.call_id).toBe(id)
    const before = agent.paid()
    await agent.decide()
    const done = await plain('approval_wait', { call_id: id })
    const later = done.body['result'].structuredContent ? await plain('pay', args) : done
    expect(later.body['result'].content[0].text).toContain(`done: /pay {"word":"${args.word}"}`)
    expect(agent.paid()).toBe(before + 1)
    expect(await callOf(id)).toMatchObject({
      source: 'BRIDGE',
      status: 'SUCCEEDED',
      agent: { id: agent.agentId },
    })
    // Its outcome was delivered: the same request is a new call now, and needs approval again.
    const renewed = await plain('pay', args)
    expect(renewed.body['result'].structuredContent.call_id).not.toBe(id)
    await agent.decide('REJECT')
  })

  test('whose outcome was not fetched for a day needs a new approval for the same request', async () => {
    const args = fresh()
    const first = await plain('pay', args)
    const { call_id: id } = first.body['result'].structuredContent
    await agent.decide()
    const age = async (hours: number) => {
      const { db } = h.app.services
      await query(
        db,
        sql`update tool_calls set settled_at = now() - ${hours}::float8 * interval '1 hour' where id = ${id}`,
      )
    }
    await eventOf('TOOL_CALL_SETTLED', (event) => event.toolCall.id === id)
    await age(25)
    const before = agent.paid()
    const later = await plain('pay', args)
    expect(later.body['result'].structuredContent).toMatchObject({ status: 'pending_approval' })
    expect(later.body['result'].structuredContent.call_id).not.toBe(id)
    await agent.decide('REJECT')
    expect(agent.paid()).toBe(before)
  })

  test('another caller with the same request gets its own call, and cannot see the first', async () => {
    const args = fresh()
    const mine = await plain('pay', args)
    const other = await plain('pay', args, adminKey)
    const ids = [mine, other].map((answer) => answer.body['result'].structuredContent.call_id)
    expect(ids[0]).not.toBe(ids[1])
    const peek = await plain('approval_wait', { call_id: ids[0] }, adminKey)
    expect(peek.body['error']).toMatchObject({ code: -32602, data: { type: 'not_found' } })
    await agent.decide('REJECT')
    await agent.decide('REJECT')
  })

  test('finds its call again by its idempotency key; other arguments are a conflict', async () => {
    const args = { ...fresh(), idempotency_key: `key ${count}` }
    const first = await plain('pay', args)
    const again = await plain('pay', args)
    expect(again.body['result'].structuredContent.call_id).toBe(
      first.body['result'].structuredContent.call_id,
    )
    const other = await plain('pay', { ...args, word: 'other' })
    expect(other.body['error']).toMatchObject({ code: 409001, data: { type: 'idempotency_conflict' } })
    await agent.decide('REJECT')
    const told = await plain('pay', args)
    expect(told.body['result']).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'approval_rejected' } },
    })
  })
})

describe('a modern client', () => {
  test('gets a new requestState in every round until there is a result', async () => {
    const params = { name: 'pay', arguments: fresh() }
    const states = new Set<string>()
    let answer = await modern('tools/call', params)
    for (let round = 0; round < 3; round++) {
      const { resultType, requestState, inputRequests } = answer.body['result']
      expect([resultType, inputRequests]).toEqual(['input_required', undefined])
      states.add(requestState)
      answer = await modern('tools/call', { ...params, requestState })
    }
    expect(states.size).toBe(3)
    const decided = agent.decide()
    while (answer.body['result'].resultType === 'input_required')
      answer = await modern('tools/call', { ...params, requestState: answer.body['result'].requestState })
    await decided
    expect(answer.body['result']).toMatchObject({ resultType: 'complete', isError: false })
  })

  test('is refused with the requestState of another caller, of another request, or a changed one', async () => {
    const params = { name: 'pay', arguments: fresh() }
    const { requestState } = (await modern('tools/call', params)).body['result']
    const changed =
      requestState.slice(0, -2) + (requestState.at(-2) === 'A' ? 'B' : 'A') + requestState.at(-1)
    const tries = [
      modern('tools/call', { ...params, requestState }, { key: adminKey }),
      modern('tools/call', { name: 'pay', arguments: fresh(), requestState }),
      modern('tools/call', { ...params, requestState: changed }),
    ]
    for (const { body } of await Promise.all(tries)) expect(body['error'].code).toBe(-32602)
    await agent.decide('REJECT')
  })

  test('that disconnects withdraws nothing: a person decides, and its repeat finds the outcome', async () => {
    const params = { name: 'pay', arguments: fresh() }
    const before = agent.paid()
    const { requestState } = (await modern('tools/call', params)).body['result']
    const disconnect = await hold({ ...params, requestState })
    disconnect()
    await agent.decide()
    await eventOf('TOOL_CALL_SETTLED', () => agent.paid() === before + 1)
    const { body } = await modern('tools/call', params)
    expect(body['result'].content[0].text).toContain(params.arguments.word)
    expect(agent.paid()).toBe(before + 1)
  })
})

/** Opens a round and waits until the server holds it. The returned function disconnects. */
async function hold(params: Record<string, any>): Promise<() => void> {
  const connection = new AbortController()
  const { url, callerKey } = agent
  const held = { ...params, _meta: { progressToken: 1 } }
  const response = await openModern(url, callerKey, 'tools/call', held, connection.signal)
  const { value } = await response.body!.getReader().read()
  expect(Buffer.from(value!).toString()).toContain('waiting for approval')
  return () => connection.abort()
}

describe('a task', () => {
  test('is working while a person decides, and completes with the result', async () => {
    const made = (await modern('tools/call', { name: 'pay', arguments: fresh() }, tasks)).body['result']
    expect(made).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 86_400_000 })
    expect(made.statusMessage).toMatch(/^Waiting for a person to approve, until \d{4}-/)
    const { taskId } = made
    const decided = agent.decide()
    let seen = (await modern('tasks/get', { taskId }, tasks)).body['result']
    while (seen.status === 'working') seen = (await modern('tasks/get', { taskId }, tasks)).body['result']
    await decided
    expect(seen).toMatchObject({ resultType: 'complete', status: 'completed', result: { isError: false } })
  })

  test('of another caller gets the same error as one that never existed', async () => {
    const { taskId } = (await modern('tools/call', { name: 'pay', arguments: fresh() }, tasks)).body['result']
    const words = []
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      for (const id of [taskId, 'call_nobody.nothing', 'x', taskId.replace('.', '.A')]) {
        const key = id === taskId ? adminKey : agent.callerKey
        words.push((await modern(method, { taskId: id }, { ...tasks, key })).body['error'])
      }
    expect(new Set(words.map((error) => JSON.stringify([error.code, error.message])))).toEqual(
      new Set(['[-32602,"Unknown task"]']),
    )
    await modern('tasks/cancel', { taskId }, tasks)
  })

  test('that is cancelled voids its approval, and nothing runs', async () => {
    const before = agent.paid()
    const { taskId } = (await modern('tools/call', { name: 'pay', arguments: fresh() }, tasks)).body['result']
    const ack = await modern('tasks/cancel', { taskId }, tasks)
    expect(ack.body['result']).toMatchObject({ resultType: 'complete' })
    const seen = await modern('tasks/get', { taskId }, tasks)
    expect(seen.body['result'].status).toBe('cancelled')
    expect((await modern('tasks/cancel', { taskId }, tasks)).body['error']).toBeUndefined()
    expect(agent.paid()).toBe(before)
    expect(await callOf(taskId.split('.')[0])).toMatchObject({ approval: { voidReason: 'WITHDRAWN' } })
  })
})

describe('a legacy client', () => {
  test('that disconnects has cancelled nothing: the call is approved, runs, and is found when it comes back', async () => {
    const args = fresh()
    const before = agent.paid()
    const connection = new AbortController()
    const headers = {
      'content-type': 'application/json',
      'x-agent-api-key': agent.callerKey,
      'mcp-protocol-version': legacyProtocol,
      accept: 'application/json, text/event-stream',
    }
    const params = { name: 'pay', arguments: args, _meta: { progressToken: 1 } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const response = await fetch(agent.url, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
      signal: connection.signal,
    })
    const reader = response.body!.getReader()
    const heard = Buffer.from((await reader.read()).value!).toString()
    expect(heard).toContain('waiting for approval')
    connection.abort()
    await agent.decide()
    await eventOf('TOOL_CALL_SETTLED', () => agent.paid() === before + 1)
    const { body } = await plain('pay', args)
    expect(body['result'].content[0].text).toContain(args.word)
    expect(agent.paid()).toBe(before + 1)
  })

  test.each([['pay'], ['teller']])(
    'that waits for %s receives the new deadline when a person gets longer time, and then the later verdict',
    async (name) => {
      const { url, callerKey } = agent
      const args = fresh()
      const message = `call pay ${JSON.stringify(args)}\nthen\nsay done`
      const params = {
        name,
        arguments: name === 'pay' ? args : { message },
        _meta: { progressToken: 1 },
      }
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-agent-api-key': callerKey,
          'mcp-protocol-version': legacyProtocol,
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      })
      const reader = response.body!.getReader()
      let heard = ''
      const until = async (found: (seconds: number) => boolean) => {
        for (;;) {
          const left = [...heard.matchAll(/waiting for approval, (\d+) s left/g)].map((match) =>
            Number(match[1]),
          )
          if (left.length > 0 && found(left.at(-1)!)) return
          const { value, done } = await reader.read()
          if (done) throw new Error(`the stream ended: ${heard}`)
          heard += Buffer.from(value).toString()
        }
      }
      await until((seconds) => seconds <= 300)
      const { data } = await h.gql('{ approvals(filter: { statuses: [PENDING] }) { nodes { id } } }')
      const approvalId = data['approvals'].nodes[0].id
      const extended = await h.mutate(
        'extendApproval',
        { approvalId, until: new Date(Date.now() + 7_200_000).toISOString() },
        'approval { expiresAt }',
      )
      expect(extended['__typename']).toBe('ApprovalPayload')
      await until((seconds) => seconds > 7000)
      const before = agent.paid()
      await agent.decide()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        heard += Buffer.from(value).toString()
      }
      expect(heard).toContain(name === 'pay' ? args.word : 'done')
      expect(agent.paid()).toBe(before + 1)
    },
  )

  test('that cancels its request, as clients do at their own time limit, withdraws nothing, and the same request joins again', async () => {
    const { url, callerKey } = agent
    const session = await startSession(url, callerKey)
    const params = { name: 'pay', arguments: fresh(), _meta: { progressToken: 1 } }
    const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params })
    const before = agent.paid()
    const held = rpc(url, callerKey, call(9), session)
    const { toolCall } = await pendingWith(params.arguments.word)
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
    await rpc(url, callerKey, cancel, session)
    await held
    expect(await callOf(toolCall.id)).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { status: 'PENDING' },
    })
    const joined = rpc(url, callerKey, call(10), session)
    await agent.decide()
    expect(JSON.stringify((await joined).body)).toContain(params.arguments.word)
    expect(await callOf(toolCall.id)).toMatchObject({ status: 'SUCCEEDED' })
    expect(agent.paid()).toBe(before + 1)
  })
})

describe('approval_cancel', () => {
  test('withdraws the call of its caller, and of nobody else', async () => {
    const before = agent.paid()
    const first = await plain('pay', fresh())
    const { call_id: id } = first.body['result'].structuredContent
    const other = await plain('approval_cancel', { call_id: id }, adminKey)
    expect(other.body['error']).toMatchObject({ code: -32602, data: { type: 'not_found' } })
    expect(await callOf(id)).toMatchObject({ status: 'AWAITING_APPROVAL' })
    for (const _ of [1, 2]) {
      const { body } = await plain('approval_cancel', { call_id: id })
      expect(body['result']).toMatchObject({
        isError: false,
        structuredContent: { status: 'cancelled', call_id: id },
      })
    }
    expect(await callOf(id)).toMatchObject({
      status: 'CANCELLED',
      approval: { status: 'VOIDED', voidReason: 'WITHDRAWN' },
    })
    expect(agent.paid()).toBe(before)
  })

  test('is what cancelToolCall is in GraphQL', async () => {
    const first = await plain('pay', fresh())
    const { call_id: toolCallId } = first.body['result'].structuredContent
    const other = await h.mutate('cancelToolCall', { toolCallId }, 'toolCall { status }')
    expect(other['__typename']).toBe('NotFoundError')
    const own = await h.mutate('cancelToolCall', { toolCallId }, 'toolCall { status }', agent.callerKey)
    expect(own['toolCall']).toEqual({ status: 'CANCELLED' })
  })
})

describe('the caller', () => {
  test('finds no tool on either server that approves', async () => {
    for (const url of [agent.url, `${h.url}/mcp`]) {
      const { body } = await rpc(url, adminKey, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
      const names: string[] = body['result'].tools.map((tool: any) => tool.name)
      expect(names.length).toBeGreaterThan(3)
      expect(names.filter((name) => /decide|resolve|grant/.test(name))).toEqual([])
    }
    for (const name of ['decide-approval', 'decide-approvals', 'decideApproval']) {
      const { body } = await callRaw(`${h.url}/mcp`, adminKey, name, {
        approvalId: 'x',
        verdict: 'APPROVE',
      })
      expect(body['error'].data.type).toBe('unknown_tool')
    }
  })

  test('cannot approve with tasks/update or inputResponses', async () => {
    const before = agent.paid()
    const args = fresh()
    const yes = { approval: { action: 'accept', content: { approve: true } } }
    const { taskId } = (await modern('tools/call', { name: 'pay', arguments: args }, tasks)).body['result']
    await modern('tasks/update', { taskId, inputResponses: yes }, tasks)
    expect((await modern('tasks/get', { taskId }, tasks)).body['result'].status).toBe('working')
    const again = fresh()
    const { requestState } = (await modern('tools/call', { name: 'pay', arguments: again })).body['result']
    const params = { name: 'pay', arguments: again, requestState, inputResponses: yes }
    expect((await modern('tools/call', params)).body['result'].resultType).toBe('input_required')
    expect(agent.paid()).toBe(before)
    await agent.decide('REJECT')
    await agent.decide('REJECT')
  })

  test("an agent's gate stops a tool without a gate, and never loosens a tool's own gate", async () => {
    const strict = await h.mutate(
      'createAgent',
      {
        name: 'strict',
        toolIds: [agent.tools.echo],
        gate: { autoApprove: false },
        mcp: { enabled: true },
      },
      'agent { id }',
    )
    const loose = await h.mutate(
      'createAgent',
      { name: 'loose', toolIds: [agent.tools.pay], gate: { autoApprove: true }, mcp: { enabled: true } },
      'agent { id }',
    )
    for (const [id, name] of [
      [strict['agent'].id, 'echo'],
      [loose['agent'].id, 'pay'],
    ]) {
      const { body } = await callRaw(`${h.url}/mcp/${id}`, agent.callerKey, name, fresh())
      expect(body['result'].structuredContent.status).toBe('pending_approval')
    }
  })
})
