/** Clients that leave, or take their request back, in the moment in which their call is being written down. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rpc } from '../../support/bridge.ts'
import { makeGatedAgent, type GatedAgent } from '../../support/gated-agent.ts'
import { openHarness, type Harness } from '../../support/harness.ts'

let h: Harness
let agent: GatedAgent

beforeAll(async () => {
  h = await openHarness({}, { mcp: { graceMs: 50 } })
  agent = await makeGatedAgent(h)
})
afterAll(async () => {
  await agent?.close()
  await h?.stop()
})

const accept = 'application/json, text/event-stream'

/** The next transaction waits until it is released. */
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

/** What became of the call with this word, once it has ended. */
async function ended(word: string): Promise<Record<string, any>> {
  const fields = 'toolCall { status arguments approval { status voidReason } }'
  const query = `subscription { projectEvents(after: "0", types: [TOOL_CALL_SETTLED]) { type ... on ToolCallSettledEvent { ${fields} } } }`
  const ours = (event: any) => event.toolCall?.arguments.word === word
  return (await h.collect(query, {}, (events) => events.some(ours))).find(ours).toolCall
}

const withdrawn = { status: 'CANCELLED', approval: { status: 'VOIDED', voidReason: 'WITHDRAWN' } }

test('a request that is taken back while its call is written down is taken back', async () => {
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const started = await rpc(
    agent.url,
    agent.callerKey,
    { jsonrpc: '2.0', id: 0, method: 'initialize', params: hello },
    { accept },
  )
  const session = {
    accept,
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': started.headers.get('mcp-session-id')!,
  }
  const { reached, release } = holdNext()
  const params = { name: 'pay', arguments: { word: 'taken back' }, _meta: { progressToken: 1 } }
  const call = rpc(
    agent.url,
    agent.callerKey,
    { jsonrpc: '2.0', id: 9, method: 'tools/call', params },
    session,
  )
  await reached
  const back = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
  await rpc(agent.url, agent.callerKey, back, session)
  release()
  await call
  expect(await ended('taken back')).toMatchObject(withdrawn)
})

test('a client of the new era that hangs up while its call is written down has it withdrawn', async () => {
  const { reached, release } = holdNext()
  const gone = new AbortController()
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'pay', arguments: { word: 'hung up' }, _meta }
  const call = fetch(agent.url, {
    method: 'POST',
    signal: gone.signal,
    headers: {
      accept,
      'content-type': 'application/json',
      authorization: `Bearer ${agent.callerKey}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'pay',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  }).catch(() => null)
  await reached
  gone.abort()
  await call
  // The server has heard of the closed connection by the time it has answered another one.
  await rpc(agent.url, agent.callerKey, { jsonrpc: '2.0', id: 1, method: 'ping' })
  release()
  expect(await ended('hung up')).toMatchObject(withdrawn)
})

test('a stream that is refused, or over, is kept by nobody', async () => {
  const { revocations } = h.app.services
  const keep = revocations.onRevoked.bind(revocations)
  const kept = { all: 0, now: 0 }
  revocations.onRevoked = (principal, end) => {
    kept.all++
    kept.now++
    const forget = keep(principal, end)
    return () => {
      kept.now--
      forget()
    }
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const method = 'subscriptions/listen'
  const params = { notifications: { toolsListChanged: 'no boolean' }, _meta }
  const headers = { accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
  const refused = await rpc(agent.url, agent.callerKey, { jsonrpc: '2.0', id: 1, method, params }, headers)
  expect(refused.body['error']).toBeDefined()
  expect(kept.all).toBe(1)
  await expect.poll(() => kept.now).toBe(0)
  revocations.onRevoked = keep
})
