/** The Assistants API, judged by three majors of OpenAI's own client: runs that are polled, calls, the gate, endings. */
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { makeCast, objectSchema, type Cast } from '../../support/story.ts'
import { openClient } from '../responses/clients.ts'

let h: Harness
let cast: Cast
let client: OpenAI
beforeAll(async () => {
  h = await openHarness()
  cast = await makeCast(h)
  await cast.agent({ name: 'plain' })
  await cast.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
  client = await openClient(6, h.url, adminKey)
})
afterAll(async () => {
  await cast?.close()
  await h?.stop()
})

const locate = {
  type: 'function' as const,
  function: { name: 'locate', parameters: objectSchema({ room: { type: 'string' } }, ['room']) },
}
const user = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
const begin = (content: string, assistant_id = 'plain', tools?: (typeof locate)[]) =>
  client.beta.threads.createAndRunPoll({ assistant_id, thread: user(content), ...(tools ? { tools } : {}) })
const textsOf = async (threadId: string) => {
  const texts: string[] = []
  for await (const { role, content } of client.beta.threads.messages.list(threadId, {
    limit: 1,
    order: 'asc',
  }))
    texts.push(`${role}: ${content[0]?.type === 'text' ? content[0].text.value : ''}`)
  return texts
}
const paused = async () => {
  const run = await begin('call locate {"room": "a"}\nthen\nsay found', 'plain', [locate])
  expect(run.status).toBe('requires_action')
  const [call] = run.required_action!.submit_tool_outputs.tool_calls
  expect(call!.function).toEqual({ name: 'locate', arguments: '{"room":"a"}' })
  const given = (output: string) => ({
    thread_id: run.thread_id,
    tool_outputs: [{ tool_call_id: call!.id, output }],
  })
  return { run, given }
}

test('text and a call that runs here, a next run of the thread, and its messages page by page', async () => {
  const first = await begin('call look {"word": "a"}\nthen\nsay hello')
  expect(first).toMatchObject({ status: 'completed', required_action: null, last_error: null })
  const next = await client.beta.threads.runs.createAndPoll(first.thread_id, {
    assistant_id: 'plain',
    additional_messages: [{ role: 'user', content: 'say again' }],
  })
  expect(next.status).toBe('completed')
  expect(await client.beta.threads.retrieve(first.thread_id)).toMatchObject({ object: 'thread' })
  const texts = await textsOf(first.thread_id)
  expect(texts.slice(1)).toEqual(['assistant: hello', 'user: say again', 'assistant: again'])
})

test('a client tool pauses and resumes; the same output again changes nothing, another one is refused', async () => {
  const { run, given } = await paused()
  const busy = client.beta.threads.runs.create(run.thread_id, {
    assistant_id: 'plain',
    additional_messages: [{ role: 'user', content: 'say x' }],
  })
  await expect(busy).rejects.toMatchObject({ status: 409, code: 'conflict' })
  const done = await client.beta.threads.runs.submitToolOutputsAndPoll(run.id, given('here'))
  expect(done.status).toBe('completed')
  const again = await client.beta.threads.runs.submitToolOutputs(run.id, given('here'))
  expect(again).toMatchObject({ id: run.id, status: 'completed' })
  await expect(client.beta.threads.runs.submitToolOutputs(run.id, given('there'))).rejects.toMatchObject({
    status: 409,
  })
  expect((await textsOf(run.thread_id)).at(-1)).toBe('assistant: found')
})

test('of two different outputs at once one is taken', async () => {
  const { run, given } = await paused()
  const both = await Promise.allSettled(
    ['one', 'two'].map((output) => client.beta.threads.runs.submitToolOutputs(run.id, given(output))),
  )
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const end = await client.beta.threads.runs.poll(run.id, { thread_id: run.thread_id })
  expect(end.status).toBe('completed')
})

test.each([
  { said: 'APPROVE', verdict: { verdict: 'APPROVE' }, ran: [{ word: 'g' }] },
  { said: 'EDIT', verdict: { verdict: 'APPROVE', arguments: { word: 'h' } }, ran: [{ word: 'h' }] },
  { said: 'REJECT', verdict: { verdict: 'REJECT' }, ran: [] },
])('a gated call stays in progress until a person says $said', async ({ verdict, ran }) => {
  const before = cast.upstream.seen.length
  const run = await client.beta.threads.createAndRun({
    assistant_id: 'gated',
    thread: user('call act {"word": "g"}\nthen\nsay ok'),
  })
  await h.until(run.id, ['AWAITING_APPROVAL'])
  const list = 'query { approvals(status: PENDING) { nodes { id } } }'
  const approvalId = (await h.gql(list)).data['approvals'].nodes[0].id
  const place = { thread_id: run.thread_id }
  expect(await client.beta.threads.runs.retrieve(run.id, place)).toMatchObject({
    status: 'in_progress',
    required_action: null,
  })
  await h.mutate('decideApproval', { approvalId, ...verdict }, '__typename')
  expect(await client.beta.threads.runs.poll(run.id, place)).toMatchObject({ status: 'completed' })
  expect(cast.upstream.seen.slice(before).map(({ body }) => JSON.parse(body))).toEqual(ran)
})

test('a run fails with the code of its error, and a run that waits is cancelled', async () => {
  expect(await begin('fail 400')).toMatchObject({ status: 'failed', last_error: { code: 'server_error' } })
  const { run } = await paused()
  const place = { thread_id: run.thread_id }
  expect(await client.beta.threads.runs.cancel(run.id, place)).toMatchObject({ status: 'cancelled' })
})

test('what is not kept is refused by its name, and starts nothing', async () => {
  const base = { assistant_id: 'plain', thread: user('say x') }
  const refused = (more: object) => client.beta.threads.createAndRun({ ...base, ...more } as typeof base)
  for (const [name, value] of Object.entries({
    tool_resources: {},
    top_p: 0.5,
    response_format: { type: 'json_object' },
    max_prompt_tokens: 300,
    unknown: 1,
  }))
    await expect(refused({ [name]: value }), name).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(name),
    })
  const other = client.beta.threads.delete('thr_x')
  await expect(other).rejects.toMatchObject({ status: 405, message: expect.stringContaining('DELETE') })
})

test('a key of another project finds neither the thread, the run nor the agent', async () => {
  const { run, given } = await paused()
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const other = { name: 'o', role: 'ADMIN', projectId: project.id }
  const { secret } = await h.mutate('createApiKey', other, 'secret')
  const { threads } = (await openClient(6, h.url, secret)).beta
  const place = { thread_id: run.thread_id }
  const asked = await Promise.allSettled([
    threads.retrieve(run.thread_id),
    threads.messages.list(run.thread_id),
    threads.runs.retrieve(run.id, place),
    threads.runs.cancel(run.id, place),
    threads.runs.submitToolOutputs(run.id, given('x')),
    threads.createAndRun({ assistant_id: 'plain', thread: user('say x') }),
  ])
  expect(asked.map((one) => one.status === 'rejected' && one.reason.status)).toEqual(asked.map(() => 404))
})
