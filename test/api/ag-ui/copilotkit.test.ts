/** CopilotKit's runtime protocol, judged by its own client: agents, text, tools, questions, endings, a page that comes back. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { makeCast, type Cast } from '../../support/story.ts'
import { openCore, openInterrupts, openPage, said, shown, type CopilotPage } from './clients.ts'

/** Without the client there is nothing to judge by. */
const judged = describe.skipIf(!hasPeers)
let h: Harness
let cast: Cast
let plain: string
let gated: string

beforeAll(async () => {
  // The client prints the errors that these tests are about.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  h = await openHarness()
  cast = await makeCast(h)
  plain = await cast.agent({ name: 'plain' })
  gated = await cast.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await cast?.close()
  await h?.stop()
})

let count = 0
const open = (agent: string, threadId = `copilot ${++count}`) => openPage(h.url, adminKey, agent, threadId)
const ask = async (page: CopilotPage, content: string) => {
  page.agent.addMessage(said(content))
  await page.core.runAgent({ agent: page.agent })
}
/** The same thread in a browser that was opened anew. */
const openAgain = async (agent: string, page: CopilotPage) => {
  const again = await open(agent, page.agent.threadId)
  await again.core.connectAgent({ agent: again.agent })
  return again
}
const hits = (word: string) => cast.upstream.seen.filter(({ url }) => url.includes(word)).length
async function runsOf({ agent }: CopilotPage, agentId: string) {
  const { data, errors } = await h.gql(
    `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
      generations(first: 5) { nodes { id status toolCalls { name status } } } } } }`,
    { a: agentId, e: agent.threadId },
  )
  if (errors) throw new Error(errors[0]!.message)
  return data['threads'].nodes[0]?.generations.nodes ?? []
}
/** A JSON Schema as the client takes it. */
const parameters = {
  '~standard': {
    vendor: 'test',
    version: 1,
    validate: (value: unknown) => ({ value }),
    jsonSchema: {
      input: () => ({ type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }),
    },
  },
}
/** A tool of the page, and the arguments with which it was executed. */
function pageTool({ core }: CopilotPage, name: string, more: object = {}) {
  const executed: object[] = []
  const handler = async (args: object) => {
    executed.push(args)
    return { found: 'kitchen' }
  }
  core.addTool({ name, description: 'Of the page.', parameters, handler, ...more })
  return executed
}

judged('what the client asks first', () => {
  test('the agents of the project, by names that are parts of paths, else by ids', async () => {
    const odd = await cast.agent({ name: 'a/b?' })
    const { core, errors } = await openCore(h.url, adminKey)
    expect([Object.keys(core.agents).toSorted(), errors]).toEqual([[odd, 'gated', 'plain'].toSorted(), []])
    const page = await open(odd)
    await ask(page, 'say odd')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'odd'])
  })

  test('the transport of one address is refused with a sentence', async () => {
    const { core, errors } = await openCore(h.url, adminKey, { runtimeTransport: 'single' })
    expect(core.agents).toEqual({})
    expect(errors).toMatchObject([{ code: 'runtime_info_fetch_failed' }])
    expect(errors[0]!.message).toContain('400: method: is of the transport "single"')
  })

  test('a key that is none is told so', async () => {
    const { core, errors } = await openCore(h.url, 'nobody')
    expect([core.agents, errors[0]!.message]).toEqual([{}, expect.stringContaining('401')])
  })
})

judged('a run', () => {
  test('text is streamed, and the next message continues the thread', async () => {
    const page = await open('plain')
    const pieces: string[] = []
    page.agent.subscribe({
      onTextMessageContentEvent: ({ event }: any) => void pieces.push(event.delta),
    })
    await ask(page, 'slow 60ms\nsay one two three')
    expect(pieces.join('')).toBe('one two three')
    expect(pieces.length).toBeGreaterThan(1)
    await ask(page, 'say four')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'four'])
    expect([await runsOf(page, plain), page.errors]).toEqual([[expect.anything(), expect.anything()], []])
  })

  test('a call that runs here has its result in the messages', async () => {
    const page = await open('plain')
    await ask(page, 'call look {"word":"x"}\nthen\nsay done')
    expect(shown(page.agent).slice(1)).toEqual([
      ['assistant', '', 'look {"word":"x"}'],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', 'done'],
    ])
    expect(page.errors).toEqual([])
  })

  test('the page executes its tools once each, and the run goes on with their results', async () => {
    const page = await open('plain')
    const located = pageTool(page, 'locate')
    // The agent has this one: its definition is not sent.
    const told = pageTool(page, 'tell', { available: false })
    await ask(
      page,
      'call locate {"word":"a"}\ncall tell {"word":"b"}\ncall locate {"word":"c"}\nthen\nsay done',
    )
    expect([located, told]).toEqual([[{ word: 'a' }, { word: 'c' }], [{ word: 'b' }]])
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    const runs = await runsOf(page, plain)
    expect(runs).toHaveLength(1)
    expect(runs[0].toolCalls.map(({ status }: any) => status)).toEqual(Array(3).fill('SUCCEEDED'))
    expect(page.errors).toEqual([])
  })

  test('a result that the page kept is given with the next message', async () => {
    const page = await open('plain')
    pageTool(page, 'locate', { followUp: false })
    await ask(page, 'call locate {"word":"a"}\nthen\nsay found')
    expect(await runsOf(page, plain)).toMatchObject([{ status: 'REQUIRES_ACTION' }])
    await ask(page, 'say next')
    expect(shown(page.agent).slice(-3)).toEqual([
      ['user', 'say next'],
      ['assistant', 'found'],
      ['assistant', 'next'],
    ])
    expect(await runsOf(page, plain)).toMatchObject([{ status: 'COMPLETED' }, { status: 'COMPLETED' }])
    expect(page.errors).toEqual([])
  })

  test('when that run asks for more, the page is told that its message was not taken', async () => {
    const page = await open('plain')
    pageTool(page, 'locate', { followUp: false })
    await ask(page, 'call locate {"word":"a"}\nthen\ncall locate {"word":"b"}\nthen\nsay found')
    await ask(page, 'say next')
    expect(page.errors).toMatchObject([{ message: expect.stringContaining('asks for more') }])
    await ask(page, 'say again')
    expect(shown(page.agent).slice(-2)).toEqual([
      ['assistant', 'found'],
      ['assistant', 'again'],
    ])
  })

  test('a failed run is an error of the page, and a new message goes on', async () => {
    const page = await open('plain')
    await ask(page, 'fail 400')
    expect(page.errors).toMatchObject([{ code: 'agent_run_error_event', message: expect.any(String) }])
    await ask(page, 'say better')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'better'])
  })

  test('a request that is repeated does not start a second run', async () => {
    const message = said('call locate {"word":"a"}\nthen\nsay done')
    const pages = [await open('plain', 'twice'), await open('plain', 'twice')]
    const executed = pages.map((page) => pageTool(page, 'locate'))
    await Promise.all(
      pages.map(async ({ core, agent }) => {
        agent.addMessage(message)
        await core.runAgent({ agent })
      }),
    )
    for (const { agent } of pages) expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    expect(executed.flat().length).toBeGreaterThan(0)
    const runs = await runsOf(pages[0]!, plain)
    expect(runs).toMatchObject([{ toolCalls: [{ name: 'locate', status: 'SUCCEEDED' }] }])
  })
})

judged('a question of the gate', () => {
  const resume = ({ core, agent }: CopilotPage, answer: object) =>
    core.runAgent({
      agent,
      resume: agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, ...answer })),
    })
  const resolved = (payload: object) => ({ status: 'resolved', payload })

  test('is an interrupt; the approved call runs once', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"granted"}\nthen\nsay done')
    expect(page.agent.pendingInterrupts).toMatchObject([
      { id: expect.stringMatching(/^apr_/), metadata: { toolName: 'look', arguments: { word: 'granted' } } },
    ])
    expect(hits('granted')).toBe(0)
    await resume(page, resolved({ approved: true }))
    expect(shown(page.agent).slice(1)).toEqual([
      ['assistant', '', 'look {"word":"granted"}'],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', 'done'],
    ])
    expect([hits('granted'), page.agent.pendingInterrupts, page.errors]).toEqual([1, [], []])
  })

  test('is answered as the frameworks of the client do, which add no result of their own', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"hook"}\nthen\nsay done')
    const state = await openInterrupts()
    state.setStandard(page.agent.pendingInterrupts)
    const answer = state.resolve({ approved: true, editedArgs: { word: 'edited' } })
    expect(answer).toMatchObject({ kind: 'resume', toolResults: [] })
    await page.core.runAgent({ agent: page.agent, resume: answer.resume! })
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    expect([hits('hook'), hits('edited'), page.errors]).toEqual([0, 1, []])
  })

  test('a rejected and a cancelled call do not run', async () => {
    for (const answer of [resolved({ approved: false, reason: 'no' }), { status: 'cancelled' }]) {
      const page = await open('gated')
      await ask(page, 'call look {"word":"refused"}\nthen\nsay done')
      await resume(page, answer)
      expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    }
    expect(hits('refused')).toBe(0)
  })

  test('a tool of the page is executed only after it was approved', async () => {
    const page = await open('gated')
    const executed = pageTool(page, 'locate')
    await ask(page, 'call locate {"word":"a"}\ncall locate {"word":"b"}\nthen\nsay done')
    expect([executed, page.agent.pendingInterrupts.length]).toEqual([[], 2])
    await resume(page, resolved({ approved: true }))
    expect(executed).toEqual([{ word: 'a' }, { word: 'b' }])
    expect([shown(page.agent).at(-1), page.errors]).toEqual([['assistant', 'done'], []])
  })

  test('is asked after the tools of the page, whose results it does not need', async () => {
    const gate = (mode: string) =>
      h.mutate('updateTool', { id: cast.tools.look, gate: { mode } }, 'tool { id }')
    onTestFinished(async () => {
      await gate('NEVER')
    })
    await gate('ALWAYS')
    const page = await open('plain')
    const executed = pageTool(page, 'locate')
    await ask(page, 'call locate {"word":"a"}\ncall look {"word":"mixed"}\nthen\nsay done')
    expect(executed).toEqual([{ word: 'a' }])
    expect(page.agent.pendingInterrupts).toMatchObject([{ metadata: { toolName: 'look' } }])
    expect(await runsOf(page, plain)).toMatchObject([{ status: 'AWAITING_APPROVAL' }])
    const again = await openAgain('plain', page)
    expect(again.agent.pendingInterrupts).toEqual(page.agent.pendingInterrupts)
    await resume(page, resolved({ approved: true }))
    expect([shown(page.agent).at(-1), hits('mixed')]).toEqual([['assistant', 'done'], 1])
    expect([executed.length, page.errors, again.errors]).toEqual([1, [], []])
    expect(shown(page.agent).filter(([role]) => role === 'tool')).toHaveLength(2)
  })

  test('a verdict from elsewhere: the page gives the question up, or opens the thread again', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"elsewhere"}\nthen\nsay done')
    const [{ id }] = page.agent.pendingInterrupts as [{ id: string }]
    await h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, 'approval { id }')
    const again = await openAgain('gated', page)
    await resume(page, { status: 'cancelled' })
    for (const { agent } of [page, again]) {
      expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
      expect(agent.pendingInterrupts).toEqual([])
    }
    expect([hits('elsewhere'), page.errors, again.errors]).toEqual([1, [], []])
  })

  test('a page that was closed is asked again when it comes back', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"closed"}\nthen\nsay done')
    const again = await openAgain('gated', page)
    expect(again.agent.pendingInterrupts).toEqual(page.agent.pendingInterrupts)
    await resume(again, resolved({ approved: true }))
    expect([shown(again.agent).at(-1), hits('closed')]).toEqual([['assistant', 'done'], 1])
  })
})

judged('stop', () => {
  const long = 'slow 50ms\nsay a b c d e f g h i j k l m n o p q r s t'
  test('cancels the run, and the next message starts another', async () => {
    const page = await open('plain')
    let stopped = false
    page.agent.subscribe({
      onTextMessageContentEvent: () => {
        if (!stopped) page.core.stopAgent({ agent: page.agent })
        stopped = true
      },
    })
    await ask(page, long)
    expect(await runsOf(page, plain)).toMatchObject([{ status: 'CANCELLED' }])
    await ask(page, 'say next')
    expect([shown(page.agent).at(-1), page.errors]).toEqual([['assistant', 'next'], []])
  })

  test('of a run that waits: the question is given up, and the thread goes on', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"stopped"}\nthen\nsay done')
    page.core.stopAgent({ agent: page.agent })
    await expect.poll(async () => (await runsOf(page, gated))[0].status).toBe('CANCELLED')
    const [{ id }] = page.agent.pendingInterrupts as [{ id: string }]
    await page.core.runAgent({ agent: page.agent, resume: [{ interruptId: id, status: 'cancelled' }] })
    await ask(page, 'say next')
    expect([shown(page.agent).at(-1), hits('stopped')]).toEqual([['assistant', 'next'], 0])
  })
})

judged('a page that comes back', () => {
  test('shows the conversation, and nothing twice', async () => {
    const page = await open('plain')
    pageTool(page, 'locate')
    await ask(page, 'call look {"word":"x"}\nthen\nsay one')
    await ask(page, 'fail 400')
    await ask(page, 'call locate {"word":"a"}\nthen\nsay two')
    const again = await openAgain('plain', page)
    expect(shown(again.agent)).toEqual(shown(page.agent))
    await again.core.connectAgent({ agent: again.agent })
    expect(shown(again.agent)).toEqual(shown(page.agent))
    await ask(again, 'say three')
    expect(shown(again.agent).at(-1)).toEqual(['assistant', 'three'])
    const [first] = again.agent.messages
    expect(first!['id']).toMatch(/^msg_/)
  })

  test('gets the newest 20 runs of a long thread', async () => {
    const externalId = 'long thread'
    const { thread } = await h.mutate('createThread', { agentId: plain, externalId }, 'thread { id }')
    for (let i = 1; i <= 21; i++)
      await h.until(await cast.start(plain, `say ${i}`, { threadId: thread.id }), ['COMPLETED'])
    const page = await open('plain', externalId)
    await page.core.connectAgent({ agent: page.agent })
    const texts = shown(page.agent).map(([, content]) => content)
    expect(texts).toEqual(Array.from({ length: 20 }, (_one, i) => [`say ${i + 2}`, `${i + 2}`]).flat())
  })

  test('follows the run that goes on', async () => {
    const page = await open('plain')
    const text = 'a b c d e f g h i j'
    let again: Promise<CopilotPage> | undefined
    page.agent.subscribe({
      onTextMessageContentEvent: () => void (again ??= openAgain('plain', page)),
    })
    await ask(page, `slow 40ms\nsay ${text}`)
    expect(shown((await again)!.agent)).toEqual(shown(page.agent))
    expect(await runsOf(page, plain)).toHaveLength(1)
  })

  test('asks a person again with a tool of that type, whose answer goes on', async () => {
    const page = await open('plain')
    const prompt = 'call ask {"word":"w"}\nthen\nsay done'
    await ask(page, prompt)
    const again = await open('plain', page.agent.threadId)
    const executed = pageTool(again, 'ask', { type: 'human-in-the-loop', available: false })
    const ended = new Promise<void>((resolve) => {
      again.agent.subscribe({
        onTextMessageEndEvent: ({ textMessageBuffer }: any) => textMessageBuffer === 'done' && resolve(),
      })
    })
    await again.core.connectAgent({ agent: again.agent })
    await ended
    expect(executed).toEqual([{ word: 'w' }])
    expect(await runsOf(page, plain)).toMatchObject([{ toolCalls: [{ name: 'ask', status: 'SUCCEEDED' }] }])
  })

  test('goes on with a message although a call of its tool was lost with the page before', async () => {
    const page = await open('plain')
    await ask(page, 'call ask {"word":"lost"}\nthen\nsay sorry')
    const again = await openAgain('plain', page)
    await ask(again, 'say next')
    expect(shown(again.agent).slice(-3)).toEqual([
      ['user', 'say next'],
      ['assistant', 'sorry'],
      ['assistant', 'next'],
    ])
    const [, lost] = await runsOf(page, plain)
    expect(lost).toMatchObject({ status: 'COMPLETED', toolCalls: [{ name: 'ask', status: 'ERRORED' }] })
    expect(again.errors).toEqual([])
  })

  test('a message of the user that has its run is not run again', async () => {
    const page = await open('plain')
    await ask(page, 'fail 400')
    const again = await openAgain('plain', page)
    expect(shown(again.agent)).toEqual([['user', 'fail 400']])
    await again.core.runAgent({ agent: again.agent })
    expect(again.errors.map(({ code }) => code)).toEqual(['agent_run_error_event', 'agent_run_error_event'])
    expect(await runsOf(page, plain)).toHaveLength(1)
  })

  test('a thread without runs has no messages', async () => {
    const page = await open('plain')
    await page.core.connectAgent({ agent: page.agent })
    expect([page.agent.messages, page.errors]).toEqual([[], []])
  })
})

judged('a foreign key', () => {
  test('finds neither agents nor threads, and stops nothing', async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const { secret } = await h.mutate(
      'createApiKey',
      { projectId: project.id, name: 'k', role: 'ADMIN' },
      'secret',
    )
    const mine = await open('gated')
    await ask(mine, 'call look {"word":"stolen"}\nthen\nsay done')
    expect((await openCore(h.url, secret)).core.agents).toEqual({})
    const post = (path: string, key: string) =>
      fetch(`${h.url}/copilotkit/agent/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: mine.agent.threadId, runId: 'r', messages: [] }),
      })
    const stop = `stop/${encodeURIComponent(mine.agent.threadId)}`
    for (const path of ['gated/connect', 'gated/run', `${gated}/connect`, `${gated}/${stop}`])
      expect((await post(path, secret)).status).toBe(404)
    // Also with an agent of the same name.
    await h.mutate('createAgent', { name: 'gated', projectId: project.id }, 'agent { id }', secret)
    expect(await (await post('gated/connect', secret)).text()).toBe('')
    expect((await post('gated/run', secret)).status).toBe(400)
    expect(await (await post(`gated/${stop}`, secret)).json()).toEqual({ stopped: false })
    expect((await post('gated/connect', 'nobody')).status).toBe(401)
    expect(await runsOf(mine, gated)).toMatchObject([{ status: 'AWAITING_APPROVAL' }])
    expect(hits('stolen')).toBe(0)
  })
})

test('what is not served is refused', async () => {
  const request = async (method: string, path: string, body?: string) => {
    const response = await fetch(`${h.url}/copilotkit${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
    const { error, message } = (await response.json()) as any
    expect(message).toBe(error.message)
    return [response.status, error.code, error.path ?? null]
  }
  expect(await request('POST', '', '{"method":"info"}')).toEqual([400, 'INVALID', 'method'])
  expect(await request('GET', '')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('GET', '/threads')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/info', '{}')).toEqual([405, 'INVALID', null])
  expect(await request('GET', '/agent/plain/run')).toEqual([405, 'INVALID', null])
  expect(await request('POST', '/agent/plain/suggest', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/nobody/connect', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/%E0%A4%A/connect', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/plain/stop/%E0%A4%A', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/plain/stop/t', '{')).toEqual([400, 'INVALID', 'body'])
  expect(await request('POST', '/agent/plain/connect', '{}')).toEqual([400, 'INVALID', 'threadId'])
  const state = { threadId: 't', runId: 'r', messages: [], state: { cart: [] } }
  expect(await request('POST', '/agent/plain/connect', JSON.stringify(state))).toEqual([
    400,
    'INVALID',
    'state',
  ])
})
