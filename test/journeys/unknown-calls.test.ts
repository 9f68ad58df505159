/** Calls whose outcome is unknown: listed, settled by a person, or sent once more under the same key. */
import { sql } from 'drizzle-orm'
import { afterEach, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { callFields, gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { leaveBehind } from '../support/left-behind.ts'
import { startLoopback } from '../support/loopback.ts'
import { respond, startScriptedMcp } from '../support/scripted-mcp.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { forFile } from '../support/for-file.ts'

const held: { destroy(): void }[] = []

const provider = await forFile(startStrictProvider())
const h = await forFile(openHarness())
// The first request of each path never gets a response.
const hanging = await forFile(
  startLoopback((request, response) => {
    if (request.url === '/cut') return void response.destroy()
    if (request.url === '/cut-together') {
      held.push(response)
      if (held.length === 6) for (const one of held) one.destroy()
      return
    }
    if (hanging.seen.filter((seen) => seen.url === request.url).length > 1) response.end('second answer')
  }),
)
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
await addProvider(h, provider, 'anthropic', 'wire')
afterEach(() => expect(provider.clear()).toBe(0))

const resolve = (toolCallId: string, outcome: string, more: object = {}, key?: string) =>
  h.mutate('resolveUnknownCall', { toolCallId, outcome, ...more }, `toolCall { ${callFields} }`, key)

/** A direct call whose worker died after it was sent. */
async function unknownCall(key?: string): Promise<{ id: string; tool: { id: string; name: string } }> {
  const tool = await gate.gated(null)
  const { id } = await gate.call(tool.id, { amount: 5 }, {}, key)
  await leaveBehind(h, id)
  return { id, tool }
}

const listed = async (toolId: string): Promise<string[]> => {
  const { data } = await h.gql(
    'query($id: ID) { toolCalls(filter: { statuses: [UNKNOWN], toolId: $id }) { nodes { id } } }',
    {
      id: toolId,
    },
  )
  return data['toolCalls'].nodes.map((node: { id: string }) => node.id)
}

describe('a person resolves', () => {
  test.each([
    ['SUCCEEDED', { ok: true }, { status: 'SUCCEEDED', isError: false, structuredContent: { ok: true } }],
    ['SUCCEEDED', 'a text', { status: 'SUCCEEDED', content: [{ type: 'text', text: 'a text' }] }],
    ['SUCCEEDED', null, { status: 'SUCCEEDED', isError: false, structuredContent: null }],
    [
      'FAILED',
      'it bounced',
      {
        status: 'ERRORED',
        isError: true,
        errorCode: 'resolved_failed',
        structuredContent: { error: { code: 'resolved_failed', message: 'it bounced' } },
      },
    ],
    ['FAILED', null, { status: 'ERRORED', errorCode: 'resolved_failed' }],
  ])('a call as %s with %j, and it is settled so', async (outcome, output, expected) => {
    const { id, tool } = await unknownCall()
    expect(await listed(tool.id)).toEqual([id])
    expect(await gate.toolCall(id)).toMatchObject({ status: 'UNKNOWN', errorCode: 'outcome_unknown' })
    const { secret, id: by } = await gate.key({ role: 'APPROVER' })
    const { toolCall } = await resolve(id, outcome, { output, reason: 'looked it up' }, secret)
    expect(toolCall).toMatchObject({ ...expected, resolution: outcome, resolvedBy: by, attempt: 1 })
    expect(await listed(tool.id)).toEqual([])
    expect(gate.paid(tool.name)).toHaveLength(1)
    const { data } = await h.gql('{ auditEntries(first: 1) { nodes { action principalId details } } }')
    expect(data['auditEntries'].nodes).toMatchObject([
      {
        action: 'toolCalls:Resolve',
        principalId: by,
        details: { toolCallId: id, outcome, reason: 'looked it up' },
      },
    ])
  })

  test('a call as RUN_AGAIN, and it is sent once more under the same Idempotency-Key', async () => {
    const { id, tool } = await unknownCall()
    expect((await resolve(id, 'RUN_AGAIN'))['toolCall']).toMatchObject({ status: 'PROPOSED' })
    const done = await gate.untilCall(id, ['SUCCEEDED'])
    expect(done).toMatchObject({
      resolution: 'RUN_AGAIN',
      attempt: 2,
      isError: false,
      attempts: [
        { attempt: 1, outcome: 'UNKNOWN', errorCode: 'outcome_unknown', idempotencyKey: id },
        { attempt: 2, outcome: 'SUCCEEDED', errorCode: null, idempotencyKey: id },
      ],
    })
    expect(gate.paid(tool.name).map((one) => one.key)).toEqual([id, id])
  })

  test('a call as RUN_AGAIN, which its caller cannot withdraw as one that was not run', async () => {
    const { id, tool } = await unknownCall()
    const { pause } = await h.mutate('pause', { toolId: tool.id }, 'pause { id }')
    await resolve(id, 'RUN_AGAIN')
    const left = await h.mutate('cancelToolCall', { toolCallId: id }, 'toolCall { status }')
    expect(left['toolCall'].status).toBe('PROPOSED')
    await h.mutate('resume', { pauseId: pause.id }, '__typename')
    expect(await gate.untilCall(id, ['SUCCEEDED', 'CANCELLED'])).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('a call as RUN_AGAIN that cannot be sent any more: nobody is told that it did not run', async () => {
    const key = await gate.key({ role: 'CALLER' })
    const { id } = await unknownCall(key.secret)
    await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    await resolve(id, 'RUN_AGAIN')
    const call = await gate.untilCall(id, ['UNKNOWN', 'ERRORED', 'SUCCEEDED'])
    expect(call).toMatchObject({
      status: 'UNKNOWN',
      errorCode: 'outcome_unknown',
      attempt: 1,
      resolution: null,
    })
    expect((await resolve(id, 'SUCCEEDED'))['toolCall']).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('a call as RUN_AGAIN that reaches nobody: what became of the first attempt is as unknown as before', async () => {
    const service = await startLoopback((_request, response) => void response.destroy())
    const http = { url: service.url, method: 'POST', inputSchema: objectSchema({}) }
    const { tool } = await h.mutate('createTool', { name: 'gone', config: { http } }, 'tool { id }')
    const { id, status } = await gate.call(tool.id, {})
    expect(status).toBe('UNKNOWN')
    await service.close()
    await resolve(id, 'RUN_AGAIN')
    await expect.poll(async () => (await gate.toolCall(id))['attempts']).toHaveLength(2)
    const call = await gate.untilCall(id, ['UNKNOWN', 'ERRORED'])
    expect(call).toMatchObject({ status: 'UNKNOWN', errorCode: 'outcome_unknown', resolution: null })
    expect(await listed(tool.id)).toEqual([id])
  })

  test('a call as RUN_AGAIN whose tool leads to another server by now, which does not get it', async () => {
    const [first, second] = await Promise.all([
      startScriptedMcp((response) => response.destroy()),
      startScriptedMcp((response, id) =>
        respond(response, 200, { jsonrpc: '2.0', id, result: { content: [] } }),
      ),
    ])
    const made = await h.mutate(
      'createTool',
      { name: 'bank', config: { mcp: { url: first.url } } },
      'tool { id }',
    )
    const { id: toolId } = made['tool']
    const called = await gate.call(toolId, {}, { action: 'pay' })
    expect(called).toMatchObject({ status: 'UNKNOWN' })
    await h.mutate('updateTool', { id: toolId, config: { mcp: { url: second.url } } }, 'tool { id }')
    await resolve(called['id'], 'RUN_AGAIN')
    await expect.poll(async () => (await gate.toolCall(called['id']))['attempts']).toHaveLength(2)
    expect(await gate.untilCall(called['id'], ['UNKNOWN', 'SUCCEEDED', 'ERRORED'])).toMatchObject({
      status: 'UNKNOWN',
    })
    expect([first.calls, second.calls]).toEqual([[called['id']], []])
    expect(await gate.call(toolId, {}, { action: 'pay' })).toMatchObject({ status: 'SUCCEEDED' })
    await Promise.all([first.close(), second.close()])
  })

  test('a call twice: the second one is refused, also at the same instant', async () => {
    const { id } = await unknownCall()
    const answers = await Promise.all(
      ['SUCCEEDED', 'FAILED', 'RUN_AGAIN', 'SUCCEEDED'].map((outcome) => resolve(id, outcome)),
    )
    expect(answers.filter((answer) => answer['toolCall'])).toHaveLength(1)
    for (const refused of answers.filter((answer) => !answer['toolCall']))
      expect(refused).toMatchObject({ __typename: 'ConflictError' })
    expect(await resolve(id, 'FAILED')).toMatchObject({ code: 'CONFLICT' })
  })

  test('a call that is not unknown, or with an output too many: it is refused', async () => {
    const tool = await gate.gated(null)
    const { id } = await gate.call(tool.id)
    expect(await resolve(id, 'SUCCEEDED')).toMatchObject({ __typename: 'ConflictError' })
    const unknown = await unknownCall()
    expect(await resolve(unknown.id, 'RUN_AGAIN', { output: 'x' })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'output'] }],
    })
    expect(await listed(unknown.tool.id)).toEqual([unknown.id])
  })

  test('a call, and the feed reports who resolved it and how', async () => {
    const { id } = await unknownCall()
    await resolve(id, 'FAILED')
    const told = await gate.feed(
      ['UNKNOWN_CALL_RESOLVED'],
      '... on UnknownCallResolvedEvent { outcome decidedBy toolCall { id status } }',
      (events) => events.some((event) => event['toolCall'].id === id),
    )
    const viewer = await h.gql('{ viewer { id } }')
    expect(told.at(-1)).toMatchObject({
      outcome: 'FAILED',
      decidedBy: viewer.data['viewer'].id,
      toolCall: { id, status: 'ERRORED' },
    })
  })

  test('a call although the tool is deleted: the definition that was sent is stored', async () => {
    const { id, tool } = await unknownCall()
    await h.mutate('deleteTool', { id: tool.id }, 'tool { id }')
    expect((await resolve(id, 'SUCCEEDED', { output: 'x' }))['toolCall']).toMatchObject({
      status: 'SUCCEEDED',
    })
  })
})

describe('the feed reports an unknown outcome of its own', () => {
  const types = ['TOOL_CALL_UNKNOWN', 'TOOL_CALL_SETTLED']
  const fields = `... on GenerationEvent { generationId }
    ... on ToolCallUnknownEvent { name reason toolCall { id status } }
    ... on ToolCallSettledEvent { status toolCall { id status } }`
  /** What the feed says of the call once it says that it is settled as UNKNOWN. */
  const toldOf = async (id: string) => {
    const of = (events: Record<string, any>[]) => events.filter((event) => event['toolCall'].id === id)
    const all = await gate.feed(types, fields, (events) =>
      of(events).some((event) => event['status'] === 'UNKNOWN'),
    )
    return of(all).map(({ cursor: _cursor, ...event }) => event)
  }
  const toolCall = (id: string) => ({ id, status: 'UNKNOWN' })

  test('of a direct call whose process was lost, just before the event that settles it', async () => {
    const { id, tool } = await unknownCall()
    expect((await toldOf(id)).slice(-2)).toEqual([
      {
        type: 'TOOL_CALL_UNKNOWN',
        generationId: null,
        name: tool.name,
        reason: 'WORKER_LOST',
        toolCall: toolCall(id),
      },
      { type: 'TOOL_CALL_SETTLED', generationId: null, status: 'UNKNOWN', toolCall: toolCall(id) },
    ])
  })

  test('of a direct call whose tool gave no final response', async () => {
    const http = { url: `${hanging.url}/cut`, method: 'POST', inputSchema: objectSchema({}) }
    const { tool } = await h.mutate('createTool', { name: 'cut', config: { http } }, 'tool { id }')
    const { id, status } = await gate.call(tool.id, {})
    expect(status).toBe('UNKNOWN')
    expect(await toldOf(id)).toMatchObject([
      { type: 'TOOL_CALL_UNKNOWN', reason: 'NO_RESPONSE' },
      { type: 'TOOL_CALL_SETTLED', status: 'UNKNOWN' },
    ])
  })

  test('of each of several direct calls whose responses were lost in the same moment', async () => {
    const http = { url: `${hanging.url}/cut-together`, method: 'POST', inputSchema: objectSchema({}) }
    const { tool } = await h.mutate('createTool', { name: 'cut_together', config: { http } }, 'tool { id }')
    const calls = await Promise.all(Array.from({ length: 6 }, () => gate.call(tool.id, {})))
    for (const { id } of calls)
      expect(await toldOf(id)).toMatchObject([
        { type: 'TOOL_CALL_UNKNOWN', reason: 'NO_RESPONSE' },
        { type: 'TOOL_CALL_SETTLED', status: 'UNKNOWN' },
      ])
  })

  test('of a call in a run, and so does the log of the run', async () => {
    const { id, call } = await lostCall('told', 'POST')
    const told = await toldOf(call.id)
    expect(told).toMatchObject([
      { type: 'TOOL_CALL_UNKNOWN', generationId: id, reason: 'WORKER_LOST' },
      { type: 'TOOL_CALL_SETTLED', generationId: id, status: 'UNKNOWN' },
    ])
    const log = `query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { type ${fields} } } } }`
    const { data } = await h.gql(log, { id })
    const nodes = data['generation'].events.nodes as { type: string }[]
    expect(nodes.filter(({ type }) => types.includes(type))).toEqual(told)
  })
})

/** Starts a run whose call gets no response from the upstream, and ends its worker's lease. */
async function lostCall(name: string, method: string) {
  const config = { http: { url: `${hanging.url}/${name}`, method, inputSchema: objectSchema({}) } }
  const { tool } = await h.mutate('createTool', { name, config }, 'tool { id }')
  const agentId = await fixtures.agent({ toolIds: [tool.id], model: 'wire/m' })
  provider.script({ calls: [{ name, arguments: '{}' }] }, { text: 'went on' })
  const id = await fixtures.start(agentId, 'Go.')
  while (!hanging.seen.some((seen) => seen.url === `/${name}`))
    await new Promise((next) => setImmediate(next))
  await query(h.app.services.db, sql`update generations set wake_at = now() where id = ${id}`)
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  const end = await h.until(id, ['COMPLETED', 'FAILED'], `threadId toolCalls { ${callFields} }`)
  expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'went on' } })
  return {
    id,
    agentId,
    toolId: tool.id as string,
    threadId: end['threadId'] as string,
    call: end['toolCalls'][0],
  }
}

const lastRequest = () => JSON.stringify(provider.journal.at(-1)!.body)

test.each([
  ['SUCCEEDED', { output: 'it was booked' }, 'it was booked'],
  ['RUN_AGAIN', {}, 'second answer'],
])('after %s a later run of the thread is shown the new result', async (outcome, more, expected) => {
  const { agentId, threadId, toolId, call } = await lostCall(`book_${outcome.toLowerCase()}`, 'POST')
  expect(call).toMatchObject({ status: 'UNKNOWN', attempts: [{ outcome: 'UNKNOWN' }] })
  expect(await listed(toolId)).toEqual([call.id])
  expect(lastRequest()).toContain('outcome_unknown')
  await resolve(call.id, outcome, more)
  await gate.untilCall(call.id, ['SUCCEEDED'])
  provider.script({ text: 'I see' })
  const next = await fixtures.start(agentId, 'And now?', { threadId })
  await h.until(next, ['COMPLETED'])
  expect(provider.journal.at(-1)!.fault).toBeNull()
  expect(lastRequest()).toContain(expected)
  expect(lastRequest()).not.toContain('outcome_unknown')
  const keys = hanging.seen.filter((seen) => seen.url.endsWith(outcome.toLowerCase()))
  expect(keys.map((seen) => seen.headers['idempotency-key'])).toEqual(
    outcome === 'RUN_AGAIN' ? [call.id, call.id] : [call.id],
  )
})

test('a call of a run that is to run again goes on when the pause that has parked it ends', async () => {
  const { toolId, call } = await lostCall('parked_again', 'POST')
  const { pause } = await h.mutate('pause', { toolId }, 'pause { id }')
  await resolve(call.id, 'RUN_AGAIN')
  const parked = sql`select 1 as one from tool_calls where id = ${call.id} and not_before is not null`
  await expect.poll(() => query(h.app.services.db, parked)).toHaveLength(1)
  await h.mutate('resume', { pauseId: pause.id }, '__typename')
  expect(await gate.untilCall(call.id, ['SUCCEEDED'])).toMatchObject({ attempt: 2 })
})

test('the record of a call that was sent again keeps both attempts under one key', async () => {
  const { call } = await lostCall('fetch_again', 'GET')
  expect(call).toMatchObject({
    status: 'SUCCEEDED',
    attempt: 2,
    attempts: [
      { attempt: 1, outcome: null, endedAt: null, idempotencyKey: call.id },
      { attempt: 2, outcome: 'SUCCEEDED', endedAt: expect.any(String), idempotencyKey: call.id },
    ],
  })
  const [first, second] = call.attempts
  expect(new Date(first.startedAt).getTime()).toBeLessThanOrEqual(new Date(second.startedAt).getTime())
})
