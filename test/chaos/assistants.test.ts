/**
 * kill -9 under a program of the Assistants API: it polls the process that comes next, the run goes on by itself, messages
 * that waited are in one run, and no call is executed twice.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient } from '../api/responses/clients.ts'
import { first, key, prompt, second, startKillable, type Killable } from './killable.ts'

let server: Killable
beforeAll(async () => {
  server = await startKillable('PGlite')
})
afterAll(() => server?.close())

const open = async () => (await openClient(6, server.url(), key)).beta.threads
type Threads = Awaited<ReturnType<typeof open>>
const restart = async () => {
  await server.kill()
  await server.start()
  return open()
}
const textsOf = async (threads: Threads, threadId: string) => {
  const { data } = await threads.messages.list(threadId, { order: 'asc' })
  return data.map(({ content: [part] }) => (part?.type === 'text' ? part.text.value : ''))
}

test.each(['charlie', 'mike'])('killed when the stream says %s', { timeout: 60_000 }, async (word) => {
  const before = server.paid()
  const threads = await open()
  const thread = await threads.create({ messages: [{ role: 'user', content: prompt }] })
  const running = threads.runs.stream(thread.id, { assistant_id: 'teller' })
  const runId = await new Promise<string>((resolve, reject) => {
    let id = ''
    running.on('event', ({ event, data }) => {
      if (event === 'thread.run.created') id = data.id
    })
    running.on('textDelta', (_delta, { value }) => {
      if (value.includes(word)) resolve(id)
    })
    running.on('end', () => reject(new Error('The stream ended first.')))
  })
  const cut = running.done().catch(() => 'cut')
  const next = await restart()
  await cut
  const run = await next.runs.poll(runId, { thread_id: thread.id })
  expect(run.status).toBe('completed')
  expect(await textsOf(next, thread.id)).toEqual([prompt, first, second])
  expect((await next.runs.list(thread.id)).data).toHaveLength(1)
  expect(server.paid() - before).toBe(1)
})

test('killed with messages that wait, and while it asks', { timeout: 60_000 }, async () => {
  const before = server.paid()
  const threads = await open()
  const thread = await threads.create()
  const said = 'call ask {}\nthen\ncall pay {}\nthen\nsay done'
  const message = await threads.messages.create(thread.id, { role: 'user', content: said })
  const place = { thread_id: thread.id }
  let next = await restart()
  expect((await next.messages.list(thread.id)).data).toMatchObject([{ id: message.id }])
  const asking = await next.runs.createAndPoll(thread.id, { assistant_id: 'teller' })
  expect(asking.status).toBe('requires_action')
  next = await restart()
  const again = await next.runs.retrieve(asking.id, place)
  const [call] = again.required_action!.submit_tool_outputs.tool_calls
  const outputs = { ...place, tool_outputs: [{ tool_call_id: call!.id, output: 'yes' }] }
  await next.runs.submitToolOutputs(asking.id, outputs)
  next = await restart()
  // The program does not know whether its outputs arrived, and sends them again.
  await next.runs.submitToolOutputs(asking.id, outputs)
  const run = await next.runs.poll(asking.id, place)
  expect(run.status).toBe('completed')
  expect(await textsOf(next, thread.id)).toEqual([said, 'done'])
  expect(server.paid() - before).toBe(1)
})
