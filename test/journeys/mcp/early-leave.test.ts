/** Clients that disconnect, or cancel their request, while their call is being committed. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { rpc } from '../../support/bridge.ts'
import { holdResponse } from '../../support/held-statement.ts'
import {
  acceptStream,
  envelope,
  modernProtocol,
  modernRpc,
  openModern,
  startSession,
} from '../../support/mcp-wire.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'

const { h, agent } = await useGatedAgent({})

/** Makes the next transaction wait: `reached` resolves when it begins, `release` lets it go on. */
function holdNext(): { reached: Promise<void>; release(): void } {
  const { db } = h.app.services
  const begin = db.transaction.bind(db)
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const reached = new Promise<void>((resolve) => {
    db.transaction = (async (work: never) => {
      db.transaction = begin
      resolve()
      await released
      return begin(work)
    }) as typeof db.transaction
  })
  return { reached, release }
}

async function projectOf(agentId: string): Promise<string> {
  const found = sql`select project_id as id from agents where id = ${agentId}`
  const [project] = await query<{ id: string }>(h.app.services.db, found)
  return project!.id
}

/** A modern call of the tool `echo`; null when the client has disconnected. */
function callWith(type: string, url: string, key: string, word: string, signal: AbortSignal) {
  const headers = {
    'content-type': type,
    accept: acceptStream,
    'x-agent-api-key': key,
    'mcp-protocol-version': modernProtocol,
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
  }
  const params = { name: 'echo', arguments: { word }, _meta: envelope() }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
  return fetch(url, { method: 'POST', signal, headers, body }).catch(() => null)
}

/** The newest question is about the call with this word. */
async function expectAsked(word: string): Promise<void> {
  const asked =
    '{ approvals(filter: { statuses: [PENDING] }, first: 50) { nodes { toolCall { status arguments } } } }'
  const questions = async () => (await h.gql(asked)).data['approvals'].nodes.map((one: any) => one.toolCall)
  await expect.poll(questions).toContainEqual({ status: 'AWAITING_APPROVAL', arguments: { word } })
}

test('an older client that cancels while its call is being committed ends its waiting, and the question stays', async () => {
  const { url, callerKey } = agent
  const session = await startSession(url, callerKey)
  const { reached, release } = holdNext()
  const params = { name: 'pay', arguments: { word: 'taken back' }, _meta: { progressToken: 1 } }
  const call = rpc(url, callerKey, { jsonrpc: '2.0', id: 9, method: 'tools/call', params }, session)
  await reached
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
  await rpc(url, callerKey, cancel, session)
  release()
  await call
  await expectAsked('taken back')
})

test('a modern client that disconnects while its call is being committed ends its waiting, and the question stays', async () => {
  const { url, callerKey } = agent
  const { reached, release } = holdNext()
  const connection = new AbortController()
  const params = { name: 'pay', arguments: { word: 'disconnected' } }
  const call = openModern(url, callerKey, 'tools/call', params, connection.signal).catch(() => null)
  await reached
  connection.abort()
  await call
  // When another request has its response, the server knows of the closed connection.
  await rpc(url, callerKey, { jsonrpc: '2.0', id: 1, method: 'ping' })
  release()
  await expectAsked('disconnected')
})

test.each(['application/json', 'application/json; charset=utf-8'])(
  'a modern client that disconnects before its call begins has made none (%s)',
  async (type) => {
    const { url, callerKey, agentId, upstream } = agent
    const { db, pubsub } = h.app.services
    const word = `never ${type.length}`
    // The surface has to be read again.
    pubsub.publish([{ kind: 'signal', name: 'surface', id: await projectOf(agentId) }])
    const { done, release } = holdResponse(db, { begins: 'select', value: agentId })
    const connection = new AbortController()
    const call = callWith(type, url, callerKey, word, connection.signal)
    await done
    connection.abort()
    await call
    await rpc(`${h.url}/mcp`, callerKey, { jsonrpc: '2.0', id: 1, method: 'ping' })
    release()
    const after = await modernRpc(url, callerKey, 'tools/call', {
      name: 'echo',
      arguments: { word: 'after' },
    })
    expect(after.body['result'].isError).toBe(false)
    const { data } = await h.gql('{ toolCalls(first: 50) { nodes { arguments } } }')
    const words = data['toolCalls'].nodes.map((one: any) => one.arguments.word)
    expect(words).toContain('after')
    expect(words).not.toContain(word)
    expect(upstream.seen.some(({ body }) => body.includes(word))).toBe(false)
  },
)

test('a stream that was refused or has ended is not registered for revocation', async () => {
  const { revocations } = h.app.services
  const onRevoked = revocations.onRevoked.bind(revocations)
  const registered = { ever: 0, now: 0 }
  revocations.onRevoked = (principal, end) => {
    registered.ever++
    registered.now++
    const forget = onRevoked(principal, end)
    return () => {
      registered.now--
      forget()
    }
  }
  const params = { notifications: { toolsListChanged: 'no boolean' } }
  const refused = await modernRpc(agent.url, agent.callerKey, 'subscriptions/listen', params)
  expect(refused.body['error']).toBeDefined()
  expect(registered.ever).toBe(1)
  await expect.poll(() => registered.now).toBe(0)
  revocations.onRevoked = onRevoked
})
