/** Streams of the Assistants API, put together by OpenAI's own AssistantStream in three majors. */
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { makeCast, objectSchema, type Cast } from '../../support/story.ts'
import { openClient } from '../responses/clients.ts'

let h: Harness
let cast: Cast
beforeAll(async () => {
  h = await openHarness()
  cast = await makeCast(h)
  await cast.agent({ name: 'plain' })
  await cast.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
})
afterAll(async () => {
  await cast?.close()
  await h?.stop()
})

type Threads = OpenAI.Beta.Threads
type Streamed = ReturnType<Threads['createAndRunStream']>
const locate = {
  type: 'function' as const,
  function: { name: 'locate', parameters: objectSchema({ room: { type: 'string' } }, ['room']) },
}
const user = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
/** The names of the events of a stream; equal ones that follow each other count once. */
const eventsOf = async (stream: AsyncIterable<{ event: string }>) => {
  const names: string[] = []
  for await (const { event } of stream) if (names.at(-1) !== event) names.push(event)
  return names
}
const textsOf = async (stream: Streamed) =>
  (await stream.finalMessages()).map(({ content }) =>
    content.map((part) => (part.type === 'text' ? part.text.value : part.type)).join(),
  )

describe.each(hasPeers ? ([5, 6, 7] as const) : ([6] as const))('openai %i', (major) => {
  let threads: Threads
  beforeAll(async () => {
    ;({ threads } = (await openClient(major, h.url, adminKey)).beta)
  })
  const stream = (content: string, assistant_id = 'plain', tools?: (typeof locate)[]) =>
    threads.createAndRunStream({ assistant_id, thread: user(content), ...(tools ? { tools } : {}) })

  test('text comes in pieces, in the order of the protocol', async () => {
    const running = stream('slow 40ms\nsay one two three')
    const pieces: string[] = []
    running.on('textDelta', ({ value }) => pieces.push(value ?? ''))
    const names = await eventsOf(running)
    expect(names).toEqual([
      'thread.created',
      'thread.run.created',
      'thread.run.queued',
      'thread.run.in_progress',
      'thread.run.step.created',
      'thread.run.step.in_progress',
      'thread.message.created',
      'thread.message.in_progress',
      'thread.message.delta',
      'thread.message.completed',
      'thread.run.step.completed',
      'thread.run.completed',
    ])
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe('one two three')
    expect(await textsOf(running)).toEqual(['one two three'])
    const run = await running.finalRun()
    expect(run.status).toBe('completed')
    const { data } = await threads.messages.list(run.thread_id, { order: 'asc' })
    expect(await running.finalMessages()).toMatchObject([{ id: data.at(-1)!.id, run_id: run.id }])
  })

  test('a call that runs here is a step with its output, the same as in the list of steps', async () => {
    const running = stream('call look {"word": "a"}\nthen\nsay done')
    const calls: string[] = []
    running.on('toolCallDone', (call) =>
      calls.push(call.type === 'function' ? call.function.name : call.type),
    )
    const run = await running.finalRun()
    const steps = await running.finalRunSteps()
    const listed = await threads.runs.steps.list(run.id, { thread_id: run.thread_id, order: 'asc' })
    const shape = ({ id, type, status, step_details }: (typeof steps)[0]) => ({
      id,
      type,
      status,
      step_details,
    })
    expect(steps.map(shape)).toEqual(listed.data.map(shape))
    expect(steps[0]!.step_details).toMatchObject({
      tool_calls: [{ function: { name: 'look', output: expect.stringContaining('saw') } }],
    })
    expect(await textsOf(running)).toEqual(['done'])
  })

  test('calls of the client end the stream; their outputs open the next one', async () => {
    const running = stream(
      'call locate {"room": "a"}\ncall look {"word": "b"}\ncall locate {"room": "c"}\nthen\nsay found',
      'plain',
      [locate],
    )
    const names = await eventsOf(running)
    expect(names.at(-1)).toBe('thread.run.requires_action')
    const run = await running.finalRun()
    expect(run.status).toBe('requires_action')
    const calls = run.required_action!.submit_tool_outputs.tool_calls
    expect(calls.map((call) => call.function.arguments)).toEqual(['{"room":"a"}', '{"room":"c"}'])
    const given = (outputs: string[]) => ({
      thread_id: run.thread_id,
      tool_outputs: outputs.map((output, i) => ({ tool_call_id: calls[i]!.id, output })),
    })
    await expect(threads.runs.submitToolOutputs(run.id, given(['one']))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(calls[1]!.id),
    })
    const next = threads.runs.submitToolOutputsStream(run.id, given(['here', 'there']))
    expect(await eventsOf(next)).toEqual([
      'thread.run.queued',
      'thread.run.in_progress',
      'thread.run.step.completed',
      'thread.run.step.created',
      'thread.run.step.in_progress',
      'thread.message.created',
      'thread.message.in_progress',
      'thread.message.delta',
      'thread.message.completed',
      'thread.run.step.completed',
      'thread.run.completed',
    ])
    const { data } = await threads.runs.steps.list(run.id, { thread_id: run.thread_id, order: 'asc' })
    expect(data[0]!.step_details).toMatchObject({
      tool_calls: [
        { function: { output: 'here' } },
        { function: { output: expect.stringContaining('saw') } },
        { function: { output: 'there' } },
      ],
    })
    // The answer was lost: the same outputs again show the same end, and nothing is taken twice.
    const again = threads.runs.submitToolOutputsStream(run.id, given(['here', 'there']))
    expect(await textsOf(again)).toEqual(['found'])
  })

  test.each(['APPROVE', 'REJECT'])(
    'a question stays in the stream until a person says %s',
    async (verdict) => {
      const before = cast.upstream.seen.length
      const running = stream('call act {"word": "g"}\nthen\nsay ok', 'gated')
      const begun = new Promise<string>((resolve) => {
        running.on('event', ({ event, data }) => {
          if (event === 'thread.run.created') resolve(data.id)
        })
      })
      await h.until(await begun, ['AWAITING_APPROVAL'])
      const list = 'query { approvals(status: PENDING) { nodes { id } } }'
      const approvalId = (await h.gql(list)).data['approvals'].nodes[0].id
      await h.mutate('decideApproval', { approvalId, verdict }, '__typename')
      expect((await running.finalRun()).status).toBe('completed')
      expect(await textsOf(running)).toEqual(['ok'])
      expect(cast.upstream.seen.length - before).toBe(verdict === 'APPROVE' ? 1 : 0)
    },
  )

  test('a response that is given up is marked so, and the next one is whole', async () => {
    const running = stream('fail 503\nsay whole')
    expect(await textsOf(running)).toEqual(['whole'])
  })

  test('a run that fails, and one that is cancelled elsewhere', async () => {
    const failed = await stream('fail 400').finalRun()
    expect(failed).toMatchObject({ status: 'failed', last_error: { code: 'server_error' } })
    const running = stream('slow 30s before\nsay never')
    running.on('event', ({ event, data }) => {
      if (event === 'thread.run.in_progress')
        void threads.runs.cancel(data.id, { thread_id: data.thread_id }).catch(() => undefined)
    })
    expect((await running.finalRun()).status).toBe('cancelled')
  })

  test('a run of a thread with messages that wait; a stream that is left goes on', async () => {
    const thread = await threads.create(user('slow 20ms\nsay one two three four five'))
    const left = threads.runs.stream(thread.id, { assistant_id: 'plain' })
    const runId = await new Promise<string>((resolve) => {
      left.on('event', ({ event, data }) => {
        if (event === 'thread.message.delta') left.abort()
        if (event === 'thread.run.created') resolve(data.id)
      })
    })
    await left.done().catch(() => undefined)
    const run = await threads.runs.poll(runId, { thread_id: thread.id })
    expect(run.status).toBe('completed')
    const { data } = await threads.messages.list(thread.id)
    expect(data[0]!.content).toMatchObject([{ text: { value: 'one two three four five' } }])
  })
})
