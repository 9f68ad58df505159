/** Chats of the AI SDK, judged by its own chat and transport: text, tools, questions, endings, reconnects. */
import type { ServerResponse } from 'node:http'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { watchPlaces } from '../../../support/held-places.ts'
import { holdStatement } from '../../../support/held-statement.ts'
import { startLoopback } from '../../../support/loopback.ts'
import { openChat, partsOf, type ChatOptions, type FrontEnd } from './front-end.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })

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
  await expect.poll(() => chat.status === 'ready' && isDone(), { interval: 5, timeout: 90_000 }).toBe(true)
}

/** What the stop button of a page sends. */
const stopRun = (chat: FrontEnd) =>
  fetch(`${(chat as any).transport.api}/${encodeURIComponent(chat.id)}/stream`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${adminKey}` },
  })

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

  const slow = 'slow 500ms\nsay a b c d e f g h i j k l m n o p q r s t'

  test('a run is stopped by DELETE, and the stream ends', async () => {
    const chat = open('plain')
    const sent = chat.sendMessage({ text: slow })
    await expect.poll(() => chat.lastMessage?.role).toBe('assistant')
    expect((await stopRun(chat)).status).toBe(204)
    await sent
    expect((await runs(chat)).generations.nodes[0].status).toBe('CANCELLED')
  })

  test('the stop button stops the run that the chat is at, and what is sent right after waits for its end', async () => {
    const held: ServerResponse[] = []
    const upstream = await startLoopback((_request, response) => void held.push(response))
    const inputSchema = objectSchema({})
    const http = { url: `${upstream.url}/hold`, method: 'POST', inputSchema }
    const { tool } = await h.mutate('createTool', { name: 'hold', config: { http } }, 'tool { id }')
    await fixtures.agent({ name: 'holder', toolIds: [tool.id] })
    const chat = open('holder')
    await chat.sendMessage({ text: 'say one' })
    const sent = chat.sendMessage({
      text: 'call hold {}\nthen\nsay done',
      messageId: chat.messages[0]!.id,
    })
    await expect.poll(() => held.length).toBe(1)
    const stopped = chat.lastMessage!.id.replace('msg_', 'gen_')
    expect((await stopRun(chat)).status).toBe(204)
    await chat.stop()
    await sent
    // The call was sent: the run ends with its result.
    const next = chat.sendMessage({ text: 'say next' })
    for (let i = 0; i < 3; i++) await h.gql('{ agents(first: 1) { nodes { id } } }')
    held[0]!.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    await next
    expect(chat.error).toBeUndefined()
    expect(partsOf(chat)).toEqual(['step-start', 'next'])
    await h.until(stopped, ['CANCELLED'])
    await upstream.close()
  })
})

describe('a page that goes back', () => {
  const runOf = async (id = '') => {
    const { data, errors } = await h.gql(
      `query($id: ID!) { generation(id: $id) { status thread { id } retryOf { id } retryStep
        input { messages { content } } } }`,
      { id: id.replace(/^msg_/, 'gen_') },
    )
    if (errors) throw new Error(errors[0]!.message)
    const { input, ...run } = data['generation']
    return { ...run, said: input.messages.map(({ content }: any) => content) }
  }
  const shownRun = (chat: FrontEnd) => runOf(chat.lastMessage!.id)
  const hits = (word: string) => fixtures.upstream.seen.filter(({ url }) => url.includes(word)).length
  /** A chat with two answers, the first with a call. */
  const talk = async (word: string, agent = 'plain') => {
    const chat = open(agent)
    await chat.sendMessage({ text: `call look {"word":"${word}"}\nthen\nsay one` })
    await chat.sendMessage({ text: 'say two' })
    const [asked, one, again, two] = chat.messages.map(({ id }) => id) as [string, string, string, string]
    return { chat, asked, one, again, two, thread: (await runOf(one)).thread }
  }

  test('an edit forks after the answer before it, and the chat goes on there', async () => {
    const { chat, one, again, two, thread } = await talk('forked')
    await chat.sendMessage({ text: 'say zwei', messageId: again })
    expect(chat.messages.map(({ id }) => id).slice(1, 3)).toEqual([one, again])
    const fork = await shownRun(chat)
    expect(fork).toMatchObject({
      retryOf: { id: one.replace('msg_', 'gen_') },
      retryStep: 2,
      said: ['say zwei'],
    })
    expect(fork.thread).not.toEqual(thread)
    await chat.sendMessage({ text: 'say three' })
    expect(await shownRun(chat)).toMatchObject({ thread: fork.thread, retryOf: null, said: ['say three'] })
    // A late repeat of the first message finds its run, and does not move the chat back.
    expect(await (await post(chat.id, [chat.messages[0]!])).text()).toContain(one)
    // A page that is opened anew reads the thread that the chat is at now.
    const reader = open('plain', { id: chat.id })
    await reader.resumeStream()
    expect(reader.lastMessage!.id).toBe(chat.lastMessage!.id)
    expect((await runOf(two)).thread).toEqual(thread)
    expect(hits('forked')).toBe(1)
  })

  test('another answer is a run on a fork, as often as it is asked for', async () => {
    const { chat, one, two } = await talk('other')
    const made = new Set([two])
    for (let i = 0; i < 2; i++) {
      await chat.regenerate()
      expect(chat.error).toBeUndefined()
      expect(partsOf(chat)).toEqual(['step-start', 'two'])
      expect(await shownRun(chat)).toMatchObject({
        retryOf: { id: one.replace('msg_', 'gen_') },
        said: ['say two'],
      })
      made.add(chat.lastMessage!.id)
    }
    expect([made.size, hits('other')]).toEqual([3, 1])
    await chat.regenerate({ messageId: one })
    expect(chat.messages).toHaveLength(2)
    expect(await shownRun(chat)).toMatchObject({ retryOf: null, said: [expect.stringContaining('say one')] })
    // The call of another answer is another call.
    expect(hits('other')).toBe(2)
  })

  test('an edit as assistant-ui makes it begins anew where the page does', async () => {
    const { chat, one, thread } = await talk('assistant-ui')
    const before = chat.messages
    chat.messages = before.slice(0, 2)
    await chat.sendMessage({ text: 'say zwei' })
    expect(await shownRun(chat)).toMatchObject({
      retryOf: { id: one.replace('msg_', 'gen_') },
      said: ['say zwei'],
    })
    chat.messages = []
    await chat.sendMessage({ text: 'say anew' })
    const anew = await shownRun(chat)
    expect(anew).toMatchObject({ retryOf: null, said: ['say anew'] })
    expect(anew.thread).not.toEqual(thread)
    // Back at the first branch, whose thread nothing was added to.
    chat.messages = before
    await chat.sendMessage({ text: 'say back' })
    expect(await shownRun(chat)).toMatchObject({ thread, retryOf: null, said: ['say back'] })
    await chat.resumeStream()
    expect(partsOf(chat)).toEqual(['step-start', 'back'])
    // Its last answer tells enough of what is shown.
    chat.messages = chat.messages.slice(-1)
    await chat.sendMessage({ text: 'say short' })
    expect(await shownRun(chat)).toMatchObject({ thread, said: ['say short'] })
  })

  test('a message is known whose answer the page does not have, and one that failed at once is history', async () => {
    const { chat, one, two, thread } = await talk('known')
    chat.messages = chat.messages.slice(0, 3)
    await chat.sendMessage({ text: 'fail 400' })
    expect(await shownRun(chat)).toMatchObject({ thread, retryOf: null, said: ['fail 400'] })
    await chat.sendMessage({ text: 'say on' })
    expect(await shownRun(chat)).toMatchObject({ thread, retryOf: null, said: ['say on'] })
    await chat.sendMessage({ text: 'say other', messageId: chat.messages.at(-2)!.id })
    expect(await shownRun(chat)).toMatchObject({
      retryOf: { id: two.replace('msg_', 'gen_') },
      said: ['fail 400', 'say other'],
    })
    expect(one).not.toBe(two)
  })

  test('a run that failed goes on after its calls, and repeats none of them', async () => {
    const chat = open('plain')
    await chat.sendMessage({ text: 'call look {"word":"failing"}\nthen\nfail 400' })
    expect(chat.status).toBe('error')
    const failed = chat.lastMessage!.id
    await chat.regenerate()
    expect(await shownRun(chat)).toMatchObject({
      retryOf: { id: failed.replace('msg_', 'gen_') },
      retryStep: 1,
      said: [],
    })
    expect(hits('failing')).toBe(1)
  })

  test('the same request again, at once or after its answer was lost, is one run', async () => {
    const { chat, one } = await talk('lost')
    const again = (text: string) => ({
      trigger: 'regenerate-message',
      messages: [...chat.messages.slice(0, 2), user('l', text)],
    })
    const ask = (text: string) => post(chat.id, [], again(text))
    const idIn = (text: string) => /"messageId":"(msg_\w+)"/.exec(text)?.[1]
    const texts = await Promise.all(
      [1, 2, 3].map(async () => (await ask('slow 1s before\nsay a b c d')).text()),
    )
    expect(new Set(texts.map(idIn))).toEqual(new Set([expect.stringMatching(/^msg_/)]))
    const cut = (await ask('slow 20ms\nsay e f g h')).body!.getReader()
    const id = idIn(new TextDecoder().decode((await cut.read()).value))!
    await cut.cancel()
    await h.until(id.replace('msg_', 'gen_'), ['COMPLETED'])
    expect(idIn(await (await ask('slow 20ms\nsay e f g h')).text())).toBe(id)
    expect(idIn(await (await ask('slow 20ms\nsay e f g h')).text())).not.toBe(id)
    expect(await runOf(id)).toMatchObject({ retryOf: { id: one.replace('msg_', 'gen_') } })
  })

  test('an answer whose page has gone right before its end is not delivered', async () => {
    const { apiKey, secret } = await h.mutate(
      'createApiKey',
      { name: 'leaving', role: 'ADMIN' },
      'apiKey { id } secret',
    )
    const again = { trigger: 'regenerate-message', messages: [user('g', 'slow 20ms\nsay e f g h')] }
    const ask = () => post('left', [], again, secret)
    const idIn = (text: string) => /"messageId":"(msg_\w+)"/.exec(text)![1]!
    const places = watchPlaces([h], apiKey.id)
    const page = (await ask()).body!.getReader()
    const id = idIn(new TextDecoder().decode((await page.read()).value))
    const value = id.replace('msg_', 'gen_')
    const end = holdStatement(h.app.services.db, {
      begins: 'select',
      contains: 'from generations where id in',
      value,
    })
    await end.arrived
    await page.cancel()
    await places.until(0)
    places.stop()
    end.release()
    expect(idIn(await (await ask()).text())).toBe(id)
  })

  test('while a run waits, going back is refused until it is answered or stopped', async () => {
    const { chat, again } = await talk('busy')
    await chat.sendMessage({ text: 'call ask {"word":"w"}\nthen\nsay done' })
    const waiting = chat.messages
    await chat.sendMessage({ text: 'say zwei', messageId: again })
    expect(chat.error?.message).toContain('CONFLICT')
    chat.messages = waiting
    await chat.regenerate()
    expect(partsOf(chat)).toEqual(['step-start', 'tool-ask input-available'])
    expect(chat.lastMessage!.id).toBe(waiting.at(-1)!.id)
    expect((await stopRun(chat)).status).toBe(204)
    await chat.sendMessage({ text: 'say zwei', messageId: again })
    expect(partsOf(chat)).toEqual(['step-start', 'zwei'])
  })

  test('ids of messages of another caller, or of another agent, are unknown: their texts are history', async () => {
    const { chat } = await talk('foreign')
    const made = await h.mutate('createApiKey', { name: 'stranger', role: 'ADMIN' }, 'secret')
    const messages = [...chat.messages.slice(0, 2), user('mine', 'say mine')]
    const waits = open('plain')
    await waits.sendMessage({ text: 'call ask {"word":"w"}\nthen\nsay done' })
    const parts = waits.lastMessage!.parts.map((part: any) =>
      part.toolCallId ? { ...part, state: 'output-available', output: 'stolen' } : part,
    )
    const answer = { id: waits.lastMessage!.id, role: 'assistant', parts }
    const refused = await post(waits.id, [answer], {}, made['secret'])
    expect(((await refused.json()) as any).error).toMatchObject({ code: 'INVALID', path: 'messages.0.id' })
    for (const [key, agent] of [
      [made['secret'], 'plain'],
      [adminKey, 'gated'],
    ] as const) {
      const text = await (await post(chat.id, messages, {}, key, agent)).text()
      expect(await runOf(/"messageId":"(msg_\w+)"/.exec(text)![1])).toMatchObject({
        retryOf: null,
        said: [expect.stringContaining('say one'), 'one', 'say mine'],
      })
    }
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

  test('a page does not send back what somebody else has answered', async () => {
    const config = { client: { inputSchema: objectSchema({ word: { type: 'string' } }) } }
    const sign = { name: 'sign', config, gate: { mode: 'ALWAYS' } }
    const { tool } = await h.mutate('createTool', sign, 'tool { id }')
    await fixtures.agent({ name: 'signing', toolIds: [fixtures.tools.ask, tool.id] })
    const program = { name: 'page', role: 'DEVELOPER', votes: false }
    const { secret } = await h.mutate('createApiKey', program, 'secret')
    const chat = openChat(h.url, secret, 'signing', {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.sendMessage({ text: 'call ask {"word":"one"}\ncall sign {"word":"two"}\nthen\nsay done' })
    const ask = chat.lastMessage!.parts.find(({ type }) => type === 'tool-ask') as { toolCallId: string }
    const generationId = chat.lastMessage!.id.replace('msg_', 'gen_')
    const outputs = [{ toolCallId: ask.toolCallId, output: { code: 1 }, isError: true }]
    await h.mutate('submitToolOutputs', { generationId, outputs }, '__typename')
    const { data } = await h.gql(
      '{ approvals(filter: { statuses: [PENDING] }, first: 50) { nodes { id toolName } } }',
    )
    const question = data['approvals'].nodes.find((one: { toolName: string }) => one.toolName === 'sign')
    await h.mutate('decideApproval', { approvalId: question.id, verdict: 'APPROVE' }, '__typename')
    await chat.resumeStream()
    const waiting = ['step-start', 'tool-ask output-error', 'tool-sign input-available']
    expect(partsOf(chat)).toEqual(waiting)
    const { toolCallId } = chat.lastMessage!.parts.at(-1) as { toolCallId: string }
    await chat.addToolOutput({ tool: 'sign', toolCallId, output: 'signed' })
    await expect.poll(() => chat.error ?? partsOf(chat).at(-1)).toBe('done')
  })

  test('nothing to resume is nothing', async () => {
    const chat = open('plain')
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(['ready', []])
  })
})

const post = (id: string, messages: object[], more: object = {}, key = adminKey, agent = 'plain') =>
  fetch(`${h.url}/api/chat/${agent}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages, trigger: 'submit-message', ...more }),
  })
const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

describe('twice', () => {
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
