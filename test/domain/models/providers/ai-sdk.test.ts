/** The port over a model of the AI SDK, of either version; a list of parts plays the model. */
import { ReadableStream } from 'node:stream/web'
import { expect, test } from 'vitest'
import { errorResult, type ContentBlock } from '../../../../src/core/content.ts'
import { callsOf, userMessage, type Message } from '../../../../src/domain/models/message.ts'
import type { ModelCapabilities, ModelPort, ProviderKind } from '../../../../src/domain/models/port.ts'
import { sdkPort } from '../../../../src/domain/models/providers/ai-sdk.ts'
import type { SdkModel } from '../../../../src/domain/models/providers/sdk-model.ts'
import { answered, attemptOf, failureOf, requestOf, restarted } from '../../../support/conversation.ts'

const all: ModelCapabilities = { images: true, files: true, parallelTools: true, structuredOutput: true }
const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
}

interface Fake {
  port: ModelPort
  /** The prompts that the model received. */
  prompts: any[]
}

function fake(
  answers: object[][],
  kind: ProviderKind = 'anthropic',
  version: 'v3' | 'v4' = 'v3',
  capabilities = all,
): Fake {
  const prompts: any[] = []
  const model: SdkModel = {
    specificationVersion: version,
    provider: kind,
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream: (options) => {
      prompts.push(options.prompt)
      const parts = answers.shift() ?? []
      return Promise.resolve({ stream: ReadableStream.from(parts) as never })
    },
  }
  const named = { name: `${kind}/m`, providerKind: kind, capabilities, contextWindow: null, secrets: [] }
  return { port: sdkPort({ model, ...named }), prompts }
}

const call = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{"x":1}' }
const png = { type: 'image' as const, data: 'aGVsbG8=', mimeType: 'image/png' }
const pdf = {
  type: 'resource' as const,
  resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'cGRm' },
}

async function secondPrompt(
  content: ContentBlock[],
  more: { structuredContent?: any; isError?: boolean } = {},
  ...at: [ProviderKind?, ('v3' | 'v4')?, ModelCapabilities?]
): Promise<any[]> {
  const { port, prompts } = fake([[call, finish], [finish]], ...at)
  const { answer } = await attemptOf(port, requestOf('hi'))
  await attemptOf(
    port,
    requestOf([userMessage('hi'), ...answered(answer, [{ content, isError: false, ...more }])]),
  )
  return prompts[1]
}

function outputOf(prompt: any[]): any {
  return prompt.find((message) => message.role === 'tool').content[0].output
}

test.each(['v3', 'v4'] as const)('a %s stream without a finish part is a failed attempt', async (version) => {
  const text = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'All of it.' },
  ]
  const { port } = fake([text], 'openai', version)
  expect(await failureOf(port, requestOf('hi'))).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true })
})

test('metadata that comes with the start, a delta and the end of a part is one, and nulls overwrite nothing', async () => {
  const parts = [
    { type: 'reasoning-start', id: '1', providerMetadata: { anthropic: { a: 1, late: null } } },
    { type: 'reasoning-delta', id: '1', delta: 'Hm', providerMetadata: { anthropic: { signature: 's' } } },
    { type: 'reasoning-end', id: '1', providerMetadata: { anthropic: { late: 'x', a: null } } },
    { type: 'tool-input-start', id: 'a', toolName: 'f', providerMetadata: { anthropic: { b: 1 } } },
    { type: 'tool-input-end', id: 'a', providerMetadata: { anthropic: { c: 2 } } },
    { ...call, providerMetadata: { anthropic: { d: 3 }, other: { e: 4 } } },
    finish,
  ]
  const { port, prompts } = fake([parts, [finish]])
  const { answer } = await attemptOf(port, requestOf('hi'))
  await attemptOf(port, requestOf(restarted([userMessage('hi'), ...answered(answer)])))
  const [reasoning, called] = prompts[1].find((message: any) => message.role === 'assistant').content
  expect(reasoning.providerOptions).toEqual({ anthropic: { a: 1, signature: 's', late: 'x' } })
  expect(called.providerOptions).toEqual({ anthropic: { b: 1, c: 2, d: 3 } })
})

test('parts of an unknown kind are kept word for word and go back to the same provider only', async () => {
  const custom = {
    type: 'custom',
    kind: 'anthropic.compaction',
    providerMetadata: { anthropic: { blob: 'zzz' } },
  }
  const { port, prompts } = fake([[custom, call, finish], [finish]], 'anthropic', 'v4')
  const { answer } = await attemptOf(port, requestOf('hi'))
  expect(answer.parts[0]).toEqual({ type: 'opaque', provider: 'anthropic', value: custom })
  const history = restarted([userMessage('hi'), ...answered(answer)])
  await attemptOf(port, requestOf(history))
  const sent = prompts[1].find((message: any) => message.role === 'assistant').content[0]
  expect(sent).toEqual({
    type: 'custom',
    kind: 'anthropic.compaction',
    providerOptions: { anthropic: { blob: 'zzz' } },
  })
  const other = fake([[finish]], 'openai', 'v4')
  await attemptOf(other.port, requestOf(history))
  expect(JSON.stringify(other.prompts[0])).not.toContain('zzz')
})

test.each([
  ['v3', 'openai', 'error-json'],
  ['v3', 'anthropic', 'error-json'],
  ['v4', 'anthropic', 'error-json'],
  ['v4', 'openai', 'json'],
] as const)('an error value is wrapped in "error" once, on %s of %s too', async (version, kind, type) => {
  const { content, structuredContent } = errorResult('approval_rejected', 'No.')
  const output = outputOf(await secondPrompt(content, { structuredContent, isError: true }, kind, version))
  expect(output).toEqual({ type, value: { error: { code: 'approval_rejected', message: 'No.' } } })
})

test('pictures and documents in a result follow exactly one text, in the format of each version', async () => {
  const third = outputOf(
    await secondPrompt([png, { type: 'text', text: 'one' }, { type: 'text', text: 'two' }, pdf]),
  )
  expect(third.value).toEqual([
    { type: 'text', text: 'one\ntwo\n[resource: file:///a.pdf]' },
    { type: 'image-data', mediaType: 'image/png', data: 'aGVsbG8=' },
    { type: 'file-data', mediaType: 'application/pdf', data: 'cGRm' },
  ])
  const fourth = outputOf(await secondPrompt([png], {}, 'anthropic', 'v4'))
  expect(fourth.value[1]).toEqual({
    type: 'file',
    mediaType: 'image/png',
    data: { type: 'data', data: 'aGVsbG8=' },
  })
})

test('on a compatible server that sees, pictures of results follow in a user message after all results', async () => {
  const prompt = await secondPrompt([png, { type: 'text', text: 'map' }], {}, 'compatible')
  expect(outputOf(prompt)).toEqual({ type: 'text', value: 'map\n[the pictures follow in the next message]' })
  expect(prompt.at(-1)).toEqual({
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/png', data: 'aGVsbG8=' }],
  })
})

test('every kind of block becomes text, and what the model cannot read is named', async () => {
  const blind = { ...all, images: false, files: false }
  const blocks: ContentBlock[] = [
    png,
    pdf,
    { type: 'audio', data: 'x', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'note://1', text: 'inside' } },
    { type: 'resource_link', uri: 'note://2', name: 'n', title: 'Second', description: 'more' },
  ]
  const { type, value } = outputOf(await secondPrompt(blocks, {}, 'openai', 'v3', blind))
  expect(type).toBe('text')
  for (const said of [
    'image/png: not',
    'application/pdf: not',
    'audio/wav: not',
    'inside',
    'Second, note://2, more',
  ])
    expect(value).toContain(said)
})

test('the structured form is sent when the text does not say the same', async () => {
  const structuredContent = { b: 2, a: 1 }
  expect(outputOf(await secondPrompt([], { structuredContent }))).toEqual({
    type: 'json',
    value: structuredContent,
  })
  const same = [{ type: 'text' as const, text: '{"a":1,"b":2}' }]
  expect(outputOf(await secondPrompt(same, { structuredContent })).value).toBe('{"a":1,"b":2}')
  const other = [{ type: 'text' as const, text: 'two numbers' }]
  expect(outputOf(await secondPrompt(other, { structuredContent })).value).toBe('two numbers\n{"b":2,"a":1}')
  expect(outputOf(await secondPrompt([])).value).toBe('(no output)')
})

test("a user's files are sent, read out or named, depending on the model", async () => {
  const parts = [
    { type: 'text' as const, text: '  ' },
    { type: 'file' as const, mediaType: 'image/png', data: 'aGVsbG8=' },
    {
      type: 'file' as const,
      mediaType: 'text/csv',
      data: Buffer.from('a,b').toString('base64'),
      filename: 'x.csv',
    },
    { type: 'file' as const, mediaType: 'video/mp4', data: 'AAAA', filename: 'v.mp4' },
  ]
  const { port, prompts } = fake([[finish], [finish]])
  await attemptOf(port, requestOf([{ v: 1, role: 'user', parts }]))
  expect(prompts[0][1].content).toEqual([
    { type: 'file', mediaType: 'image/png', data: 'aGVsbG8=' },
    { type: 'text', text: '[file x.csv]\na,b' },
    { type: 'text', text: '[file v.mp4, video/mp4: not shown, this model cannot take it]' },
  ])
  await attemptOf(port, requestOf([{ v: 1, role: 'user', parts: [] }]))
  expect(prompts[1][1].content).toEqual([{ type: 'text', text: '(no text)' }])
})

test('a history with gaps is completed: missing results get an error, results without a call and empty answers are left out', async () => {
  const { port, prompts } = fake([[call, { ...call, toolCallId: 'b' }, finish], [finish]])
  const { answer } = await attemptOf(port, requestOf('hi'))
  const [asked, results] = answered(answer, ['one', 'two']) as [Message, Extract<Message, { role: 'tool' }>]
  const stray = { ...results.parts[0]!, callId: 'call_x', providerCallId: 'x' }
  const history: Message[] = [
    { v: 1, role: 'tool', parts: [stray] },
    userMessage('hi'),
    {
      v: 1,
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'foreign' },
        { type: 'text', text: ' ' },
      ],
    },
    asked,
    { v: 1, role: 'tool', parts: [stray, results.parts[1]!] },
    userMessage('and?'),
  ]
  await attemptOf(port, requestOf(history))
  const prompt = prompts[1]
  expect(prompt.map((message: any) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
  const [first, second] = prompt[3].content
  expect([first.toolCallId, second.toolCallId]).toEqual(['a', 'b'])
  expect(first.output.value.error.code).toBe('no_result')
  expect(second.output).toEqual({ type: 'text', value: 'two' })
})

test('an id that the next provider does not accept is replaced by ours', async () => {
  const { port } = fake([[{ ...call, toolCallId: 'functions.f:0' }, finish]], 'compatible')
  const { answer } = await attemptOf(port, requestOf('hi'))
  const history = [userMessage('hi'), ...answered(answer)]
  const same = fake([[finish]], 'compatible')
  await attemptOf(same.port, requestOf(history))
  expect(same.prompts[0][2].content[0].toolCallId).toBe('functions.f:0')
  const other = fake([[finish]], 'anthropic')
  await attemptOf(other.port, requestOf(history))
  expect(other.prompts[0][2].content[0].toolCallId).toBe('call_step0n0')
})

test('a call that the provider runs itself is not a tool call for us', async () => {
  const own = { ...call, providerExecuted: true }
  const { port } = fake([[own, { type: 'tool-result', toolCallId: 'a', toolName: 'f', result: 1 }, finish]])
  const { answer } = await attemptOf(port, requestOf('hi'))
  expect(callsOf(answer.parts)).toEqual([])
  expect(answer.parts.map((part) => part.type)).toEqual(['opaque', 'opaque'])
})

test.each(['v3', 'v4'] as const)('a picture the model made is kept as base64 (%s)', async (version) => {
  const bytes = new Uint8Array([104, 105])
  const data = version === 'v4' ? { type: 'data', data: bytes } : bytes
  const { port, prompts } = fake(
    [
      [
        {
          type: 'file',
          mediaType: 'image/png',
          data,
          providerMetadata: { google: { thoughtSignature: 's' } },
        },
        finish,
      ],
      [finish],
    ],
    'google',
    version,
  )
  const { answer } = await attemptOf(port, requestOf('draw'))
  expect(answer.parts).toMatchObject([{ type: 'file', mediaType: 'image/png', data: 'aGk=' }])
  await attemptOf(port, requestOf(restarted([userMessage('draw'), ...answered(answer)])))
  expect(prompts[1][2].content[0].providerOptions).toEqual({ google: { thoughtSignature: 's' } })
})

test('an abort is prompt even when the model ignores it', async () => {
  const abort = new AbortController()
  const { port } = fake([])
  const deaf: SdkModel['doStream'] = () => new Promise(() => {})
  const named = {
    name: 'x/m',
    providerKind: 'openai' as const,
    capabilities: all,
    contextWindow: null,
    secrets: [],
  }
  const silent = sdkPort({
    model: {
      specificationVersion: 'v3',
      provider: 'x',
      modelId: 'm',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error()),
      doStream: deaf,
    },
    ...named,
  })
  const failed = failureOf(silent, requestOf('hi', { signal: abort.signal }))
  abort.abort(new Error('a reason of somebody else'))
  expect((await failed).name).toBe('AbortError')
  expect((await failureOf(port, requestOf('hi', { signal: abort.signal }))).name).toBe('AbortError')
})
