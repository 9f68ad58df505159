/** AG-UI, judged by its own client: text, tools, interrupts, edits, endings and a page that comes back. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { describeWithPeers, peerTest } from '../../../support/peers.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { openAgent, said, shown, type HttpAgent } from './clients.ts'

let h: Harness
let fixtures: Fixtures
let plain: string
let gated: string

beforeAll(async () => {
  // The client prints the errors that these tests are about.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  h = await openHarness()
  fixtures = await makeFixtures(h)
  plain = await fixtures.agent({ name: 'plain' })
  gated = await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await fixtures?.close()
  await h?.stop()
})

const open = (agent: string, init?: { threadId?: string; messages?: object[] }) =>
  openAgent(h.url, adminKey, agent, init)
const hits = (word: string) => fixtures.upstream.seen.filter(({ url }) => url.includes(word)).length
async function runsOf(agent: HttpAgent, agentId: string) {
  const { data, errors } = await h.gql(
    `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
      generations(first: 5) { nodes { id status toolCalls { name status } } } } } }`,
    { a: agentId, e: agent.threadId },
  )
  if (errors) throw new Error(errors[0]!.message)
  return data['threads'].nodes[0]?.generations.nodes ?? []
}
const locate = {
  name: 'locate',
  description: 'Finds the user.',
  parameters: objectSchema({ room: { type: 'string' } }, ['room']),
}

peerTest('text is streamed, and the next message continues the thread', async () => {
  const agent = await open('plain')
  agent.addMessage(said('slow 5ms\nsay one two three'))
  const pieces: string[] = []
  await agent.runAgent({}, { onTextMessageContentEvent: ({ event }: any) => void pieces.push(event.delta) })
  expect(pieces.join('')).toBe('one two three')
  agent.addMessage(said('say four'))
  const { newMessages } = await agent.runAgent()
  expect(newMessages.map(({ content }) => content)).toEqual(['four'])
  expect(await runsOf(agent, plain)).toHaveLength(2)
})

peerTest('a call that runs here has its result in the messages', async () => {
  const agent = await open('plain')
  agent.addMessage(said('call look {"word":"x"}\nthen\nsay done'))
  await agent.runAgent()
  expect(shown(agent).slice(1)).toEqual([
    ['assistant', '', 'look {"word":"x"}'],
    ['tool', expect.stringContaining('"saw"')],
    ['assistant', 'done'],
  ])
})

peerTest('context and system messages are instructions of the run, and nothing else', async () => {
  const agent = await open('plain')
  agent.addMessage({ id: 's1', role: 'system', content: 'Be brief.' })
  agent.addMessage(said('say ok'))
  await agent.runAgent({ context: [{ description: 'Page', value: 'orders' }] })
  const [{ id }] = await runsOf(agent, plain)
  const { data } = await h.gql(
    'query($id: ID!) { generation(id: $id) { input { messages { content } settings { instructions } } } }',
    { id },
  )
  expect(data['generation'].input).toEqual({
    messages: [{ content: 'say ok' }],
    settings: { instructions: 'Page: orders\n\nBe brief.' },
  })
})

peerTest('the client runs its tools, and the run goes on with their results', async () => {
  const agent = await open('plain')
  agent.addMessage(said('call locate {"room":"a"}\ncall tell {"word":"t"}\nthen\nsay done'))
  const tools = [locate]
  const outcomes: any[] = []
  const watched = { onRunFinishedEvent: ({ event }: any) => void outcomes.push(event.outcome) }
  await agent.runAgent({ tools }, watched)
  const calls = agent.messages.flatMap(({ toolCalls }) => toolCalls ?? [])
  expect(outcomes).toEqual([{ type: 'success', pendingToolCallIds: calls.map(({ id }) => id) }])
  expect(calls.map((call: any) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
    ['locate', { room: 'a' }],
    ['tell', { word: 't' }],
  ])
  agent.addMessage({ id: 'r1', role: 'tool', toolCallId: calls[0].id, content: '{"found":"kitchen"}' })
  agent.addMessage({ id: 'r2', role: 'tool', toolCallId: calls[1].id, content: '', error: 'nobody is there' })
  await agent.runAgent({ tools }, watched)
  expect(outcomes[1]).toEqual({ type: 'success' })
  expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
  const runs = await runsOf(agent, plain)
  expect(runs).toHaveLength(1)
  expect(runs[0].toolCalls).toEqual([
    { name: 'locate', status: 'SUCCEEDED' },
    { name: 'tell', status: 'ERRORED' },
  ])
})

describeWithPeers('interrupts', () => {
  const ask = async (word: string) => {
    const agent = await open('gated')
    agent.addMessage(said(`call look {"word":"${word}"}\nthen\nsay done`))
    await agent.runAgent()
    const [interrupt] = agent.pendingInterrupts
    expect(interrupt).toMatchObject({ id: expect.stringMatching(/^apr_/), reason: 'tool_call' })
    return { agent, id: interrupt!.id }
  }
  const resume = (agent: HttpAgent, id: string, payload: object) =>
    agent.runAgent({ resume: [{ interruptId: id, status: 'resolved', payload }] })

  test('an approved call runs once', async () => {
    const { agent, id } = await ask('approved')
    expect(hits('approved')).toBe(0)
    await resume(agent, id, { approved: true })
    expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    expect([hits('approved'), agent.pendingInterrupts]).toEqual([1, []])
  })

  test('edited arguments are those that run', async () => {
    const { agent, id } = await ask('before')
    await resume(agent, id, { approved: true, editedArgs: { word: 'after' } })
    expect([hits('before'), hits('after')]).toEqual([0, 1])
  })

  test('a rejected and a cancelled call do not run', async () => {
    const { agent, id } = await ask('rejected')
    await resume(agent, id, { approved: false, reason: 'not today' })
    expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    const other = await ask('cancelled')
    await other.agent.runAgent({ resume: [{ interruptId: other.id, status: 'cancelled' }] })
    expect(shown(other.agent).at(-1)).toEqual(['assistant', 'done'])
    expect([hits('rejected'), hits('cancelled')]).toEqual([0, 0])
  })

  test('a verdict that somebody else gave holds; giving the question up is the way on', async () => {
    const { agent, id } = await ask('elsewhere')
    await h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, 'approval { id }')
    await expect(resume(agent, id, { approved: false })).rejects.toThrow(/409|APPROVAL_ALREADY_DECIDED/)
    await agent.runAgent({ resume: [{ interruptId: id, status: 'cancelled' }] })
    expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    expect(hits('elsewhere')).toBe(1)
  })

  test('a client tool reaches the client only after it was approved', async () => {
    const agent = await open('gated')
    agent.addMessage(said('call ask {"word":"w"}\nthen\nsay done'))
    await agent.runAgent()
    const [{ id, toolCallId }] = agent.pendingInterrupts as [{ id: string; toolCallId: string }]
    await resume(agent, id, { approved: true })
    expect(agent.pendingInterrupts).toEqual([])
    agent.addMessage({ id: 'answer', role: 'tool', toolCallId, content: 'yes' })
    await agent.runAgent()
    expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    expect((await runsOf(agent, gated))[0].toolCalls).toEqual([{ name: 'ask', status: 'SUCCEEDED' }])
  })
})

describeWithPeers('endings', () => {
  test('a failed run is an error of the run, and a new message goes on', async () => {
    const agent = await open('plain')
    agent.addMessage(said('fail 400'))
    const errors: any[] = []
    await agent
      .runAgent({}, { onRunErrorEvent: ({ event }: any) => void errors.push(event) })
      .catch(() => null)
    expect(errors).toMatchObject([{ message: expect.any(String), code: expect.any(String) }])
    agent.addMessage(said('say better'))
    await agent.runAgent()
    expect(shown(agent).at(-1)).toEqual(['assistant', 'better'])
  })

  test('a cancelled run says so', async () => {
    const agent = await open('plain')
    agent.addMessage(said('slow 5s before\nsay never'))
    const ends: any[] = []
    const run = agent.runAgent({}, { onRunFinishedEvent: ({ event }: any) => void ends.push(event.outcome) })
    await expect.poll(async () => (await runsOf(agent, plain)).length).toBe(1)
    const [{ id }] = await runsOf(agent, plain)
    await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
    await run
    expect(ends).toEqual([{ type: 'cancelled' }])
  })
})

describeWithPeers('a page that comes back', () => {
  const text = 'one two three four five six seven eight nine ten'
  test('gets what it does not have, and nothing twice', async () => {
    const agent = await open('plain')
    agent.addMessage(said(`slow 60ms\nsay ${text}\ncall look {"word":"back"}\nthen\nsay done`))
    const cut = agent
      .runAgent(
        {},
        {
          onTextMessageContentEvent: () => agent.abortRun(),
        },
      )
      .catch(() => null)
    await cut
    const had = agent.messages.at(-1)!['content'] as string
    expect(text.startsWith(had), had).toBe(true)
    const next = await open('plain', { threadId: agent.threadId, messages: agent.messages })
    await next.runAgent()
    expect(shown(next).slice(1)).toEqual([
      ['assistant', text, 'look {"word":"back"}'],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', 'done'],
    ])
    const again = await open('plain', { threadId: agent.threadId, messages: next.messages })
    const { newMessages } = await again.runAgent()
    expect(newMessages).toEqual([])
    expect([hits('back'), (await runsOf(agent, plain)).length]).toEqual([1, 1])
  })

  test('two pages that send the same message, and the same result, make one run', async () => {
    const first = said('call ask {"word":"w"}\nthen\nsay done')
    const pages = await Promise.all(
      [1, 2].map(() => open('plain', { threadId: 'two pages', messages: [first] })),
    )
    await Promise.all(pages.map((page) => page.runAgent()))
    const [one, two] = pages as [HttpAgent, HttpAgent]
    const [call] = one.messages.at(-1)!['toolCalls']
    expect(two.messages.at(-1)!['toolCalls']).toEqual([call])
    for (const page of pages)
      page.addMessage({ id: 'same', role: 'tool', toolCallId: call.id, content: 'yes' })
    await Promise.all(pages.map((page) => page.runAgent()))
    for (const page of pages) expect(shown(page).at(-1)).toEqual(['assistant', 'done'])
    expect(await runsOf(one, plain)).toHaveLength(1)
  })

  test('a run of AG-UI is answered in GraphQL, and read again here', async () => {
    const agent = await open('plain')
    agent.addMessage(said('call ask {"word":"w"}\nthen\nsay done'))
    await agent.runAgent()
    const [{ id }] = await runsOf(agent, plain)
    await fixtures.answer(id, 'elsewhere')
    await h.until(id, ['COMPLETED'])
    await agent.runAgent()
    expect(shown(agent).slice(2)).toEqual([
      ['tool', 'elsewhere'],
      ['assistant', 'done'],
    ])
  })
})

peerTest('a foreign key reaches neither the thread nor its run', async () => {
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const { secret } = await h.mutate(
    'createApiKey',
    { projectId: project.id, name: 'k', role: 'ADMIN' },
    'secret',
  )
  await h.mutate('createAgent', { name: 'plain', projectId: project.id }, 'agent { id }', secret)
  const mine = await open('plain')
  mine.addMessage(said('call ask {"word":"w"}\nthen\nsay done'))
  await mine.runAgent()
  const [call] = mine.messages.at(-1)!['toolCalls']
  const theirs = await openAgent(h.url, secret, 'plain', { threadId: mine.threadId, messages: mine.messages })
  theirs.addMessage({ id: 'x', role: 'tool', toolCallId: call.id, content: 'stolen' })
  await expect(theirs.runAgent()).rejects.toThrow(/404/)
  const silent = await openAgent(h.url, secret, 'plain', { threadId: mine.threadId, messages: mine.messages })
  await expect(silent.runAgent()).rejects.toThrow(/400/)
})

describe('an input that would not be done as it says', () => {
  const user = { id: 'm', role: 'user', content: 'say x' }
  const base = {
    threadId: 't',
    runId: 'r',
    messages: [user],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  }
  const post = async (body: unknown, agent = 'plain', key = adminKey) => {
    const response = await fetch(`${h.url}/ag-ui/${agent}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, error: ((await response.json()) as any).error }
  }
  const result = (more: object) => [user, { id: 'r', role: 'tool', content: 'x', ...more }]
  const resume = (entry: object) => ({
    resume: [{ interruptId: 'apr_000000000000000000000000', status: 'resolved', ...entry }],
  })
  test.each<[string, object, string | null]>([
    ['no thread', { threadId: '' }, 'threadId'],
    ['a long thread id', { threadId: 'x'.repeat(201) }, 'threadId'],
    ['no messages in a thread without runs', { messages: [] }, 'messages'],
    ['messages that are none', { messages: 'x' }, 'messages'],
    ['an unknown role', { messages: [{ ...user, role: 'robot' }] }, 'messages.0.role'],
    [
      'a picture without bytes',
      { messages: [{ ...user, content: [{ type: 'image', source: {} }] }] },
      'messages.0.content.0.source',
    ],
    ['an empty message', { messages: [{ ...user, content: '' }] }, 'messages.0.content'],
    ['state', { state: { cart: [] } }, 'state'],
    ['tools without names', { tools: [{ description: 'x' }] }, 'tools.0.name'],
    [
      'a tool with a bad schema',
      { tools: [{ name: 't', parameters: { type: 5 } }] },
      'tools.0.parameters.type',
    ],
    ['a result of no call', { messages: result({ toolCallId: 'x' }) }, 'messages.1.toolCallId'],
    ['an answer to no question', resume({ interruptId: 'x' }), 'resume.0.interruptId'],
    ['an answer without a verdict', resume({ payload: {} }), 'resume.0.payload.approved'],
    [
      'edits of a rejected call',
      resume({ payload: { approved: false, editedArgs: {} } }),
      'resume.0.payload.editedArgs',
    ],
    ['an unknown status', resume({ status: 'maybe' }), 'resume.0.status'],
  ])('%s', async (_what, change, at) => {
    const { status, error } = await post({ ...base, ...change })
    expect([status, error.code, error.path]).toEqual([400, 'INVALID', at])
  })

  test('what does not exist, and bodies that are none', async () => {
    expect((await post({ ...base, ...resume({ payload: { approved: true } }) })).status).toBe(404)
    expect(
      (await post({ ...base, messages: result({ toolCallId: 'call_000000000000000000000000' }) })).status,
    ).toBe(404)
    expect((await post(base, 'nobody')).status).toBe(404)
    expect((await post(base, '%E0%A4%A')).status).toBe(404)
    expect((await post(base, 'plain', 'wrong')).status).toBe(401)
    expect((await post('{')).status).toBe(400)
    expect((await post(`{"a":[${'0,'.repeat(200_000)}0]}`)).status).toBe(413)
    expect((await post(`{"messages":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)).status).toBe(400)
    const headers = { authorization: `Bearer ${adminKey}` }
    expect((await fetch(`${h.url}/ag-ui/plain`, { headers })).status).toBe(405)
  })
})

test('a page that was cut off behind a result from elsewhere, which is no text, gets the rest', async () => {
  const post = async (messages: object[]) => {
    const response = await fetch(`${h.url}/ag-ui/plain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: 'cut', runId: 'r', messages, tools: [], context: [] }),
    })
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
    return lines.map((line): Record<string, any> => JSON.parse(line.slice('data: '.length)))
  }
  const messages: object[] = [{ id: 'm1', role: 'user', content: 'call ask {"word":"w"}\nthen\nsay done' }]
  const begun = await post(messages)
  const { toolCallId: id, parentMessageId } = begun.find(({ type }) => type === 'TOOL_CALL_START')!
  const { data } = await h.gql('query($id: ID!) { toolCall(id: $id) { generation { id } } }', { id })
  await fixtures.answer(data['toolCall'].generation.id, { said: 'elsewhere' })
  await h.until(data['toolCall'].generation.id, ['COMPLETED'])
  const made = { id, type: 'function', function: { name: 'ask', arguments: '{"word":"w"}' } }
  messages.push({ id: parentMessageId, role: 'assistant', toolCalls: [made] })
  const { messageId, content } = (await post(messages)).find(({ type }) => type === 'TOOL_CALL_RESULT')!
  expect(content).toBe('{"said":"elsewhere"}')
  messages.push({ id: messageId, role: 'tool', toolCallId: id, content })
  const rest = await post(messages)
  expect(rest.map(({ delta }) => delta).join('')).toBe('done')
  expect(rest.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
})

test('a client before 1.0 gets no word of it: calls that are left to it have no outcome', async () => {
  const outcomeFor = async (version: object, runId: string) => {
    const response = await fetch(`${h.url}/ag-ui/plain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        threadId: runId,
        runId,
        messages: [{ id: runId, role: 'user', content: 'call ask {"word":"a"}' }],
        ...version,
      }),
    })
    const [last] = (await response.text()).trim().split('\n').slice(-1)
    return JSON.parse(last!.slice('data: '.length)).outcome
  }
  const pendingToolCallIds = [expect.stringMatching(/^call_/)]
  expect(await outcomeFor({ protocolVersion: '1.0' }, 'new')).toEqual({ type: 'success', pendingToolCallIds })
  expect(await outcomeFor({}, 'old')).toBeUndefined()
})
