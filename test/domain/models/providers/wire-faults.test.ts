/** Faults of a provider's stream: bytes cut anywhere, invalid frames, servers that stop or send wrong data. */
import { describe, expect, test } from 'vitest'
import { callsOf, userMessage } from '../../../../src/domain/models/message.ts'
import type { ModelPort } from '../../../../src/domain/models/port.ts'
import { openModel } from '../../../../src/domain/models/providers/open-model.ts'
import { answered, attemptOf, failureOf, requestOf } from '../../../support/conversation.ts'
import { inPieces, startRawProvider } from '../../../support/raw-provider.ts'
import { settingsFor } from '../../../support/strict-provider.ts'
import { framesOf, type Wire } from '../../../support/wire-frames.ts'
import { forFile } from '../../../support/for-file.ts'

const wires: [Wire, string][] = [
  ['openai', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-3-pro-preview'],
  ['compatible', 'local'],
]

const provider = await forFile(startRawProvider())

function open(wire: Wire): Promise<ModelPort> {
  return openModel(provider.settings(wire), wires.find(([name]) => name === wire)![1])
}

const unavailable = { name: 'ModelError', code: 'MODEL_UNAVAILABLE', retryable: true }
const difficult = 'Grüße 🌍 日本 — “ok”'
const call = { name: 'get_weather', arguments: '{"city":"São Paulo 🌧"}' }

describe.each(wires)('on the %s wire', (wire) => {
  test.each([1, 2, 3, 7, 64])('an answer in packets of %i bytes is the same answer', async (bytes) => {
    const whole = framesOf(wire, { reasoning: 'Hm – ja.', text: [difficult, ' …'], calls: [call] }).join('')
    provider.script({ chunks: inPieces(whole, bytes) })
    const { answer, text } = await attemptOf(await open(wire), requestOf('hi'))
    expect(text).toBe(`${difficult} …`)
    expect(JSON.parse(callsOf(answer.parts)[0]!.input)).toEqual(JSON.parse(call.arguments))
  })

  test('line ends of the other kind, comments and pings change nothing', async () => {
    const frames = framesOf(wire, { text: difficult }).map((frame) =>
      `: ping\n\n${frame}`.replaceAll('\n', '\r\n'),
    )
    provider.script({ chunks: frames })
    expect((await attemptOf(await open(wire), requestOf('hi'))).text).toBe(difficult)
  })

  test('a frame of two megabytes arrives whole', async () => {
    const long = 'långt '.repeat(350_000)
    provider.script({ chunks: framesOf(wire, { text: long }) })
    const { answer } = await attemptOf(await open(wire), requestOf('hi'))
    expect(answer.parts.find((part) => part.type === 'text')).toMatchObject({ text: long })
  })

  test('a stream that is closed properly before it has finished is a failed attempt', async () => {
    const frames = framesOf(wire, { text: ['Half ', 'of ', 'it.'] })
    const lastFrames = { openai: 1, anthropic: 1, google: 1, compatible: 3 }[wire]
    for (const kept of [0, 2, frames.length - lastFrames]) {
      provider.script({ chunks: frames.slice(0, kept) })
      expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(unavailable)
    }
  })

  test('a connection that is reset in the middle of a frame is a failed attempt', async () => {
    const bytes = Buffer.from(framesOf(wire, { text: ['Half ', difficult] }).join(''))
    provider.script({ chunks: [bytes.subarray(0, Math.floor(bytes.length * 0.6))], end: 'reset' })
    expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(unavailable)
  })

  test('a connection that is reset before the first byte is a failed attempt', async () => {
    provider.script({ chunks: [], end: 'reset' })
    expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(unavailable)
  })

  test('a frame that is no JSON is a failed attempt', async () => {
    const [first, ...rest] = framesOf(wire, { text: 'ok' })
    provider.script({ chunks: [first!, 'data: {"oops\n\n', ...rest] })
    expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(unavailable)
  })

  test('a page of HTML with status 200 is a failed attempt', async () => {
    provider.script({
      chunks: ['<html><body>Sign in</body></html>'],
      headers: { 'content-type': 'text/html' },
    })
    expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(unavailable)
  })

  test('a page of HTML with status 502 is a failed attempt that shows nothing of the page', async () => {
    provider.script({
      chunks: ['<html>nginx at 10.1.2.3</html>'],
      status: '502 Bad Gateway',
      headers: { 'content-type': 'text/html' },
    })
    const error = await failureOf(await open(wire), requestOf('hi'))
    expect(error).toMatchObject(unavailable)
    expect(error.message).not.toMatch(/nginx|10\.1/)
  })

  test('an unreachable server is a failed attempt, and the message names no address', async () => {
    const port = await openModel(settingsFor(wire, 'http://127.0.0.1:1'), 'gpt-5')
    const error = await failureOf(port, requestOf('hi'))
    expect(error).toMatchObject(unavailable)
    expect(error.message).not.toContain('127.0.0.1')
  })

  test('an abort in the middle of the text closes the connection', async () => {
    const abort = new AbortController()
    const frames = framesOf(wire, { text: ['one ', 'two ', 'three'] })
    provider.script({ chunks: frames.slice(0, -3), end: 'hang' })
    const closed = provider.closed()
    const port = await open(wire)
    const read = async () => {
      for await (const event of port.stream(requestOf('hi', { signal: abort.signal })))
        if (event.type === 'text-delta') abort.abort()
    }
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
    await closed
  })

  test('a reader that stops early closes the connection', async () => {
    const frames = framesOf(wire, { text: ['one ', 'two ', 'three'] })
    provider.script({ chunks: frames.slice(0, -3), end: 'hang' })
    const closed = provider.closed()
    for await (const event of (await open(wire)).stream(requestOf('hi')))
      if (event.type === 'text-delta') break
    await closed
  })

  test('an answer that was cut at the length limit is marked as truncated', async () => {
    const words = {
      openai: 'max_output_tokens',
      anthropic: 'max_tokens',
      google: 'MAX_TOKENS',
      compatible: 'length',
    }
    provider.script({ chunks: framesOf(wire, { text: 'Once upon', finish: words[wire] }) })
    expect((await attemptOf(await open(wire), requestOf('hi'))).answer.finishReason).toBe('length')
  })

  test('calls decide what the answer is, whatever finish reason is reported', async () => {
    const words = {
      openai: 'something_new',
      anthropic: 'end_turn',
      google: 'FUNCTION_CALL',
      compatible: 'stop',
    }
    provider.script({ chunks: framesOf(wire, { calls: [call], finish: words[wire] }) })
    const { answer } = await attemptOf(await open(wire), requestOf('hi'))
    expect(callsOf(answer.parts)).toHaveLength(1)
    expect(answer.finishReason).toBe('tool-calls')
  })

  test('the usage of a server that reports none is estimated', async () => {
    provider.script({ chunks: framesOf(wire, { text: 'Hello there.', usage: { input: 0, output: 0 } }) })
    const { usage } = (await attemptOf(await open(wire), requestOf('hi'))).answer
    expect(usage.estimated).toBe(true)
    expect(usage.inputTokens).toBeGreaterThan(0)
  })

  const [input, output] = [778_899, 445_566]
  test('arguments that are an object, where the wire has a text, are read with all digits', async () => {
    if (wire !== 'compatible' && wire !== 'openai') return
    const text = '{"id":2512292042121000001,"function":{"arguments":{"a":1}}}'
    const frames = framesOf(wire, { calls: [{ name: 'get_weather', arguments: '@' }] })
    const whole = frames.join('').replaceAll(/"(arguments|delta)":"@"/g, `"$1":${text}`)
    expect(whole).toContain(`"arguments":${text}`)
    provider.script({ chunks: [whole] })
    const { answer } = await attemptOf(await open(wire), requestOf('hi'))
    expect(callsOf(answer.parts)[0]!.input).toBe(text)
  })

  /** A response with these JSON texts in place of its counts. */
  const countedAs = (sent: string, got: string) =>
    framesOf(wire, { text: 'Hello there.', usage: { input, output } }).map((frame) =>
      frame.replaceAll(String(input), sent).replaceAll(String(output), got),
    )
  const usageOf = async (frames: string[]) => {
    provider.script({ chunks: frames })
    const { answer, text } = await attemptOf(await open(wire), requestOf('hi'))
    expect(text).toBe('Hello there.')
    return answer.usage
  }

  test.each([
    '10.5',
    '1e21',
    '-3',
    'null',
    '"many"',
    '""',
    '[]',
    '{}',
    'true',
    '9007199254740993',
    '5000000000',
  ])('a count of %s is not known, and no reason to fail', async (count) => {
    for (const frames of [countedAs(count, count), countedAs('12', count), countedAs(count, '34')]) {
      const usage = await usageOf(frames)
      expect(usage.estimated).toBe(true)
      for (const one of [usage.inputTokens, usage.outputTokens]) {
        expect(Number.isInteger(one)).toBe(true)
        expect(one).toBeGreaterThan(0)
        expect(one).toBeLessThan(100)
      }
    }
  })

  test('counts that are texts are read, and so are large ones', async () => {
    expect(await usageOf(countedAs('"12"', '"34"'))).toMatchObject({ inputTokens: 12, outputTokens: 34 })
    expect(await usageOf(countedAs('99000000', '1000000'))).toMatchObject({
      inputTokens: 99_000_000,
      outputTokens: 1_000_000,
    })
  })

  test.each(['null', '[]', '"none"', '7', '{}'])('the usage as a whole may be %s', async (whole) => {
    const frames = framesOf(wire, { text: 'Hello there.' }).map((frame) =>
      frame.replace(/"(usage|usageMetadata)":\{[^}]*\}/, `"$1":${whole}`),
    )
    expect(await usageOf(frames)).toMatchObject({ estimated: true })
  })

  test('usage that is no count of the provider stays what it is', async () => {
    const args = '{"usage":{"input_tokens":"7.5","usageMetadata":{"promptTokenCount":-1}}}'
    provider.script({ chunks: framesOf(wire, { calls: [{ name: 'get_weather', arguments: args }] }) })
    const { answer } = await attemptOf(await open(wire), requestOf('hi'))
    expect(JSON.parse(callsOf(answer.parts)[0]!.input)).toEqual(JSON.parse(args))
  })
})

const inStream: [Wire, string, object][] = [
  [
    'anthropic',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    unavailable,
  ],
  [
    'anthropic',
    'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}\n\n',
    { code: 'MODEL_RATE_LIMITED', retryable: true },
  ],
  [
    'openai',
    'data: {"type":"error","sequence_number":3,"error":{"type":"server_error","code":"server_error","message":"Sorry","param":null}}\n\n',
    unavailable,
  ],
  [
    'openai',
    'data: {"type":"response.failed","sequence_number":3,"response":{"error":{"code":"rate_limit_exceeded","message":"Slow down"}}}\n\n',
    { code: 'MODEL_RATE_LIMITED', retryable: true },
  ],
  [
    'openai',
    'data: {"type":"response.failed","sequence_number":3,"response":{"error":{"code":"context_length_exceeded","message":"Too long"}}}\n\n',
    { code: 'CONTEXT_OVERFLOW', retryable: false },
  ],
  [
    'google',
    'data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}\n\n',
    unavailable,
  ],
  [
    'google',
    'data: {"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}\n\n',
    { code: 'MODEL_RATE_LIMITED', retryable: true },
  ],
  [
    'compatible',
    'data: {"error":{"message":"CUDA out of memory","type":"server_error","code":null}}\n\n',
    unavailable,
  ],
  [
    'compatible',
    'data: {"error":{"message":"This model has a maximum context length of 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}\n\n',
    { code: 'CONTEXT_OVERFLOW' },
  ],
]

test.each(inStream)(
  'an error inside the stream of %s is told as what it is: %s',
  async (wire, frame, expected) => {
    for (const kept of [1, 4]) {
      provider.script({ chunks: [...framesOf(wire, { text: ['a', 'b', 'c'] }).slice(0, kept), frame] })
      expect(await failureOf(await open(wire), requestOf('hi'))).toMatchObject(expected)
    }
  },
)

test('an answer that announces calls, and has none with a name and no text, is a failed attempt', async () => {
  const unnamed = { ...call, name: '' }
  for (const calls of [[], [unnamed]]) {
    provider.script({ chunks: framesOf('compatible', { calls, finish: 'tool_calls' }) })
    expect(await failureOf(await open('compatible'), requestOf('hi'))).toMatchObject(unavailable)
  }
  provider.script({ chunks: framesOf('compatible', { text: 'I see.', finish: 'tool_calls' }) })
  const { answer } = await attemptOf(await open('compatible'), requestOf('hi'))
  expect(answer.finishReason).toBe('stop')
})

test('a chat server that leaves out [DONE] has finished all the same', async () => {
  provider.script({ chunks: framesOf('compatible', { text: 'ok' }).slice(0, -1) })
  expect((await attemptOf(await open('compatible'), requestOf('hi'))).text).toBe('ok')
})

test('calls with repeated or missing ids are distinguished, and stay paired with their results', async () => {
  const calls = [
    { id: 'call_0', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    { id: 'call_0', name: 'get_weather', arguments: '{"city":"Rome"}' },
    { id: null, name: 'get_weather', arguments: '{"city":"Bonn"}' },
  ]
  const port = await open('compatible')
  provider.script({ chunks: framesOf('compatible', { calls }) })
  const first = await attemptOf(port, requestOf('hi'))
  expect(callsOf(first.answer.parts).map((one) => JSON.parse(one.input).city)).toEqual([
    'Oslo',
    'Rome',
    'Bonn',
  ])
  expect(new Set(callsOf(first.answer.parts).map((one) => one.providerCallId)).size).toBe(3)
  // The same server begins at call_0 again in the next step.
  provider.script({ chunks: framesOf('compatible', { calls: calls.slice(0, 1) }) })
  const second = await attemptOf(port, requestOf('hi'))
  const history = [
    userMessage('hi'),
    ...answered(first.answer, ['o', 'r', 'b'], 1),
    ...answered(second.answer, ['again'], 2),
  ]
  provider.script({ chunks: framesOf('compatible', { text: 'ok' }) })
  await attemptOf(port, requestOf(history))
  const { messages } = JSON.parse(provider.requests.at(-1)!) as { messages: Record<string, any>[] }
  const asked = messages.flatMap((message) =>
    (message['tool_calls'] ?? []).map((one: { id: string }) => one.id),
  )
  const told = messages.filter((message) => message['role'] === 'tool')
  expect(told.map((message) => message['tool_call_id'])).toEqual(asked)
  expect(told.map((message) => message['content'])).toEqual(['o', 'r', 'b', 'again'])
  expect(new Set(asked).size).toBe(4)
})

test('a call that was cut off by the length limit is not run', async () => {
  const frames = framesOf('anthropic', { text: 'Well,', calls: [call], finish: 'max_tokens' })
  const stop = frames.findIndex((frame, i) => i > 6 && frame.includes('content_block_stop'))
  provider.script({ chunks: frames.filter((_, i) => i !== stop) })
  const { answer } = await attemptOf(await open('anthropic'), requestOf('hi'))
  expect(callsOf(answer.parts)).toEqual([])
  expect(answer.finishReason).toBe('length')
})

test('a malformed call on the Gemini side is a failed attempt', async () => {
  provider.script({ chunks: framesOf('google', { text: 'Hm.', finish: 'MALFORMED_FUNCTION_CALL' }) })
  expect(await failureOf(await open('google'), requestOf('hi'))).toMatchObject(unavailable)
})

test('Google says in the body when to retry, and returns 400 for a wrong key', async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }]
  const body = { error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED', details } }
  const json = { 'content-type': 'application/json' }
  provider.script({ status: '429 Too Many Requests', headers: json, chunks: [JSON.stringify(body)] })
  expect(await failureOf(await open('google'), requestOf('hi'))).toMatchObject({ retryAfterMs: 34_500 })
  const wrong = {
    error: {
      code: 400,
      message: 'API key not valid. Please pass a valid API key.',
      status: 'INVALID_ARGUMENT',
    },
  }
  provider.script({ status: '400 Bad Request', headers: json, chunks: [JSON.stringify(wrong)] })
  expect(await failureOf(await open('google'), requestOf('hi'))).toMatchObject({ code: 'MODEL_AUTH' })
})

test('a quota that is used up is not retryable', async () => {
  const body = {
    error: {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  }
  provider.script({
    status: '429 Too Many Requests',
    headers: { 'content-type': 'application/json' },
    chunks: [JSON.stringify(body)],
  })
  expect(await failureOf(await open('openai'), requestOf('hi'))).toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    retryable: false,
  })
})
