/** Chat completions, judged by OpenAI's own clients and the AI SDK: text, streams, calls, gates, formats and endings. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import type { OpenAI } from 'openai6'
import { query } from '../../../../src/store/db/database.ts'
import { sql } from '../../../../src/store/db/sql.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { majors, openClient } from '../../../support/openai-clients.ts'
import { forFile } from '../../../support/for-file.ts'

type Messages = OpenAI.Chat.ChatCompletionMessageParam[]

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const plain = await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'short', maxSteps: 1, finalAnswerOnLimit: false })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })

const user = (content: string) => ({ role: 'user' as const, content })
const parameters = objectSchema({ room: { type: 'string' } }, ['room'])
const locate = { type: 'function' as const, function: { name: 'locate', parameters } }
const atOnce = { headers: { prefer: 'wait=0' } }
const acted = (word: string) => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${word}"`)).length
const decide = async (words: string, verdict = 'APPROVE') => {
  const [, approvalId] = /\/approvals\/(apr_\w+)/.exec(words)!
  await h.mutate('decideApproval', { approvalId, verdict }, '__typename')
}

describe.each(majors)('openai %i', (major) => {
  let client: OpenAI
  beforeAll(async () => {
    client = await openClient(major, h.url, adminKey)
  })
  const create = (model: string, messages: Messages, more: object = {}, options: object = {}) =>
    client.chat.completions.create({ model, messages, ...more, stream: false }, options)
  const stream = async (model: string, messages: Messages, more: object = {}, options: object = {}) =>
    client.chat.completions
      .stream({ model, messages, ...more, stream_options: { include_usage: true } }, options)
      .finalChatCompletion()

  test('text, by name and by id, and the next turns', async () => {
    for (const model of ['plain', plain]) {
      const messages: Messages = [user(`usage 100 20\nsay hello ${major} ${model}`)]
      const made = await create(model, messages)
      expect(made).toMatchObject({
        object: 'chat.completion',
        model,
        choices: [{ index: 0, finish_reason: 'stop', message: { content: `hello ${major} ${model}` } }],
        usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      })
      messages.push(made.choices[0]!.message, user('say on'))
      expect((await create(model, messages)).choices[0]!.message.content).toBe('on')
    }
  })

  test('a stream: pieces, and the usage where it is asked for', async () => {
    const messages = [user(`usage 7 8\nslow 2000ms before\nslow 50ms\nsay one two three ${major}`)]
    const body = { model: 'plain', messages, stream: true as const }
    const texts: string[] = []
    const reasons: unknown[] = []
    for await (const { choices, usage } of await client.chat.completions.create(body)) {
      expect(choices).toHaveLength(1)
      expect(usage).toBeUndefined()
      if (choices[0]!.delta.content) texts.push(choices[0]!.delta.content)
      reasons.push(choices[0]!.finish_reason)
    }
    expect(texts.length).toBeGreaterThan(1)
    expect(texts.join('')).toBe(`one two three ${major}`)
    expect(reasons.filter((reason) => reason !== null)).toEqual(['stop'])
    expect((await stream('plain', messages)).usage).toMatchObject({ prompt_tokens: 7, total_tokens: 15 })
  })

  test.each(['whole', 'streamed'])(
    'client tools, %s: all outputs are wanted, and a repeat changes nothing',
    async (how) => {
      const ask = how === 'whole' ? create : stream
      const messages: Messages = [
        user(`call locate {"room": "a"}\ncall locate {"room": "${major} ${how}"}\nthen\nsay found`),
      ]
      const first = (await ask('plain', messages, { tools: [locate] })).choices[0]!
      expect(first).toMatchObject({ finish_reason: 'tool_calls' })
      expect(first.message.content ?? '').toBe('')
      const calls = first.message.tool_calls!
      expect(calls).toMatchObject([
        { type: 'function', function: { name: 'locate', arguments: '{"room":"a"}' } },
        { type: 'function', function: { name: 'locate' } },
      ])
      messages.push(first.message)
      const missing = ask('plain', [...messages, { role: 'tool', tool_call_id: calls[0]!.id, content: 'x' }])
      await expect(missing).rejects.toMatchObject({
        status: 400,
        param: 'messages',
        message: expect.stringContaining(calls[1]!.id),
      })
      await expect(ask('plain', [...messages, user('say what')])).rejects.toMatchObject({
        param: 'messages[2]',
        message: expect.stringContaining(`${calls[0]!.id} (locate)`),
      })
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'kitchen' })
      const second = await ask('plain', messages, { tools: [locate] })
      expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'found' } })
      expect((await ask('plain', messages, { tools: [locate] })).id).toBe(second.id)
      const other = [
        ...messages.slice(0, -1),
        { role: 'tool' as const, tool_call_id: calls[1]!.id, content: 'attic' },
      ]
      await expect(ask('plain', other)).rejects.toMatchObject({ status: 409, param: 'messages' })
      messages.push(second.choices[0]!.message, user('say on'))
      expect((await ask('plain', messages)).choices[0]!.message.content).toBe('on')
    },
  )

  test('the loop of the client runs its tools, one after another', async () => {
    const rooms: string[] = []
    const run = ({ room }: { room: string }) => `kitchen ${rooms.push(room)}`
    const looking = {
      name: 'locate',
      description: 'Finds.',
      parameters: parameters as never,
      parse: JSON.parse,
      function: run,
    }
    const runner = client.chat.completions.runTools({
      model: 'plain',
      messages: [user(`call locate {"room": "a"}\nthen\ncall locate {"room": "${major}"}\nthen\nsay found`)],
      tools: [{ type: 'function' as const, function: looking }],
    })
    expect(await runner.finalContent()).toBe('found')
    expect(rooms).toEqual(['a', String(major)])
  })

  test.each(['whole', 'streamed'])(
    'a gate, %s: words with the link, and the same request goes on',
    async (how) => {
      const ask = how === 'whole' ? create : stream
      const word = `${major} ${how}`
      const messages = [user(`call act {"word": "${word}"}\nthen\nsay ok`)]
      const held = (await ask('gated', messages, {}, atOnce)).choices[0]!
      expect(held).toMatchObject({
        finish_reason: 'stop',
        message: { content: expect.stringMatching(/waits for an approval.*act.*http.*\/approvals\/apr_/s) },
      })
      expect((await ask('gated', messages, {}, atOnce)).choices[0]!.message.content).toBe(
        held.message.content,
      )
      const next = ask('gated', messages)
      await decide(held.message.content!)
      expect((await next).choices[0]!.message.content).toBe('ok')
      expect(acted(word)).toBe(1)
    },
  )

  test('a format: by a schema, and as JSON', async () => {
    const schema = objectSchema({ n: { type: 'number' } }, ['n'])
    for (const response_format of [
      { type: 'json_schema' as const, json_schema: { name: 'n', schema } },
      { type: 'json_object' as const },
    ]) {
      const made = await create('plain', [user(`json {"n": ${major}}`)], { response_format })
      expect(JSON.parse(made.choices[0]!.message.content!)).toEqual({ n: major })
    }
    const text = { response_format: { type: 'text' } }
    expect((await create('plain', [user(`say text ${major}`)], text)).choices[0]!.finish_reason).toBe('stop')
  })

  test('limits and settings: the length, the choice of a tool, and instructions', async () => {
    const cut = await create('short', [user(`call look {"word": "${major}"}\nthen\nsay ok`)])
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'length' })
    const forced = await create('plain', [user(`say nothing ${major}`)], {
      tools: [locate],
      tool_choice: { type: 'function', function: { name: 'locate' } },
      temperature: 0,
      max_completion_tokens: 99,
      parallel_tool_calls: false,
    })
    expect(forced.choices[0]).toMatchObject({ finish_reason: 'tool_calls' })
    const [settings] = await settingsOf([forced.id])
    expect(settings).toMatchObject({ temperature: 0, maxOutputTokens: 99, parallelToolCalls: false })
    const told = await create('plain', [{ role: 'developer', content: 'Be brief.' }, user(`say hm ${major}`)])
    expect(await settingsOf([told.id])).toMatchObject([{ instructions: 'Be brief.' }])
  })

  test('a failed run is an error in the form of OpenAI, whole and streamed', async () => {
    const messages = [user(`fail 400\nsay ${major}`)]
    const error = { status: 400, code: 'invalid_prompt', type: 'invalid_request_error' }
    await expect(create('plain', messages)).rejects.toMatchObject(error)
    await expect(stream('plain', messages)).rejects.toMatchObject({ code: 'invalid_prompt' })
  })
})

async function settingsOf(ids: string[]): Promise<object[]> {
  const { db } = h.app.services
  const found = ids.map((id) => `gen_${id.split('_')[1]}`)
  const rows = await query<{ settings: object }>(
    db,
    sql`select settings from generations where id in ${found}`,
  )
  return rows.map(({ settings }) => settings)
}

test('calls that run here are told where they are asked for, and their outputs are nobody’s', async () => {
  const client = await openClient(6, h.url, adminKey)
  const body = { model: 'plain', messages: [user('call look {"word": "told"}\nthen\nsay ok')] as Messages }
  const quiet = await client.chat.completions.create(body)
  expect(quiet.choices[0]!.message.tool_calls).toBeUndefined()
  const told = await client.chat.completions
    .stream(body, { headers: { 'gatehouse-tool-calls': 'all' } })
    .finalChatCompletion()
  const { finish_reason, message } = told.choices[0]!
  expect(finish_reason).toBe('stop')
  expect(message).toMatchObject({
    content: 'ok',
    tool_calls: [{ type: 'function', function: { name: 'look', arguments: '{"word":"told"}' } }],
  })
  const output = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: 'forged' }
  const next = await client.chat.completions.create({
    ...body,
    messages: [...body.messages, message, output, user('say on')],
  })
  expect(next.choices[0]!.message.content).toBe('on')
  const odd = client.chat.completions.create(body, { headers: { 'gatehouse-tool-calls': 'some' } })
  await expect(odd).rejects.toMatchObject({ status: 400, param: 'Gatehouse-Tool-Calls' })
})

describe('the fields of a request', () => {
  const send = async (body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${h.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'plain', messages: [user('say x')], ...body }),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as object }
  }
  const runs = async () =>
    (await h.gql('{ generations(first: 100) { nodes { id } } }')).data['generations'].nodes
  const call = { id: 'call_1', type: 'function', function: { name: 'x', arguments: '{}' } }
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })
  const refused: [field: string, value: unknown, param?: string][] = [
    ['n', 2],
    ['stop', ['END']],
    ['top_p', 0.5],
    ['presence_penalty', 1],
    ['frequency_penalty', 0.5],
    ['logit_bias', { 1: 2 }],
    ['logprobs', true],
    ['top_logprobs', 3],
    ['audio', { voice: 'alloy', format: 'wav' }],
    ['modalities', ['audio'], 'modalities[0]'],
    ['web_search_options', {}],
    ['functions', []],
    ['function_call', 'auto'],
    ['service_tier', 'flex'],
    ['temperature', 'hot'],
    ['user', 'u'.repeat(201)],
    ['response_format', { type: 'grammar' }, 'response_format.type'],
    ['tools', [{ type: 'custom', custom: { name: 'x' } }], 'tools[0].type'],
    ['messages', []],
    ['messages', Array.from({ length: 2001 }, () => user('say x'))],
    ['messages', [{ role: 'function', name: 'x', content: 'y' }], 'messages[0].role'],
    ['messages', [user(' ')], 'messages[0].content'],
    ['messages', [{ role: 'system', content: 'Be brief.' }]],
    ['messages', [user('say x'), { role: 'assistant', content: 'y' }]],
    [
      'messages',
      [
        user('say x'),
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'y' },
      ],
    ],
    [
      'messages',
      [user('say x'), { role: 'assistant', function_call: {} }, user('y')],
      'messages[1].function_call',
    ],
    [
      'messages',
      [{ role: 'user', content: [image('https://example.com/a.png')] }],
      'messages[0].content[0].image_url.url',
    ],
    [
      'messages',
      [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }],
      'messages[0].content[0].type',
    ],
    [
      'messages',
      [{ role: 'user', content: [image('data:image/png;base64,iVBORw==')] }, user('y')],
      'messages[0].content[0].image_url.url',
    ],
  ]
  test.each(refused)('%s is refused by name: %j', async (field, value, param = field) => {
    const before = await runs()
    const { status, body } = await send({ [field]: value })
    expect({ status, body }).toMatchObject({
      status: 400,
      body: {
        error: {
          param,
          code: 'invalid',
          type: 'invalid_request_error',
          message: expect.stringContaining(param),
        },
      },
    })
    expect(await runs()).toEqual(before)
  })

  test('what changes nothing is ignored, and named in a header', async () => {
    const wishes = {
      store: true,
      metadata: { a: 'b' },
      seed: 1,
      reasoning_effort: 'low',
      verbosity: 'low',
      prediction: { type: 'content', content: 'x' },
      chat_id: 'of a front end',
    }
    const made = await send(wishes)
    expect(made.status).toBe(200)
    expect(made.headers.get('gatehouse-ignored')?.split(', ').toSorted()).toEqual(
      Object.keys(wishes).toSorted(),
    )
    const nothing = {
      n: 1,
      stop: null,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      logit_bias: {},
      logprobs: false,
      modalities: ['text'],
      store: null,
      audio: null,
      stream_options: null,
      safety_identifier: 'x',
      prompt_cache_key: 'x',
    }
    const plainly = await send(nothing)
    expect([plainly.status, plainly.headers.get('gatehouse-ignored')]).toEqual([200, null])
  })

  test('a file is stored, and the run has it', async () => {
    const file = { filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('what is in it')}` }
    const made = await send({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'say y' },
            { type: 'file', file },
          ],
        },
      ],
    })
    const { data } = await h.gql(
      'query($id: ID!) { generation(id: $id) { input { messages { attachments { filename file { id } } } } } }',
      { id: `gen_${(made.body as { id: string }).id.split('_')[1]}` },
    )
    expect(data['generation'].input.messages).toMatchObject([
      { attachments: [{ filename: 'a.txt', file: {} }] },
    ])
  })
})

describe('the AI SDK', () => {
  const modelOf = (agent: string, headers = {}) =>
    createOpenAI({ apiKey: adminKey, baseURL: `${h.url}/v1`, headers }).chat(agent)

  test.each(['generateText', 'streamText'])(
    '%s runs its tool, and calls that run here stay here',
    async (how) => {
      const rooms: string[] = []
      const asked = {
        model: modelOf('plain'),
        prompt: `call look {"word": "${how}"}\nthen\ncall locate {"room": "${how}"}\nthen\nsay found`,
        tools: {
          locate: tool({
            inputSchema: jsonSchema<{ room: string }>(parameters as never),
            execute: async ({ room }) => `kitchen ${rooms.push(room)}`,
          }),
        },
        stopWhen: stepCountIs(5),
      }
      const made = how === 'streamText' ? streamText(asked) : await generateText(asked)
      expect({ text: await made.text, rooms }).toEqual({ text: 'found', rooms: [how] })
    },
  )

  test.each(['generateText', 'streamText'])(
    '%s is held at a gate, and goes on by any message',
    async (how) => {
      const messages = [user(`call act {"word": "sdk ${how}"}\nthen\nsay refunded`)]
      const ask = async (turns: object[], wait: number) => {
        const asked = { model: modelOf('gated', { prefer: `wait=${wait}` }), messages: turns as never }
        const made = how === 'streamText' ? streamText(asked) : await generateText(asked)
        return { text: await made.text, finishReason: await made.finishReason, ...(await made.response) }
      }
      const held = await ask(messages, 0)
      expect(held.finishReason).toBe('stop')
      const next = ask([...messages, ...held.messages, user('say thanks')], 60)
      await decide(held.text)
      expect((await next).text).toBe('refunded\n\nthanks')
      expect(acted(`sdk ${how}`)).toBe(1)
    },
  )
})
