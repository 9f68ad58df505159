/** The rehearsal model: its lines, its rules and their order, and that it says that it is no AI. */
import { expect, test } from 'vitest'
import { errorResult } from '../../../../src/core/content.ts'
import { callsOf, userMessage, type Message } from '../../../../src/domain/models/message.ts'
import type { ModelPort, ModelRequest, ModelTool } from '../../../../src/domain/models/port.ts'
import { openModel } from '../../../../src/domain/models/providers/open-model.ts'
import {
  answered,
  attemptOf,
  failureOf,
  requestOf,
  restarted,
  weatherTool,
  type Attempt,
} from '../../../support/conversation.ts'

const port: ModelPort = await openModel(
  {
    name: 'builtin',
    kind: 'builtin',
    baseUrl: null,
    apiKey: null,
    capabilities: {},
    contextWindow: null,
    fetch,
  },
  'rehearsal',
)

const csvTool: ModelTool = {
  name: 'save_csv',
  description: 'Writes a table to a file.',
  inputSchema: {
    type: 'object',
    properties: {
      filename: { type: 'string' },
      rows: { type: 'integer' },
      header: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      mode: { enum: ['append', 'replace'] },
    },
    required: ['filename', 'rows'],
  },
}
const finalTool: ModelTool = {
  name: 'final_answer',
  description: 'The answer.',
  inputSchema: {
    type: 'object',
    properties: { summary: { type: 'string' }, count: { type: 'number' } },
    required: ['summary', 'count'],
  },
}

function ask(text: string | Message[], more: Partial<ModelRequest> = {}): Promise<Attempt> {
  return attemptOf(port, requestOf(text, more))
}

function callsIn(attempt: Attempt): [string, unknown][] {
  return callsOf(attempt.answer.parts).map((call) => [call.name, JSON.parse(call.input)])
}

test('call lines are parallel calls, and then begins the next step', async () => {
  const script =
    'Please do:\ncall get_weather {"city":"Oslo"}\ncall get_weather {"city":"Rome"}\nthen\ncall unknown {}\nthen\nsay All done.'
  let history = [userMessage(script)]
  const first = await ask(history)
  expect(callsIn(first)).toEqual([
    ['get_weather', { city: 'Oslo' }],
    ['get_weather', { city: 'Rome' }],
  ])
  history = restarted([...history, ...answered(first.answer, [], 1)])
  const second = await ask(history)
  expect(callsIn(second)).toEqual([['unknown', {}]])
  history = restarted([
    ...history,
    ...answered(second.answer, [errorResult('unknown_tool', 'No such tool.')], 2),
  ])
  const third = await ask(history)
  expect(third.text).toBe('All done.')
  const ids = [first, second].flatMap((step) => callsOf(step.answer.parts).map((call) => call.providerCallId))
  expect(new Set(ids).size).toBe(3)
})

test('a new user message begins a script of its own', async () => {
  const first = await ask('call get_weather {"city":"Oslo"}')
  const history = [
    userMessage('call get_weather {"city":"Oslo"}'),
    ...answered(first.answer),
    userMessage('say Hello again.'),
  ]
  expect((await ask(history)).text).toBe('Hello again.')
})

test('when the script is over, the results are summarized, failed ones as failed', async () => {
  const script = 'call get_weather {"city":"Oslo"}\ncall get_weather {"city":"Rome"}'
  const first = await ask(script)
  const results = ['x'.repeat(5_000), errorResult('timeout', 'Too slow.')]
  const { text, answer } = await ask([userMessage(script), ...answered(first.answer, results)])
  expect(text).toMatch(/^get_weather answered: x+…\nget_weather failed with: .*Too slow/s)
  expect(text.length).toBeLessThan(600)
  expect(answer.finishReason).toBe('stop')
})

test('words come one by one', async () => {
  const { events, text } = await ask('say one two  three')
  expect(events.map((event) => (event.type === 'text-delta' ? event.text : event.type))).toEqual([
    'one ',
    'two  ',
    'three',
    'finish',
  ])
  expect(text).toBe('one two  three')
})

test('think is reasoning, before the text', async () => {
  const { answer, reasoning } = await ask('think Let me see.\nsay Yes.')
  expect(reasoning).toBe('Let me see.')
  expect(answer.parts.map((part) => part.type)).toEqual(['reasoning', 'text'])
})

test.each([
  ['fail 429', 1, { code: 'MODEL_RATE_LIMITED', retryable: true }],
  ['fail 529 x3', 3, { code: 'MODEL_UNAVAILABLE', retryable: true }],
  ['fail 429 x2 after 1500ms', 2, { code: 'MODEL_RATE_LIMITED', retryAfterMs: 1500 }],
  ['fail 400', 50, { code: 'MODEL_BAD_REQUEST', retryable: false }],
  ['fail 401', 50, { code: 'MODEL_AUTH', retryable: false }],
  ['fail 413', 50, { code: 'CONTEXT_OVERFLOW', retryable: false }],
])('%s fails the first %i attempts, on any process', async (line, attempts, expected) => {
  const script = `${line}\nsay Made it.`
  for (const attempt of [1, attempts])
    expect(await failureOf(port, requestOf(script, { attempt }))).toMatchObject(expected)
  if (attempts < 50) expect((await ask(script, { attempt: attempts + 1 })).text).toBe('Made it.')
})

test('a failure belongs to its step, and without a number only the first attempt fails', async () => {
  const script = 'call get_weather {"city":"Oslo"}\nthen\nfail 500\nsay Late.'
  const first = await ask(script)
  const history = [userMessage(script), ...answered(first.answer)]
  expect(await failureOf(port, requestOf(history))).toMatchObject({ retryable: true })
  expect((await ask(history, { attempt: 2 })).text).toBe('Late.')
})

test('slow waits between the words, or before the first, and an abort ends the wait', async () => {
  for (const line of ['slow 60s', 'slow 60s before']) {
    const abort = new AbortController()
    const failed = failureOf(port, requestOf(`${line}\nsay one two`, { signal: abort.signal }))
    setImmediate(() => abort.abort())
    expect((await failed).name).toBe('AbortError')
  }
  const began = performance.now()
  expect((await ask('slow 20ms\nsay one two three')).text).toBe('one two three')
  expect(performance.now() - began).toBeGreaterThan(35)
})

test('badargs writes arguments that are no JSON', async () => {
  const [call] = callsOf((await ask('badargs get_weather')).answer.parts)
  expect(call).toMatchObject({ name: 'get_weather' })
  expect(() => JSON.parse(call!.input)).toThrow()
})

test('usage is counted in words and flagged, or reported as the script says, from that step on', async () => {
  const counted = (await ask('say one two three')).answer.usage
  expect(counted).toMatchObject({ outputTokens: 3, estimated: true })
  expect(counted.inputTokens).toBeGreaterThan(4)
  const script = 'usage 100 20\ncall get_weather {"city":"Oslo"}'
  const first = await ask(script)
  const second = await ask([userMessage(script), ...answered(first.answer)])
  for (const attempt of [first, second])
    expect(attempt.answer.usage).toMatchObject({ inputTokens: 100, outputTokens: 20, estimated: false })
})

test('json is the answer as text, or through final_answer where that is offered', async () => {
  expect((await ask('json {"a":1}')).text).toBe('{"a":1}')
  const offered = await ask('json {"a":1}', { tools: [weatherTool, finalTool] })
  expect(callsIn(offered)).toEqual([['final_answer', { a: 1 }]])
})

test('final_answer and a response format are filled by their schema when no line says how', async () => {
  const first = await ask('weather in "Oslo" please', { tools: [weatherTool, finalTool] })
  expect(callsIn(first)).toEqual([['get_weather', { city: 'Oslo' }]])
  const history = [userMessage('weather in "Oslo" please'), ...answered(first.answer, ['rain'])]
  const last = await ask(history, { tools: [weatherTool, finalTool] })
  expect(callsIn(last)).toEqual([['final_answer', { summary: 'Oslo', count: 0 }]])
  const native = await ask('add 3 and 4', { tools: [], outputSchema: finalTool.inputSchema })
  expect(JSON.parse(native.text)).toEqual({ summary: 'add 3 and 4', count: 3 })
})

test.each([
  ['What is the weather in "São Paulo"?', 'get_weather', { city: 'São Paulo' }],
  ['save csv filename=inv rows=3', 'save_csv', { filename: 'inv', rows: 3 }],
  [
    'Save CSVs, filename="my file.csv" rows=3, header=yes tags=a|b, and replace it.',
    'save_csv',
    { filename: 'my file.csv', rows: 3, header: true, tags: ['a', 'b'], mode: 'replace' },
  ],
  ['weather city=Oslo.', 'get_weather', { city: 'Oslo' }],
])('words find a tool and its arguments: %s', async (text, name, input) => {
  expect(callsIn(await ask(text, { tools: [csvTool, weatherTool] }))).toEqual([[name, input]])
})

test('lines with settings do not hide the words', async () => {
  expect(callsIn(await ask('slow 1ms\nweather in "Oslo"'))).toEqual([['get_weather', { city: 'Oslo' }]])
})

test.each(['hello there', 'call me tomorrow', 'call mum'])(
  '"%s" calls nothing: it introduces itself as no AI',
  async (text) => {
    const { text: said, answer } = await ask(text, { tools: [weatherTool, finalTool].slice(0, 1) })
    expect(callsOf(answer.parts)).toEqual([])
    expect(said).toContain('I am not an AI')
    expect(said).toContain('get_weather')
  },
)

test('with toolChoice none nothing is called, and something is said', async () => {
  const none = { toolChoice: { type: 'none' as const } }
  for (const text of ['call get_weather {"city":"Oslo"}', 'weather in "Oslo"', 'json {"a":1}']) {
    const { answer, text: said } = await ask(text, { ...none, tools: [weatherTool, finalTool] })
    expect(callsOf(answer.parts)).toEqual([])
    expect(said).not.toBe('')
  }
  const first = await ask('weather in "Oslo"')
  const limited = await ask([userMessage('weather in "Oslo"'), ...answered(first.answer, ['rain'])], none)
  expect(limited.text).toBe('get_weather answered: rain')
})

test('a forced tool is called, with what the words and the schema give', async () => {
  const forced = { toolChoice: { type: 'tool' as const, name: 'save_csv' }, tools: [weatherTool, csvTool] }
  expect(callsIn(await ask('weather in "Oslo"', forced))).toEqual([
    ['save_csv', { filename: 'Oslo', rows: 0 }],
  ])
  expect(callsIn(await ask('call get_weather {"city":"x"}', forced))).toMatchObject([['save_csv', {}]])
  const scripted = 'call save_csv {"filename":"a","rows":1}\ncall get_weather {"city":"x"}'
  expect(callsIn(await ask(scripted, forced))).toEqual([['save_csv', { filename: 'a', rows: 1 }]])
})

test('a required call is the best match, else the first tool', async () => {
  const required = { toolChoice: { type: 'required' as const }, tools: [csvTool, weatherTool] }
  expect(callsIn(await ask('weather in "Oslo"', required))).toEqual([['get_weather', { city: 'Oslo' }]])
  expect(callsIn(await ask('hello', required))).toMatchObject([['save_csv', {}]])
  expect(callsIn(await ask('say hello', required))).toMatchObject([['save_csv', {}]])
})

test('the same request gives the same answer', async () => {
  const [one, two] = await Promise.all([ask('weather in "Oslo"'), ask('weather in "Oslo"')])
  expect(one).toEqual(two)
})
