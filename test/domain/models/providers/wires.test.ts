/** The four provider protocols, each against a test server that refuses what the real provider refuses. */
import { afterEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../src/core/json.ts'
import { errorResult } from '../../../../src/core/content.ts'
import { callsOf, userMessage, type Message } from '../../../../src/domain/models/message.ts'
import type { ModelError, ModelPort, ModelTool } from '../../../../src/domain/models/port.ts'
import { openModel, type ProviderSettings } from '../../../../src/domain/models/providers/open-model.ts'
import {
  answered,
  attemptOf,
  failureOf,
  requestOf,
  restarted,
  weatherTool,
} from '../../../support/conversation.ts'
import { startStrictProvider, testKey } from '../../../support/strict-provider.ts'
import type { Wire } from '../../../support/wire-frames.ts'
import { forFile } from '../../../support/for-file.ts'

const wires: [Wire, string][] = [
  ['openai', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-3-pro-preview'],
  ['compatible', 'local'],
]

const provider = await forFile(startStrictProvider())
afterEach(() => void provider.clear())

function open(wire: Wire, model: string, more: Partial<ProviderSettings> = {}): Promise<ModelPort> {
  return openModel(provider.settings(wire, more), model)
}

function lastBody(): Record<string, any> {
  return provider.journal.at(-1)!.body
}

const oslo = '{"city":"Oslo"}'
const rome = '{"city":"Rome"}'
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A schema of a foreign server with all that providers refuse. */
const foreign: ModelTool = {
  name: 'foreign',
  description: null,
  inputSchema: {
    type: 'object',
    properties: {
      'StartTime<': { type: 'string' },
      list: { type: 'array' },
      tuple: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
      pair: { type: 'array', prefixItems: [{ type: 'string' }], items: false },
      name: { type: 'string', pattern: '^\\p{L}+$' },
      near: { type: 'string', pattern: '^(?!x)' },
      inner: { type: 'object', properties: { größe: { type: 'number' } }, required: ['größe'] },
      mixed: { enum: ['a', 1, true, null, ['b']] },
      wrong: { type: 'array', items: { type: 'string' }, enum: ['a', 'b'] },
      thing: { const: { a: 1 } },
      anything: true,
      nothing: false,
      each: { oneOf: [{ type: 'string' }, { type: 'object', required: ['q'] }] },
      every: { allOf: [{ $ref: '#/properties/inner' }, { properties: { 'q q': {} }, required: ['q q'] }] },
      same: { $ref: '#/properties/StartTime<' },
      tree: { $ref: '#' },
      [`a${'b'.repeat(70)}`]: { type: 'string' },
    },
    required: ['StartTime<'],
    if: { required: ['list'] },
    dependentSchemas: { list: { required: ['tuple'] } },
    anyOf: [{ properties: { 'or this': { type: 'array' } } }],
  },
}

describe.each(wires)('on the %s wire', (wire, model) => {
  test('names that it refuses are mapped in the schema, back in a call, and again in the history', async () => {
    const port = await open(wire, model)
    provider.script({ text: 'hi' })
    await attemptOf(port, requestOf('hi', { tools: [foreign] }))
    const tool = JSON.stringify(lastBody()['tools'])
    const mapped = (start: string) => new RegExp(`"(${start}_[0-9a-f]{8})":`).exec(tool)![1]!
    const [start, size] = [mapped('StartTime_'), mapped('gr__e')]
    expect(tool).not.toMatch(/StartTime<|größe|or this/)

    const input = JSON.stringify({ [start]: '9', inner: { [size]: 1 }, list: [{ [size]: 2 }] })
    provider.script({ calls: [{ name: 'foreign', arguments: input }] })
    const { answer } = await attemptOf(port, requestOf('go', { tools: [foreign] }))
    const [call] = callsOf(answer.parts)
    const own = { 'StartTime<': '9', inner: { größe: 1 }, list: [{ größe: 2 }] }
    expect(JSON.parse(call!.input)).toEqual(own)

    provider.script({ text: 'done' })
    const messages = [userMessage('go'), ...answered(answer)]
    await attemptOf(port, { ...requestOf('go', { tools: [foreign] }), messages })
    const sent = JSON.stringify(lastBody())
    expect(sent).toContain(start)
    expect(sent).not.toMatch(/StartTime<|größe/)
  })

  test('a name that it refuses never becomes one that the tool has', async () => {
    const port = await open(wire, model)
    const shownNames = async (properties: JsonObject) => {
      provider.script({ text: 'hi' })
      const tools = [{ name: 'pair', description: null, inputSchema: { type: 'object', properties } }]
      await attemptOf(port, requestOf('hi', { tools }))
      return JSON.stringify(lastBody()['tools']).match(/a_b_[0-9a-f]{8}/g)!
    }
    const leaf = { type: 'string' }
    const [plain] = await shownNames({ 'a b': leaf })
    const shown = await shownNames({ 'a b': leaf, 'a/b': leaf, [plain!]: leaf })
    expect(new Set(shown).size).toBe(3)
    const schema = { type: 'object', properties: { [plain!]: leaf, 'a b': leaf } }
    const other = (await shownNames(schema.properties)).find((name) => name !== plain)!
    const input = JSON.stringify({ [plain!]: 'legal', [other]: 'mapped' })
    provider.script({ calls: [{ name: 'pair', arguments: input }] })
    const tools = [{ name: 'pair', description: null, inputSchema: schema }]
    const { answer } = await attemptOf(port, requestOf('go', { tools }))
    expect(JSON.parse(callsOf(answer.parts)[0]!.input)).toEqual({ [plain!]: 'legal', 'a b': 'mapped' })
  })

  test('text streams as deltas, and the finish has all of it with the usage', async () => {
    provider.script({
      text: ['Hello ', 'wörld ', '🌍'],
      usage: { input: 12, output: 3 },
      seal: 'seal-of-text',
    })
    const { events, answer, text } = await attemptOf(await open(wire, model), requestOf('hi'))
    expect(text).toBe('Hello wörld 🌍')
    expect(events.filter((event) => event.type === 'text-delta')).toHaveLength(3)
    expect(answer.parts.filter((part) => part.type === 'text').map((part) => part.text)).toEqual([text])
    expect(answer.usage).toMatchObject({ inputTokens: 12, outputTokens: 3, estimated: false })
    expect(answer.finishReason).toBe('stop')
  })

  test('a call comes with its arguments as the text the model wrote, announced by deltas', async () => {
    provider.script({ calls: [{ name: 'get_weather', arguments: oslo }] })
    const { answer, events } = await attemptOf(await open(wire, model), requestOf('weather?'))
    expect(callsOf(answer.parts)).toMatchObject([{ name: 'get_weather', input: oslo, callId: '' }])
    expect(answer.finishReason).toBe('tool-calls')
    const typed = events.map((event) => (event.type === 'tool-input-delta' ? event.text : '')).join('')
    expect(typed).toBe(oslo)
  })

  test('parallel calls keep their order, and their results are sent in it although they arrived in another', async () => {
    const port = await open(wire, model)
    provider.script(
      {
        calls: [
          { name: 'get_weather', arguments: oslo },
          { name: 'get_weather', arguments: rome },
        ],
        seal: 'pair',
      },
      { text: 'Both are fine.' },
    )
    const first = await attemptOf(port, requestOf('weather?'))
    expect(callsOf(first.answer.parts).map((call) => call.input)).toEqual([oslo, rome])
    const history = [userMessage('weather?'), ...answered(first.answer, ['rain', 'sun'])]
    const results = history.at(-1) as Extract<Message, { role: 'tool' }>
    const split: Message[] = [
      ...history.slice(0, -1),
      ...results.parts.toReversed().map((part) => ({ ...results, parts: [part] })),
    ]
    const second = await attemptOf(port, requestOf(split))
    expect(second.text).toBe('Both are fine.')
    expect(JSON.stringify(lastBody())).toMatch(/rain.*sun/)
  })

  test('signatures and encrypted reasoning survive a pause and a restart', async () => {
    const port = await open(wire, model)
    const seal = `seal-${wire}`
    const reasoning = wire === 'compatible' ? 'Oslo, then.' : 'I need the weather.'
    provider.script(
      { reasoning, seal, calls: [{ name: 'get_weather', arguments: oslo }] },
      { reasoning: 'And once more.', seal: `${seal}-2`, calls: [{ name: 'get_weather', arguments: rome }] },
      { text: 'Done.' },
    )
    const first = await attemptOf(port, requestOf('weather?'))
    expect(first.reasoning).toBe(reasoning)
    let history = restarted([userMessage('weather?'), ...answered(first.answer, ['rain'], 1)])
    const second = await attemptOf(await open(wire, model), requestOf(history))
    history = restarted([...history, ...answered(second.answer, ['sun'], 2)])
    await attemptOf(await open(wire, model), requestOf(history))
    const sent = JSON.stringify(lastBody())
    expect(sent).toContain(`"${seal}"`)
    expect(sent).toContain(`"${seal}-2"`)
    expect(sent).not.toContain('$model')
  })

  test('another model of the same provider gets neither the reasoning nor the signatures', async () => {
    provider.script(
      { reasoning: 'Secret thought.', seal: 'not-yours', calls: [{ name: 'get_weather', arguments: oslo }] },
      { text: 'Fine.' },
    )
    const first = await attemptOf(await open(wire, model), requestOf('weather?'))
    const history = [userMessage('weather?'), ...answered(first.answer)]
    const others: Record<Wire, string> = {
      openai: 'gpt-4o',
      anthropic: 'claude-opus-4-1',
      google: 'gemini-2.5-pro',
      compatible: 'other',
    }
    await attemptOf(await open(wire, others[wire]), requestOf(history))
    expect(JSON.stringify(lastBody())).not.toMatch(/not-yours|Secret thought/)
  })

  test.each(wires)('a conversation continues on %s with its calls and results', async (other, otherModel) => {
    provider.script(
      {
        reasoning: 'Hm.',
        seal: 'left-behind',
        text: 'Let me see.',
        calls: [{ name: 'get_weather', arguments: oslo }],
      },
      { text: 'Rain.' },
    )
    const first = await attemptOf(await open(wire, model), requestOf('weather?'))
    const history = [userMessage('weather?'), ...answered(first.answer, ['rain in Oslo'])]
    const moved = await attemptOf(await open(other, otherModel), requestOf(history))
    expect(moved.text).toBe('Rain.')
    expect(JSON.stringify(lastBody())).toContain('rain in Oslo')
    if (other !== wire) expect(JSON.stringify(lastBody())).not.toContain('left-behind')
  })

  test('a failed result is always {"error": …}, and the message reaches the model', async () => {
    const port = await open(wire, model)
    provider.script(
      {
        calls: [
          { name: 'get_weather', arguments: oslo },
          { name: 'get_weather', arguments: rome },
        ],
      },
      { text: 'Pity.' },
    )
    const first = await attemptOf(port, requestOf('weather?'))
    const denied = errorResult('approval_rejected', 'Not today.', { reason: 'holiday' })
    const plain = { content: [{ type: 'text' as const, text: 'boom' }], isError: true }
    await attemptOf(port, requestOf([userMessage('weather?'), ...answered(first.answer, [denied, plain])]))
    const sent = JSON.stringify(lastBody()).replaceAll('\\', '')
    expect(sent).toContain('{"error":{"code":"approval_rejected","message":"Not today.","reason":"holiday"}}')
    expect(sent).toContain('{"error":{"code":"tool_error","message":"boom"}}')
    if (wire === 'anthropic') expect(sent).toContain('"is_error":true')
  })

  test('a picture in a tool result is sent where the protocol allows one, and never becomes base64 text', async () => {
    const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
    const svg = { type: 'image' as const, data: 'PHN2Zz4=', mimeType: 'image/svg+xml' }
    const port = await open(wire, model)
    provider.script({ calls: [{ name: 'get_weather', arguments: oslo }] }, { text: 'A dot.' })
    const first = await attemptOf(port, requestOf('weather?'))
    const result = { content: [image, { type: 'text' as const, text: 'the map' }, svg], isError: false }
    await attemptOf(port, requestOf([userMessage('weather?'), ...answered(first.answer, [result])]))
    const sent = JSON.stringify(lastBody())
    expect(sent.includes(png)).toBe(wire !== 'compatible')
    expect(sent).toContain('the map')
    expect(sent).toContain('image/svg+xml: not shown')
    if (wire === 'compatible') expect(sent).toContain('image/png: not shown')
  })

  test('arguments that are no JSON are kept as they are and sent back as something valid', async () => {
    const port = await open(wire, model)
    const broken = '{"city": "Os'
    // Gemini's protocol carries an object, so nothing malformed can arrive there; a history of another provider may
    // have it.
    provider.script(
      wire === 'google'
        ? { calls: [{ name: 'get_weather', arguments: oslo }] }
        : { calls: [{ name: 'get_weather', arguments: broken }] },
      { text: 'Sorry.' },
    )
    const first = await attemptOf(port, requestOf('weather?'))
    const [call] = callsOf(first.answer.parts)
    if (wire === 'google') call!.input = broken
    expect(call!.input).toBe(broken)
    await attemptOf(port, requestOf([userMessage('weather?'), ...answered(first.answer)]))
    expect(provider.journal.at(-1)!.fault).toBeNull()
    expect(JSON.stringify(lastBody())).toContain('unreadable_arguments')
  })

  test.each([
    [429, { 'retry-after': '7' }, 'MODEL_RATE_LIMITED', true, 7_000],
    [429, { 'retry-after-ms': '1500', 'retry-after': '9' }, 'MODEL_RATE_LIMITED', true, 1_500],
    // Three minutes by the provider's own clock, whatever the time is here.
    [
      429,
      { date: 'Wed, 21 Oct 2015 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2015 07:31:00 GMT' },
      'MODEL_RATE_LIMITED',
      true,
      180_000,
    ],
    [529, {}, 'MODEL_UNAVAILABLE', true, null],
    [500, {}, 'MODEL_UNAVAILABLE', true, null],
    [408, {}, 'MODEL_UNAVAILABLE', true, null],
    [409, {}, 'MODEL_UNAVAILABLE', true, null],
    [401, {}, 'MODEL_AUTH', false, null],
    [403, {}, 'MODEL_AUTH', false, null],
    [404, {}, 'MODEL_BAD_REQUEST', false, null],
    [422, {}, 'MODEL_BAD_REQUEST', false, null],
    [413, {}, 'CONTEXT_OVERFLOW', false, null],
  ] as const)(
    'a %i is told as what it is, and once',
    async (status, headers, code, retryable, retryAfterMs) => {
      provider.script({
        status,
        headers: { ...headers },
        message: `Wrong: ${testKey} at http://10.0.0.7:99/x`,
        code: 'some_error',
      })
      const asked = provider.journal.length
      const error = (await failureOf(await open(wire, model), requestOf('hi'))) as ModelError
      expect(error).toMatchObject({ name: 'ModelError', code, retryable, retryAfterMs })
      expect(provider.journal.length).toBe(asked + 1)
      expect(error.message).not.toMatch(/sk-test|10\.0|http/)
    },
  )

  test.each([
    'This model has a maximum context length of 128000 tokens. Please reduce the length.',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'the request exceeds the available context size, try increasing it',
  ])('a 400 that says "%s" is an overflow of the context', async (message) => {
    provider.script({ status: 400, message })
    expect(await failureOf(await open(wire, model), requestOf('hi'))).toMatchObject({
      code: 'CONTEXT_OVERFLOW',
      retryable: false,
    })
  })

  test('a connection that breaks in the middle is a failed attempt, whatever text arrived', async () => {
    for (const cutAfter of [1, 3]) {
      provider.script({ text: ['Half ', 'of ', 'it'], cutAfter })
      const error = await failureOf(await open(wire, model), requestOf('hi'))
      expect(error).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true })
    }
  })

  test('an abort ends the stream at once with an AbortError', async () => {
    const abort = new AbortController()
    provider.script({ text: 'never', after: new Promise(() => {}) })
    void provider.nextRequest().then(() => abort.abort())
    const error = await failureOf(await open(wire, model), requestOf('hi', { signal: abort.signal }))
    expect(error.name).toBe('AbortError')
    const late = await failureOf(await open(wire, model), requestOf('hi', { signal: abort.signal }))
    expect(late.name).toBe('AbortError')
  })

  test('every tool choice is legal with tools, and none declares them all the same', async () => {
    const port = await open(wire, model)
    const choices = [
      { type: 'auto' },
      { type: 'none' },
      { type: 'required' },
      { type: 'tool', name: 'get_weather' },
    ] as const
    for (const toolChoice of choices) {
      provider.script({ text: 'ok' })
      await attemptOf(
        port,
        requestOf('hi', {
          toolChoice,
          settings: { parallelToolCalls: false, temperature: 0.5, maxOutputTokens: 100 },
        }),
      )
      expect(JSON.stringify(lastBody()['tools'])).toContain('get_weather')
    }
  })

  test('schemas that a user or an MCP server writes are made legal at the top', async () => {
    const port = await open(wire, model)
    provider.script({ text: 'ok' })
    const odd: JsonObject = {
      $defs: { T: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      $ref: '#/$defs/T',
    }
    const either: JsonObject = {
      oneOf: [{ properties: { b: { type: 'number' } } }, { properties: { c: { type: 'number' } } }],
    }
    const tools: ModelTool[] = [
      weatherTool,
      { name: 'odd', description: null, inputSchema: odd },
      { name: 'either', description: null, inputSchema: either },
      { name: 'bare', description: null, inputSchema: {} },
    ]
    await attemptOf(port, requestOf('hi', { tools }))
    expect(provider.journal.at(-1)!.fault).toBeNull()
  })

  test('a history with calls is legal when no tool is active any more', async () => {
    const port = await open(wire, model)
    provider.script({ calls: [{ name: 'get_weather', arguments: oslo }] }, { text: 'ok' })
    const first = await attemptOf(port, requestOf('weather?'))
    await attemptOf(port, requestOf([userMessage('weather?'), ...answered(first.answer)], { tools: [] }))
    expect(provider.journal.at(-1)!.fault).toBeNull()
  })

  test('a native response format carries the schema', async () => {
    const port = await open(wire, model, { capabilities: { structuredOutput: true } })
    provider.script({ text: '{"sum":3}' })
    const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
    const { text } = await attemptOf(port, requestOf('add', { tools: [], outputSchema }))
    expect(text).toContain('3')
    expect(JSON.stringify(lastBody())).toContain('sum')
  })
})
