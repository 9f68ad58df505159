/** The Responses API, judged by the AI SDK as a caller: text, streams, tools, questions, endings, and who may not. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool, type ModelMessage } from 'ai'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const modelOf = (agent: string, apiKey = adminKey) =>
  createOpenAI({ apiKey, baseURL: `${h.url}/v1` }).responses(agent)

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })

/** The page's tool `locate`, which records the rooms that it is asked for. */
function locateTool() {
  const rooms: string[] = []
  const locate = tool({
    description: 'Finds the user.',
    inputSchema: jsonSchema<{ room: string }>(objectSchema({ room: { type: 'string' } }, ['room']) as never),
    execute: async ({ room }) => `kitchen ${rooms.push(room)}`,
  })
  return { rooms, tools: { locate }, stopWhen: stepCountIs(5) }
}

test('text, whole and as a stream', async () => {
  const { text, finishReason } = await generateText({ model: modelOf('plain'), prompt: 'say hello there' })
  expect({ text, finishReason }).toEqual({ text: 'hello there', finishReason: 'stop' })
  const stream = streamText({
    model: modelOf('plain'),
    prompt: 'slow 2000ms before\nslow 50ms\nsay one two three four',
  })
  const pieces: string[] = []
  for await (const piece of stream.textStream) pieces.push(piece)
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.join('')).toBe('one two three four')
})

test.each(['generateText', 'streamText'])('%s shows a call that runs here with its output', async (how) => {
  const before = fixtures.upstream.seen.length
  const asked = { model: modelOf('plain'), prompt: 'call look {"word": "a"}\nthen\nsay done' }
  const made = how === 'streamText' ? streamText(asked) : await generateText(asked)
  expect(await made.text).toBe('done')
  expect(await made.toolResults).toMatchObject([
    { toolName: 'mcp.look', providerExecuted: true, output: { type: 'call', name: 'look' } },
  ])
  expect(fixtures.upstream.seen.length - before).toBe(1)
})

test('a client tool is run, and the run goes on, which the SDK names only by its items', async () => {
  const { rooms, ...page } = locateTool()
  const prompt = 'call locate {"room": "a"}\nthen\nsay found'
  const { text } = await generateText({ model: modelOf('plain'), system: 'Be brief.', prompt, ...page })
  expect({ text, rooms }).toEqual({ text: 'found', rooms: ['a'] })
})

test('one client tool after another, each once, though the whole conversation is sent', async () => {
  const { rooms, ...page } = locateTool()
  const prompt = 'call locate {"room": "a"}\nthen\ncall locate {"room": "b"}\nthen\nsay found'
  const stream = streamText({ model: modelOf('plain'), prompt, ...page })
  expect(await stream.text).toBe('found')
  expect(rooms).toEqual(['a', 'b'])
})

test.each([
  { how: 'generateText', approved: true },
  { how: 'generateText', approved: false },
  { how: 'streamText', approved: true },
  { how: 'streamText', approved: false },
])('$how brings a question and takes its verdict, approved: $approved', async ({ how, approved }) => {
  const before = fixtures.upstream.seen.length
  const ask = async (messages: ModelMessage[]) => {
    const asked = { model: modelOf('gated'), messages }
    const made = how === 'streamText' ? streamText(asked) : await generateText(asked)
    return { text: await made.text, content: await made.content, ...(await made.response) }
  }
  const messages: ModelMessage[] = [{ role: 'user', content: 'call act {"word": "a"}\nthen\nsay ok' }]
  const first = await ask(messages)
  const question = first.content.find((part) => part.type === 'tool-approval-request')!
  expect(question.toolCall).toMatchObject({ toolName: 'mcp.act', input: { word: 'a' } })
  expect(fixtures.upstream.seen.length).toBe(before)
  messages.push(...first.messages, {
    role: 'tool',
    content: [
      { type: 'tool-approval-response', approvalId: question.approvalId, approved, providerExecuted: true },
    ],
  })
  const second = await ask(messages)
  expect(second.text).toBe('ok')
  expect((await ask(messages)).text, 'a repeat finds the same run').toBe('ok')
  expect(fixtures.upstream.seen.length - before).toBe(approved ? 1 : 0)
})

test('a person who decides elsewhere with other arguments: the call runs with those', async () => {
  const { secret } = await h.mutate(
    'createApiKey',
    { name: 'caller', role: 'DEVELOPER', votes: false },
    'secret',
  )
  const answer = generateText({
    model: modelOf('gated', secret),
    prompt: 'call act {"word": "a"}\nthen\nsay ok',
  })
  const list = 'query { approvals(filter: { statuses: [PENDING] }) { nodes { id } } }'
  const waiting = async () => (await h.gql(list)).data['approvals'].nodes[0]?.id as string | undefined
  await expect.poll(waiting).toBeDefined()
  const verdict = { approvalId: await waiting(), verdict: 'APPROVE', arguments: { word: 'b' } }
  await h.mutate('decideApproval', verdict, '__typename')
  const { text, toolResults } = await answer
  expect(text).toBe('ok')
  expect(toolResults).toMatchObject([{ output: { arguments: '{"word":"b"}' } }])
})

test('a run whose request the provider refuses fails with its message, and is not tried again', async () => {
  const count = async () =>
    (await h.gql('query { generations(first: 50) { nodes { id } } }')).data['generations'].nodes.length
  const before = await count()
  const message = 'The provider did not accept the request.'
  const failed = generateText({ model: modelOf('plain'), prompt: 'fail 400' })
  await expect(failed).rejects.toMatchObject({ message, isRetryable: false })
  const errors: unknown[] = []
  const stream = streamText({
    model: modelOf('plain'),
    prompt: 'fail 400',
    onError: ({ error }) => void errors.push(error),
  })
  await stream.consumeStream()
  expect(errors).toMatchObject([{ message, isRetryable: false }])
  expect((await count()) - before).toBe(2)
})

test('a caller that gives up leaves the run, which goes on', async () => {
  const caller = new AbortController()
  const stream = streamText({
    model: modelOf('plain'),
    prompt: 'slow 20ms\nsay one two three four five six',
    abortSignal: caller.signal,
  })
  for await (const _piece of stream.textStream) caller.abort()
  const newest = 'query { generations(first: 1) { nodes { id status output { text } } } }'
  const { id } = (await h.gql(newest)).data['generations'].nodes[0]
  await h.until(id, ['COMPLETED'])
  expect((await h.gql(newest)).data['generations'].nodes[0].output.text).toBe('one two three four five six')
})

test('a key that is none, one of another project, and an agent that does not exist', async () => {
  const { project } = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
  const { secret } = await h.mutate(
    'createApiKey',
    { name: 'elsewhere', role: 'DEVELOPER', projectId: project.id },
    'secret',
  )
  const prompt = 'say x'
  const refused = (agent: string, apiKey?: string) =>
    generateText({ model: modelOf(agent, apiKey), prompt, maxRetries: 0 }).then(
      () => 'done',
      (error: { statusCode: number }) => error.statusCode,
    )
  expect(await refused('plain', 'gh_nobody')).toBe(401)
  expect(await refused('plain', secret)).toBe(404)
  expect(await refused('nobody')).toBe(404)
})
