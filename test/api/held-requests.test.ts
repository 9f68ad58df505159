/** Requests that are held while something runs or a person is asked: they count as streams of their key, and end with it. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeGatedAgent } from '../support/gated-agent.ts'
import { openHarness } from '../support/harness.ts'
import { watchPlaces, type Places } from '../support/held-places.ts'
import { runApis } from '../support/run-apis.ts'
import { forFile } from '../support/for-file.ts'

let key: { id: string; secret: string }
let places: Places
// Holds far longer than a test may take, so that a request which is not ended fails it.
const holds = { inlineHoldMs: 600_000, roundHoldMs: 600_000, runMs: 600_000 }
const h = await forFile(openHarness({ maxStreamsPerKey: 2, toolTimeoutMs: 600_000 }, { mcp: holds }))
const agent = await forFile(makeGatedAgent(h))
beforeEach(async () => {
  const made = await h.mutate('createApiKey', { name: 'c', role: 'CALLER' }, 'apiKey { id } secret')
  key = { secret: made['secret'], id: made['apiKey'].id }
  places = watchPlaces([h], key.id)
})
afterEach(() => places.stop())

const pays = 'call pay {"word":"a"}\nthen\nsay paid'

function post(path: string, body: object, headers: Record<string, string> = {}) {
  return fetch(`${h.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key.secret}`, ...headers },
    body: JSON.stringify(body),
  })
}
const patient = { prefer: 'wait=300' }
const callPay = () => post(`/api/v1/tools/${agent.tools.pay}/call`, { input: { word: 'a' } }, patient)

/** The status, and what the response ends with: a stream that was cut off has no rest. */
async function endOf(sent: Promise<Response>): Promise<{ status: number; said: string }> {
  const response = await sent
  return { status: response.status, said: await response.text().catch(() => 'cut off') }
}

const streams: Record<string, () => Promise<Response>> = {
  'a REST stream': () =>
    post(
      `/api/v1/agents/${agent.agentId}/generate`,
      { messages: [{ role: 'user', content: pays }], stream: true },
      patient,
    ),
  'a stream of Responses': () => post('/v1/responses', { model: 'teller', input: pays, stream: true }),
  'a stream of chat completions': () =>
    post('/v1/chat/completions', {
      model: 'teller',
      messages: [{ role: 'user', content: pays }],
      stream: true,
    }),
  'a stream of A2A': () =>
    post(
      '/a2a/teller',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: { message: { messageId: 's', role: 'ROLE_USER', parts: [{ text: pays }] } },
      },
      { 'a2a-version': '1.0' },
    ),
  'a REST call': callPay,
  'an MCP call': () =>
    post(`/mcp/${agent.agentId}`, {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'pay', arguments: { word: 'm' } },
    }),
}

test.each(Object.keys(streams))(
  '%s that waits at a gate counts once, and ends with its key',
  async (name) => {
    const held = endOf(streams[name]!())
    await places.until(1)
    await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    const { status, said } = await held
    if (name === 'a REST call') expect({ status, said }).toMatchObject({ status: 401 })
    if (name === 'an MCP call') expect(said).toMatch(/unauthenticated/i)
    expect(places.count()).toBe(0)
  },
)

test.each(['rest', 'responses', 'completions', 'chat', 'agUi', 'copilotKit', 'a2a', 'mcp'] as const)(
  'a run that is started over %s counts once, and ends with its key',
  async (name) => {
    const door = { url: h.url, key: key.secret, agent: { id: agent.agentId, name: 'teller' } }
    const held = runApis[name].start(door, pays).then(
      (outcome) => outcome,
      () => 'cut off',
    )
    await places.until(1)
    await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    await held
    expect(places.count()).toBe(0)
  },
)

test('a clock of the host that is set back by an hour does not make a request wait longer', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  try {
    const held = post(
      `/api/v1/tools/${agent.tools.pay}/call`,
      { input: { word: 'back' } },
      { prefer: 'wait=1' },
    )
    await places.until(1)
    vi.setSystemTime(Date.now() - 3_600_000)
    expect((await held).status).toBe(202)
  } finally {
    vi.useRealTimers()
  }
})

test('beyond the streams that a key may have, a request is told what it waits for, and its call stays', async () => {
  const held = [endOf(callPay()), endOf(callPay())]
  await places.until(2)
  const third = await callPay()
  expect(third.status).toBe(202)
  expect(await third.json()).toMatchObject({ status: 'awaiting_approval' })
  const query = 'subscription { projectEvents { cursor } }'
  const refused = await post('/graphql', { query }, { accept: 'text/event-stream' })
  expect(await refused.text()).toContain('LIMITED')
  const mine = async () =>
    (await h.gql('{ approvals(filter: { statuses: [PENDING] }) { nodes { id requestedBy } } }')).data[
      'approvals'
    ].nodes.filter((one: { requestedBy: string }) => one.requestedBy === key.id)
  for (const { id } of await mine())
    await h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, 'approval { id }')
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
  await places.until(0)
  const again = await fetch(`${h.url}${third.headers.get('location')}`, {
    headers: { authorization: `Bearer ${key.secret}`, ...patient },
  })
  expect(await again.json()).toMatchObject({ status: 'succeeded' })
})
