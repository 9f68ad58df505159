/**
 * The cases that Open Responses asks of a server, as its compliance list names them (https://www.openresponses.org/compliance):
 * plain requests, and responses with every field that the specification requires.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

const message = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: z.literal('completed'),
  role: z.literal('assistant'),
  content: z.array(
    z.object({
      type: z.literal('output_text'),
      text: z.string(),
      annotations: z.array(z.unknown()),
      logprobs: z.array(z.unknown()),
    }),
  ),
})
const functionCall = z.object({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status: z.literal('completed'),
})
/** Every required field of a response, in the version of 2026-04-24. */
const responseShape = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.null(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(z.union([message, functionCall])).min(1),
  error: z.null(),
  tools: z.array(z.object({ type: z.literal('function'), name: z.string() }).loose()),
  tool_choice: z.enum(['none', 'auto', 'required']),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.object({ effort: z.null(), summary: z.null() }).nullable(),
  usage: z
    .object({
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int() }),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    })
    .nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.object({}),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
})

const post = (body: object, stream: boolean) =>
  fetch(`${h.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'plain', ...body, stream }),
  })

async function respond(body: object) {
  const response = await post(body, false)
  expect(response.status).toBe(200)
  return responseShape.parse(await response.json())
}

/** The events of the stream; their numbers have no gap, and each has its type as its name. */
async function streamed(body: object) {
  const response = await post(body, true)
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const blocks = (await response.text()).split('\n\n').filter((block) => block.includes('data: {'))
  const events = blocks.map((block) => {
    const [, name] = /^event: (.*)$/m.exec(block)!
    const data = JSON.parse(/^data: (.*)$/m.exec(block)![1]!) as Record<string, any>
    expect(data['type']).toBe(name)
    return data
  })
  const first = events[0]!['sequence_number'] as number
  expect(events.map((event) => event['sequence_number'] - first)).toEqual(
    events.map((event) => event['sequence_number'] - first).toSorted((a, b) => a - b),
  )
  const last = events.at(-1)!
  expect(last['type']).toBe('response.completed')
  return {
    types: events.map((event) => event['type'] as string),
    events,
    final: responseShape.parse(last['response']),
  }
}

const said = (content: unknown, role = 'user') => ({ type: 'message', role, content })
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place.',
  parameters: objectSchema({ location: { type: 'string' } }, ['location']),
}
const asksWeather = { input: [said('call get_weather {"location": "San Francisco"}')], tools: [weather] }
const textOf = ({ output }: z.infer<typeof responseShape>) =>
  output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : [])).join('')

test('basic-response: a simple message of the user', async () => {
  const response = await respond({ input: [said('say hello to you all')] })
  expect(response.status).toBe('completed')
  expect(response.completed_at).toBeGreaterThanOrEqual(response.created_at)
  expect(textOf(response)).toBe('hello to you all')
})

test('streaming-response: events, and the whole response with the last one', async () => {
  const { types, events, final } = await streamed({ input: [said('say one two three four five')] })
  for (const type of [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
  ])
    expect(types).toContain(type)
  const deltas = events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => delta as string)
  expect(deltas.join('')).toBe(textOf(final))
  expect(final.status).toBe('completed')
})

test('system-prompt: a message of the system is an instruction', async () => {
  const input = [said('Always answer as a pirate.', 'system'), said('say ahoy')]
  expect(textOf(await respond({ input }))).toBe('ahoy')
  const query = '{ generations(first: 1) { nodes { input { settings { instructions } } } } }'
  expect(JSON.stringify((await h.gql(query)).data)).toContain('Always answer as a pirate.')
})

test('tool-calling: a function of the request is called', async () => {
  const response = await respond(asksWeather)
  expect(response.tools).toMatchObject([{ name: 'get_weather' }])
  const call = response.output.find((item) => item.type === 'function_call')
  expect(JSON.parse(call!.arguments)).toEqual({ location: 'San Francisco' })
})

test('tool-calling-streaming: the call comes in events of its own', async () => {
  const { types, events } = await streamed(asksWeather)
  const ofCall = (type: string) =>
    events.filter((event) => event['type'] === type && event['item']?.type === 'function_call')
  expect(ofCall('response.output_item.added')).toHaveLength(1)
  const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta')
  expect(deltas.map(({ delta }) => delta as string).join('')).toBe('{"location":"San Francisco"}')
  expect(types).toContain('response.function_call_arguments.done')
  expect(ofCall('response.output_item.done')).toHaveLength(1)
})

test('image-input: a picture beside the text', async () => {
  const image = `data:image/png;base64,${Buffer.from('a red heart').toString('base64')}`
  const content = [
    { type: 'input_text', text: 'say a heart' },
    { type: 'input_image', image_url: image },
  ]
  const response = await respond({ input: [said(content)] })
  expect(response.status).toBe('completed')
  expect(textOf(response)).toBe('a heart')
})

test('multi-turn: the conversation so far, with what the assistant said', async () => {
  const input = [said('My name is Alice.'), said('Hello Alice.', 'assistant'), said('say Alice')]
  const response = await respond({ input })
  expect(response.status).toBe('completed')
  expect(textOf(response)).toBe('Alice')
})
