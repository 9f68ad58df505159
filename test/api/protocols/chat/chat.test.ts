/** Chats of the AI SDK, judged by its own chat and transport: text, tools, questions, endings, reconnects. */
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { openChat, partsOf, type ChatOptions, type FrontEnd } from './front-end.ts'

let h: Harness
let fixtures: Fixtures

beforeAll(async () => {
  h = await openHarness()
  fixtures = await makeFixtures(h)
  await fixtures.agent({ name: 'plain' })
  await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
})
afterAll(async () => {
  await fixtures?.close()
  await h?.stop()
})

const open = (agent: string, options?: ChatOptions) => openChat(h.url, adminKey, agent, options)
const locate = {
  name: 'locate',
  description: 'Finds the user.',
  inputSchema: objectSchema({ room: { type: 'string' } }, ['room']),
}
const runs = async (chat: FrontEnd) => {
  const { data, errors } = await h.gql(
    `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
      generations(first: 5) { nodes { id status toolCalls { name status } } } messages(first: 20) { nodes { role content } }
    } } }`,
    { a: await agentOf(chat), e: chat.id },
  )
  if (errors) throw new Error(errors[0]!.message)
  return data['threads'].nodes[0]
}
async function agentOf(chat: FrontEnd): Promise<string> {
  const api: string = (chat as any).transport.api
  const { data } = await h.gql('{ agents(first: 50) { nodes { id name } } }')
  return data['agents'].nodes.find(({ name }: any) => api.endsWith(`/${name}`)).id
}
/** Resolves when the chat is ready and has nothing more to send by itself. */
async function idle(chat: FrontEnd, isDone: () => boolean): Promise<void> {
  await expect.poll(() => chat.status === 'ready' && isDone(), { interval: 5, timeout: 15_000 }).toBe(true)
}

test('text is streamed, and the next message continues the thread', async () => {
  const chat = open('plain')
  await chat.sendMessage({ text: 'slow 5ms\nsay one two three four' })
  expect(chat.error).toBeUndefined()
  expect(partsOf(chat)).toEqual(['step-start', 'one two three four'])
  await chat.sendMessage({ text: 'say five' })
  expect(partsOf(chat)).toEqual(['step-start', 'five'])
  expect(chat.messages).toHaveLength(4)
  const thread = await runs(chat)
  expect(thread.generations.nodes).toHaveLength(2)
  expect(thread.messages.nodes.map(({ content }: any) => content)).toEqual([
    'slow 5ms\nsay one two three four',
    'one two three four',
    'say five',
    'five',
  ])
})

test('a chat that began elsewhere brings its history with the first message', async () => {
  const part = (text: string) => [{ type: 'text' as const, text }]
  const chat = open('plain', {
    messages: [
      { id: 'a', role: 'user', parts: part('I am Ada.') },
      { id: 'b', role: 'assistant', parts: part('Hello.') },
    ],
  })
  await chat.sendMessage({ text: 'say ok' })
  const { messages } = await runs(chat)
  expect(messages.nodes.map(({ content }: any) => content)).toEqual(['I am Ada.', 'Hello.', 'say ok', 'ok'])
})

test('calls that run here are shown with their results, and never sent back', async () => {
  const asked: string[] = []
  const chat = open('plain', {
    onToolCall: ({ toolCall }) => void asked.push(toolCall.toolName),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  })
  await chat.sendMessage({ text: 'call look {"word":"x"}\ncall look {"wrong":1}\nthen\nsay done' })
  expect(partsOf(chat)).toEqual([
    'step-start',
    'tool-look output-available',
    'tool-look output-error',
    'step-start',
    'done',
  ])
  expect(asked).toEqual([])
  expect((await runs(chat)).generations.nodes).toHaveLength(1)
})

test('the client runs its tools, those of the agent and those of this run, and the run goes on by itself', async () => {
  const ran: unknown[] = []
  const chat: FrontEnd = open('plain', {
    body: { clientTools: [locate] },
    onToolCall: ({ toolCall }) => {
      ran.push([toolCall.toolName, toolCall.input])
      const output = { found: toolCall.toolName }
      if (toolCall.toolName === 'tell')
        void chat.addToolOutput({
          tool: 'tell',
          toolCallId: toolCall.toolCallId,
          state: 'output-error',
          errorText: 'nobody is there',
        })
      else void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output })
    },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  })
  void chat.sendMessage({
    text: 'call locate {"room":"a"}\ncall tell {"word":"t"}\nthen\ncall ask {"word":"w"}\nthen\nsay done',
  })
  await idle(chat, () => partsOf(chat).at(-1) === 'done')
  expect(ran).toEqual([
    ['locate', { room: 'a' }],
    ['tell', { word: 't' }],
    ['ask', { word: 'w' }],
  ])
  const { generations } = await runs(chat)
  expect(generations.nodes).toHaveLength(1)
  expect(generations.nodes[0].toolCalls.map(({ name, status }: any) => [name, status])).toEqual([
    ['locate', 'SUCCEEDED'],
    ['tell', 'ERRORED'],
    ['ask', 'SUCCEEDED'],
  ])
})

describe('the gate', () => {
  const answer = async (chat: FrontEnd, approved: boolean, reason?: string) => {
    const part = chat.lastMessage!.parts.find((one: any) => one.state === 'approval-requested') as any
    await chat.addToolApprovalResponse({ id: part.approval.id, approved, ...(reason ? { reason } : {}) })
  }
  const gated = () =>
    open('gated', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  const hits = (word: string) => fixtures.upstream.seen.filter(({ url }) => url.includes(word)).length

  test('an approved call runs once, and the run goes on in the same message', async () => {
    const chat = gated()
    await chat.sendMessage({ text: 'call look {"word":"approved"}\nthen\nsay done' })
    expect(partsOf(chat)).toEqual(['step-start', 'tool-look approval-requested'])
    await answer(chat, true)
    await idle(chat, () => partsOf(chat).at(-1) === 'done')
    expect(partsOf(chat)).toEqual(['step-start', 'tool-look output-available', 'step-start', 'done'])
    expect(chat.messages).toHaveLength(2)
    expect(hits('approved')).toBe(1)
  })

  test('a rejected call does not run, and the model learns why', async () => {
    const chat = gated()
    await chat.sendMessage({ text: 'call look {"word":"rejected"}\nthen\nsay done' })
    await answer(chat, false, 'not today')
    await idle(chat, () => partsOf(chat).at(-1) === 'done')
    expect(partsOf(chat)).toEqual(['step-start', 'tool-look output-denied', 'step-start', 'done'])
    expect(hits('rejected')).toBe(0)
    expect((await runs(chat)).generations.nodes[0].toolCalls[0]).toMatchObject({ status: 'REJECTED' })
  })

  test('a client call is the client’s to run only after it was approved', async () => {
    const ran: string[] = []
    const chat: FrontEnd = open('gated', {
      onToolCall: ({ toolCall }) => {
        ran.push(toolCall.toolName)
        void chat.addToolOutput({ tool: 'ask', toolCallId: toolCall.toolCallId, output: 'yes' })
      },
      sendAutomaticallyWhen: (at) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(at) ||
        lastAssistantMessageIsCompleteWithToolCalls(at),
    })
    await chat.sendMessage({ text: 'call ask {"word":"w"}\nthen\nsay done' })
    expect(ran).toEqual([])
    await answer(chat, true)
    await idle(chat, () => partsOf(chat).at(-1) === 'done')
    expect(ran).toEqual(['ask'])
  })

  test('a question that somebody else answers with other arguments goes on at the next look', async () => {
    const chat = gated()
    await chat.sendMessage({ text: 'call look {"word":"first"}\nthen\nsay done' })
    const part = chat.lastMessage!.parts.find((one: any) => one.state === 'approval-requested') as any
    await h.mutate(
      'decideApproval',
      { approvalId: part.approval.id, verdict: 'APPROVE', arguments: { word: 'edited' } },
      'approval { id }',
    )
    await chat.resumeStream()
    await idle(chat, () => partsOf(chat).at(-1) === 'done')
    const shown = chat.lastMessage!.parts.find((one: any) => one.type === 'tool-look') as any
    expect(shown).toMatchObject({ state: 'output-available', input: { word: 'edited' } })
    expect([hits('edited'), hits('first')]).toEqual([1, 0])
  })

  test('a verdict that comes too late is refused with its reason, and nothing runs twice', async () => {
    const chat = gated()
    await chat.sendMessage({ text: 'call look {"word":"late"}\nthen\nsay done' })
    const part = chat.lastMessage!.parts.find((one: any) => one.state === 'approval-requested') as any
    await h.mutate('decideApproval', { approvalId: part.approval.id, verdict: 'REJECT' }, 'approval { id }')
    await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
    await expect.poll(() => chat.error?.message).toContain('APPROVAL_ALREADY_DECIDED')
    expect(hits('late')).toBe(0)
  })
})

describe('endings', () => {
  test('a run that fails is an error of the chat, and its message can be sent again', async () => {
    const chat = open('plain')
    await chat.sendMessage({ text: 'fail 400' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toEqual(expect.any(String))
    const failed = chat.lastMessage!.id
    await chat.regenerate()
    expect(chat.status).toBe('error')
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(chat.lastMessage!.id).not.toBe(failed)
  })

  test('a run is cancelled by DELETE, and the stream ends', async () => {
    const chat = open('plain')
    const sent = chat.sendMessage({ text: 'slow 50ms\nsay a b c d e f g h i j k l m n o p q r s t' })
    await expect.poll(() => chat.lastMessage?.role).toBe('assistant')
    const response = await fetch(`${h.url}/api/chat/plain/${chat.id}/stream`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${adminKey}` },
    })
    expect(response.status).toBe(204)
    await sent
    expect((await runs(chat)).generations.nodes[0].status).toBe('CANCELLED')
  })
})

describe('reconnects', () => {
  test('a page that was closed reads the whole message again, and nothing is lost or doubled', async () => {
    const chat = open('plain')
    const text = 'slow 10ms\nsay one two three four five six seven eight nine ten'
    void chat.sendMessage({ text })
    await expect.poll(() => partsOf(chat).length).toBeGreaterThan(1)
    await chat.stop()
    await chat.resumeStream()
    expect(partsOf(chat)).toEqual(['step-start', 'one two three four five six seven eight nine ten'])
    await chat.resumeStream()
    expect((await runs(chat)).generations.nodes).toHaveLength(1)
  })

  test('a page that reads the run again does not run what it has answered', async () => {
    const ran: string[] = []
    const onToolCall = ({ toolCall }: { toolCall: { toolName: string } }) => void ran.push(toolCall.toolName)
    const chat = open('plain', { onToolCall })
    await chat.sendMessage({
      text: 'call ask {"word":"one"}\nthen\ncall tell {"word":"two"}\nthen\nsay done',
    })
    const { id } = (await runs(chat)).generations.nodes[0]
    await fixtures.answer(id, { said: 'one' })
    await h.until(id, ['REQUIRES_ACTION'], 'stepCount')
    const again = open('plain', { id: chat.id, messages: chat.messages, onToolCall })
    await expect
      .poll(async () => {
        await again.resumeStream()
        return partsOf(again)
      })
      .toEqual(['step-start', 'tool-ask output-available', 'step-start', 'tool-tell input-available'])
    expect(ran.filter((name) => name === 'ask')).toHaveLength(1)
    const shown = again.lastMessage!.parts.find((one: any) => one.type === 'tool-ask') as any
    expect(shown.output).toEqual({ said: 'one' })
  })

  test('nothing to resume is nothing', async () => {
    const chat = open('plain')
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(['ready', []])
  })
})

describe('twice', () => {
  const post = (id: string, messages: object[], more: object = {}, key = adminKey, agent = 'plain') =>
    fetch(`${h.url}/api/chat/${agent}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages, trigger: 'submit-message', ...more }),
    })
  const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

  test('the same message starts one run, however often it is posted', async () => {
    const texts = await Promise.all(
      [1, 2, 3].map(async () => (await post('twice', [user('m1', 'slow 5ms\nsay a b c')])).text()),
    )
    expect(texts.every((text) => text.includes('[DONE]'))).toBe(true)
    const { data } = await h.gql('{ agents(first: 50) { nodes { id name } } }')
    const agentId = data['agents'].nodes.find(({ name }: any) => name === 'plain').id
    const threads = await h.gql(
      'query($a: ID!) { threads(agentId: $a, externalId: "twice") { nodes { generations { nodes { id } } } } }',
      { a: agentId },
    )
    expect(threads.data['threads'].nodes[0].generations.nodes).toHaveLength(1)
  })

  test('another message while the run waits is refused; the same one is not', async () => {
    const first = user('m1', 'call ask {"word":"w"}\nthen\nsay done')
    expect(await (await post('busy', [first])).text()).toContain('tool-input-available')
    expect(await (await post('busy', [first])).text()).toContain('tool-input-available')
    const refused = await post('busy', [first, user('m2', 'say hurry')])
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: { code: 'CONFLICT', message: expect.stringContaining('has not ended') } },
    ])
  })

  test('two pages that answer the same call: the first output holds, and both go on', async () => {
    const first = user('m1', 'call ask {"word":"w"}\nthen\nsay done')
    const text = await (await post('pages', [first])).text()
    const id = /"messageId":"(msg_\w+)"/.exec(text)![1]!
    const toolCallId = /"toolCallId":"(call_\w+)"/.exec(text)![1]!
    const ours = (output: string) => ({
      id,
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'tool-ask', toolCallId, state: 'output-available', input: { word: 'w' }, output },
      ],
    })
    const same = await Promise.all([1, 2].map(async () => (await post('pages', [first, ours('yes')])).text()))
    for (const one of same) expect(one).toContain('"delta":"done"')
    const other = await post('pages', [first, ours('no')])
    expect(other.status).toBe(409)
  })

  test('a foreign key reaches neither the chat nor its run', async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const made = await h.mutate('createApiKey', { projectId: project.id, name: 'k', role: 'ADMIN' }, 'secret')
    const first = user('m1', 'call ask {"word":"w"}\nthen\nsay done')
    const text = await (await post('mine', [first])).text()
    const id = /"messageId":"(msg_\w+)"/.exec(text)![1]!
    expect((await post('mine', [first], {}, made['secret'])).status).toBe(404)
    const name = 'plain'
    await h.mutate('createAgent', { name, projectId: project.id }, 'agent { id }', made['secret'])
    const parts = [
      {
        type: 'tool-ask',
        toolCallId: /"toolCallId":"(call_\w+)"/.exec(text)![1],
        state: 'output-available',
        input: {},
        output: 'stolen',
      },
    ]
    const refused = await post('mine', [first, { id, role: 'assistant', parts }], {}, made['secret'])
    expect([refused.status, ((await refused.json()) as any).error.code]).toEqual([404, 'NOT_FOUND'])
  })
})
