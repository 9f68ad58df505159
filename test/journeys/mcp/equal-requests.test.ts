/** A client over MCP that sends a request again without a key, because it lost the answer or was told to: one question, one execution. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { forgetAwaited } from '../../../src/domain/generations/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { hasPostgres } from '../../support/databases.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { holdResponse } from '../../support/held-statement.ts'
import { modernRpc, startSession, tasksCapability } from '../../support/mcp-wire.ts'
import { startModern } from '../../support/upstream-servers.ts'

const { h, agent } = await useGatedAgent({ inlineHoldMs: 50 })
let count = 0

/** A message that no other test uses, which calls the gated tool. */
const fresh = () => ({ message: `call pay {"word":"w${++count}"}\nthen\nsay paid` })

async function resultOf(name: string, args: object, more: Record<string, string> = {}) {
  const { body } = await callRaw(agent.url, agent.callerKey, name, args, more)
  return body['result'] as Record<string, any>
}
const idOf = (result: Record<string, any>): string => result['structuredContent'].call_id

const questions = async (): Promise<string[]> => {
  const { data } = await h.gql('{ approvals(filter: { statuses: [PENDING] }, first: 100) { nodes { id } } }')
  return data['approvals'].nodes.map(({ id }: { id: string }) => id)
}

/** Holds the next transaction before its end until `release`; `reached` resolves when it has done its work. */
function holdEnd(): { reached: Promise<void>; release(): void } {
  const { db } = h.app.services
  const begin = db.transaction.bind(db)
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const reached = new Promise<void>((resolve) => {
    db.transaction = ((work: (tx: never) => Promise<unknown>) => {
      db.transaction = begin
      return begin(async (tx) => {
        const made = await work(tx as never)
        resolve()
        await released
        return made
      })
    }) as typeof db.transaction
  })
  return { reached, release }
}

test.skipIf(!hasPostgres)('of two equal calls at once, one asks, and the other joins it', async () => {
  const args = { word: 'at once' }
  const { reached, release } = holdEnd()
  const first = resultOf('pay', args)
  await reached
  let isAnswered = false
  const second = resultOf('pay', args).finally(() => (isAnswered = true))
  const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`
  await expect.poll(async () => isAnswered || (await query(h.app.services.db, waiting)).length > 0).toBe(true)
  release()
  expect(idOf(await second)).toBe(idOf(await first))
  expect(await questions()).toHaveLength(1)
  await agent.decide('REJECT')
})

test('a run at the gate is joined by the request that repeats it unchanged, as the client was told', async () => {
  const args = fresh()
  const before = agent.paid()
  const first = await resultOf('teller', args)
  expect(first['content'][0].text).toContain('or repeat this request unchanged')
  const again = await resultOf('teller', args)
  expect(idOf(again)).toBe(idOf(first))
  expect(await questions()).toHaveLength(1)
  await agent.decide()
  await h.until(idOf(first), ['COMPLETED'])
  expect((await resultOf('teller', args))['content'][0].text).toBe('paid')
  expect(agent.paid()).toBe(before + 1)
  // Its answer was delivered: from now on the same words are a new run.
  const next = await resultOf('teller', args)
  expect(idOf(next)).not.toBe(idOf(first))
  await agent.decide('REJECT')
})

test('the same words later in another conversation, with a key, or of another caller are runs of their own', async () => {
  const args = fresh()
  const ids = [
    idOf(await resultOf('teller', args)),
    idOf(await resultOf('teller', { ...args, idempotency_key: 'own' })),
  ]
  for (const words of ['good morning', 'good evening']) {
    const session = await startSession(agent.url, agent.callerKey)
    await resultOf('teller', { message: `say ${words}` }, session)
    const made = idOf(await resultOf('teller', args, session))
    expect(idOf(await resultOf('teller', args, session))).toBe(made)
    ids.push(made)
  }
  const other = (await h.mutate('createApiKey', { name: 'other', role: 'CALLER' }, 'secret'))['secret']
  ids.push(idOf((await callRaw(agent.url, other, 'teller', args)).body['result'] as Record<string, any>))
  expect(new Set(ids).size).toBe(5)
  for (const _ of ids) await agent.decide('REJECT')
})

test.each([
  ['a call of a tool', 'pay', () => ({ word: `s${++count}` })],
  ['a run of the agent', 'teller', fresh],
] as const)(
  'a client that opens a session for each call is asked about once: %s',
  async (_what, name, argumentsOf) => {
    const args = argumentsOf()
    const before = agent.paid()
    const inNewSession = async () => resultOf(name, args, await startSession(agent.url, agent.callerKey))
    const first = await inNewSession()
    expect(first['content'][0].text).toContain('or repeat this request unchanged')
    expect(idOf(await inNewSession())).toBe(idOf(first))
    expect(idOf(await resultOf(name, args))).toBe(idOf(first))
    expect(await questions()).toHaveLength(1)
    await agent.decide()
    await expect.poll(() => agent.paid()).toBe(before + 1)
    // What nobody has fetched is the outcome of the next equal request.
    await expect
      .poll(async () => (await inNewSession())['structuredContent']?.status)
      .not.toBe('pending_approval')
    expect(await questions()).toEqual([])
    expect(agent.paid()).toBe(before + 1)
    // That was delivered: the same words are a new request.
    expect(idOf(await inNewSession())).not.toBe(idOf(first))
    await agent.decide('REJECT')
  },
)

test('a run that no gate has stopped is joined by nobody: its conversation is that of one client', async () => {
  const args = { message: 'slow 1s before\nsay hello' }
  const made = await Promise.all([resultOf('teller', args), resultOf('teller', args)])
  expect(made.map((one) => one['content'][0].text)).toEqual(['hello', 'hello'])
  const [one, two] = made.map((result) => result['_meta']['gatehouse/conversation_id'])
  expect(one).toEqual(expect.any(String))
  expect(one).not.toBe(two)
})

test('a task that its server refused was fetched, too: the same request is a new call', async () => {
  const upstream = await startModern()
  try {
    const run = () => Promise.reject(Object.assign(new Error('Not today.'), { code: -32050 }))
    upstream.tools.set('refuse', { tool: { name: 'refuse' }, run })
    const config = { mcp: { url: upstream.url } }
    const made = await h.mutate(
      'createTool',
      { name: 'far', config, gate: { mode: 'ALWAYS' } },
      'tool { id }',
    )
    const tool = made['tool'].id as string
    const input = { name: 'far', toolIds: [tool], mcp: { enabled: true } }
    const { agent: far } = await h.mutate('createAgent', input, 'agent { id }')
    const ask = async (method: string, params: object) => {
      const url = `${h.url}/mcp/${far.id}`
      return (await modernRpc(url, agent.callerKey, method, params, tasksCapability)).body['result'] as any
    }
    const call = { name: 'far_refuse', arguments: {} }
    const { taskId } = await ask('tools/call', call)
    expect((await ask('tools/call', call)).taskId).toBe(taskId)
    const [approvalId] = await questions()
    await h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, '__typename')
    const state = () => ask('tasks/get', { taskId })
    await expect.poll(state).toMatchObject({ status: 'failed', error: { code: -32050 } })
    const next = await ask('tools/call', call)
    expect(next).toMatchObject({ resultType: 'task', status: 'working' })
    expect(next.taskId).not.toBe(taskId)
  } finally {
    await upstream.kill()
  }
})

test('a run that has waited at the gate for longer than the window is joined, and its answer is kept for a day after its end', async () => {
  const args = fresh()
  const before = agent.paid()
  const first = idOf(await resultOf('teller', args))
  const asked = (await questions()).length
  const { db } = h.app.services
  const age = () =>
    query(
      db,
      sql`with aged as (
          update generations set created_at = created_at - interval '2 days' where id = ${first}
        )
        update awaited_requests set expires_at = expires_at - interval '2 days' where generation_id = ${first}`,
    )
  await age()
  await forgetAwaited(db)
  expect(idOf(await resultOf('teller', args))).toBe(first)
  expect(await questions()).toHaveLength(asked)
  await agent.decide()
  await h.until(first, ['COMPLETED'])
  await forgetAwaited(db)
  const answer = await resultOf('teller', args)
  expect([answer['content'][0].text, answer['_meta']['gatehouse/call_id']]).toEqual(['paid', first])
  expect(agent.paid()).toBe(before + 1)
})

test.each([
  ['a call of a tool', 'pay', () => ({ word: `cut ${++count}` }), 'tool_calls as t set awaited'],
  ['a run of the agent', 'teller', fresh, 'awaited_requests set delivered'],
] as const)(
  'an outcome that was cut off between the note that it was delivered and its last byte is kept: %s',
  async (_what, name, argumentsOf, note) => {
    const args = argumentsOf()
    const others = await questions()
    const before = agent.paid()
    const first = await resultOf(name, args)
    await agent.decide()
    await expect.poll(() => agent.paid()).toBe(before + 1)
    const { db } = h.app.services
    const noted = holdResponse(db, { begins: '', contains: `update ${note}`, value: idOf(first) })
    const takenBack = noted.done.then(() =>
      holdResponse(db, { begins: `update ${note}`, value: idOf(first) }),
    )
    const connection = new AbortController()
    const params = { name, arguments: args }
    const cut = fetch(agent.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-api-key': agent.callerKey },
      body: JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params }),
      signal: connection.signal,
    }).catch(() => null)
    const next = await takenBack
    connection.abort()
    await cut
    // When another request has its response, the server knows of the closed connection.
    await rpc(agent.url, agent.callerKey, { jsonrpc: '2.0', id: 4, method: 'ping' })
    noted.release()
    await next.done
    next.release()
    const again = await resultOf(name, args)
    expect(again['structuredContent']?.status).not.toBe('pending_approval')
    expect(again).toMatchObject({ isError: false })
    expect(await questions()).toEqual(others)
    expect(agent.paid()).toBe(before + 1)
    // Now it has arrived: the same words are a new request.
    expect(idOf(await resultOf(name, args))).not.toBe(idOf(first))
    await agent.decide('REJECT')
  },
)
