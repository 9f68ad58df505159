/** Threads that are opened and written to before a run of the Assistants API: what waits is taken once, and never lost. */
import { sql } from 'drizzle-orm'
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { holdResponse } from '../../support/held-statement.ts'
import { hasPeers } from '../../support/peers.ts'
import { makeCast, type Cast } from '../../support/story.ts'
import { openClient } from '../responses/clients.ts'

let h: Harness
let cast: Cast
let client: OpenAI
let threads: OpenAI.Beta.Threads
beforeAll(async () => {
  h = await openHarness()
  cast = await makeCast(h)
  await cast.agent({ name: 'plain' })
  await cast.agent({ name: 'other' })
  client = await openClient(6, h.url, adminKey)
  ;({ threads } = client.beta)
})
afterAll(async () => {
  await cast?.close()
  await h?.stop()
})

const say = (content: string) => ({ role: 'user' as const, content })
const shown = ({ role, content }: OpenAI.Beta.Threads.Message) =>
  `${role}: ${content.map((part) => (part.type === 'text' ? part.text.value : part.type)).join(' ')}`
const messagesOf = async (id: string, wanted: object = { order: 'asc' }, { beta } = client) => {
  const found: OpenAI.Beta.Threads.Message[] = []
  for await (const message of beta.threads.messages.list(id, wanted)) found.push(message)
  return found
}
const generation = async (id: string) =>
  (
    await h.gql(
      'query($id: ID!) { generation(id: $id) { input { messages { role content } } thread { agent { name } } } }',
      { id },
    )
  ).data['generation']
const refused = { status: 400, message: expect.stringContaining('no message waits in the thread') }

describe.each(hasPeers ? ([5, 6, 7] as const) : ([6] as const))('openai %i', (major) => {
  test('the classic program: a thread, a message, a run, the answer behind the message', async () => {
    const { beta } = await openClient(major, h.url, adminKey)
    const assistant = await beta.assistants.retrieve('plain')
    expect(assistant).toMatchObject({ object: 'assistant', name: 'plain' })
    const thread = await beta.threads.create()
    const asked = await beta.threads.messages.create(thread.id, say('say hello'))
    expect(await beta.threads.messages.retrieve(asked.id, { thread_id: thread.id })).toEqual(asked)
    const run = await beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id })
    expect(run.status).toBe('completed')
    const later = await messagesOf(thread.id, { order: 'asc', after: asked.id }, { beta } as OpenAI)
    expect(later.map(shown)).toEqual(['assistant: hello'])
    const kept = await beta.threads.messages.retrieve(asked.id, { thread_id: thread.id })
    expect([kept.id, shown(kept)]).toEqual([asked.id, 'user: say hello'])
    expect((await beta.threads.messages.list(thread.id)).data.map(shown)).toEqual([
      'assistant: hello',
      'user: say hello',
    ])
  })
})

test('messages of a thread, added ones and those of the run are one input, in their order', async () => {
  const thread = await threads.create({ messages: [say('one'), { role: 'assistant', content: 'two' }] })
  const first = await messagesOf(thread.id)
  const added = await threads.messages.create(thread.id, say('three'))
  const before = await messagesOf(thread.id)
  expect(before.map(({ id }) => id)).toEqual([...first, added].map(({ id }) => id))
  expect(before.map(shown)).toEqual(['user: one', 'assistant: two', 'user: three'])
  const run = await threads.runs.createAndPoll(thread.id, {
    assistant_id: 'plain',
    additional_messages: [say('say done')],
  })
  const { input, thread: bound } = await generation(run.id)
  expect(input.messages.map(({ content }: { content: string }) => content)).toEqual([
    'one',
    'two',
    'three',
    'say done',
  ])
  expect(bound.agent.name).toBe('plain')
  const after = await messagesOf(thread.id)
  expect(after.slice(0, 3).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  expect(after.map(shown).at(-1)).toBe('assistant: done')
})

test('pages go both ways, from any message', async () => {
  const thread = await threads.create({ messages: ['1', '2', '3', '4', '5'].map(say) })
  const ids = (await messagesOf(thread.id)).map(({ id }) => id)
  const page = async (wanted: object) =>
    (await threads.messages.list(thread.id, wanted)).data.map(({ id }) => ids.indexOf(id) + 1)
  expect(await page({ order: 'asc', limit: 2 })).toEqual([1, 2])
  expect(await page({ order: 'asc', limit: 2, after: ids[1] })).toEqual([3, 4])
  expect(await page({ limit: 2, after: ids[3] })).toEqual([3, 2])
  expect(await page({ before: ids[3] })).toEqual([5])
  expect(await page({ order: 'asc', after: ids[0], before: ids[3] })).toEqual([2, 3])
  expect((await messagesOf(thread.id, { limit: 2 })).map(({ id }) => id)).toEqual(ids.toReversed())
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  expect(run.status).toBe('completed')
  expect(await page({ order: 'asc', limit: 2, after: ids[1] })).toEqual([3, 4])
  await expect(page({ after: 'msg_none' })).rejects.toMatchObject({ status: 400, param: 'after' })
})

test('a run that is sent again starts nothing: no message waits any more', async () => {
  const thread = await threads.create({ messages: [say('say once')] })
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  await expect(threads.runs.create(thread.id, { assistant_id: 'plain' })).rejects.toMatchObject(refused)
  const list = await threads.runs.list(thread.id)
  expect(list.data.map(({ id }) => id)).toEqual([run.id])
})

test('a run with an idempotency key that is sent again is the same run', async () => {
  const thread = await threads.create({ messages: [say('say once')] })
  const options = { headers: { 'Idempotency-Key': `k-${thread.id}` } }
  const create = () => threads.runs.create(thread.id, { assistant_id: 'plain' }, options)
  const both = await Promise.all([create(), create()])
  expect(both[1]!.id).toBe(both[0]!.id)
  expect((await create()).id).toBe(both[0]!.id)
  const another = threads.runs.create(thread.id, { assistant_id: 'plain', temperature: 1 }, options)
  await expect(another).rejects.toMatchObject({ status: 409 })
})

test('threads and messages that are sent again with their key are made once', async () => {
  let count = 0
  const keyed = () => ({ headers: { 'Idempotency-Key': `made-${++count}` } })
  const [first, second] = [keyed(), keyed()]
  const open = () => threads.create({ messages: [say('say hello')] }, first)
  const opened = await Promise.all([open(), open(), open()])
  const [thread] = opened
  expect(new Set(opened.map(({ id }) => id)).size).toBe(1)
  await expect(threads.create({}, first)).rejects.toMatchObject({ status: 409 })
  const add = (content: string) => threads.messages.create(thread!.id, say(content), second)
  const added = await Promise.all([add('say two'), add('say two'), add('say two')])
  expect(new Set(added.map(({ id }) => id)).size).toBe(1)
  await expect(add('say three')).rejects.toMatchObject({ status: 409 })
  expect((await messagesOf(thread!.id)).map(({ id }) => id)).toEqual([expect.anything(), added[0]!.id])
  await threads.runs.createAndPoll(thread!.id, { assistant_id: 'plain' })
  expect((await add('say two')).id).toBe(added[0]!.id)
  expect((await open()).id).toBe(thread!.id)
  expect((await messagesOf(thread!.id)).map(shown)).toEqual([
    'user: say hello',
    'user: say two',
    'assistant: two',
  ])
  // The same key names another message in another thread.
  const other = await threads.create()
  await expect(threads.messages.create(other.id, say('say two'), second)).rejects.toMatchObject({
    status: 409,
  })
})

test('of many runs at once one takes what waits; no message is taken twice or lost', async () => {
  for (let round = 0; round < 5; round++) {
    const thread = await threads.create({ messages: [say('say go')] })
    const tries = await Promise.allSettled(
      ['plain', 'plain', 'other', 'plain'].map((assistant_id) =>
        threads.runs.create(thread.id, { assistant_id }),
      ),
    )
    const ended = tries.map((one) => (one.status === 'rejected' ? one.reason.status : 200))
    expect(ended.filter((status) => status === 200)).toHaveLength(1)
    expect(ended.every((status) => [200, 400, 409].includes(status))).toBe(true)
    const { data } = await threads.runs.list(thread.id)
    expect(data).toHaveLength(1)
    await h.until(data[0]!.id, ['COMPLETED'])
    expect((await messagesOf(thread.id)).map(shown)).toEqual(['user: say go', 'assistant: go'])
  }
})

describe('what changes between the read of the thread and the insert of its run', () => {
  /** Starts a run, and does something else when it has read the thread. */
  const startWhile = async (id: string, act: () => Promise<unknown>, assistant_id = 'plain', more = {}) => {
    const read = holdResponse(h.app.services.db, { begins: 'select t.agent_id as', value: id })
    const starting = threads.runs.create(id, { assistant_id, ...more }).then(
      (run) => run.id,
      (error: { status: number }) => error.status,
    )
    await read.done
    await act()
    read.release()
    return starting
  }

  test('another run took the messages: nothing is started', async () => {
    const thread = await threads.create({ messages: [say('say one')] })
    const run = () => threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
    expect(await startWhile(thread.id, run)).toBe(400)
    expect((await threads.runs.list(thread.id)).data).toHaveLength(1)
  })

  test('another message was added: the run has it', async () => {
    const thread = await threads.create({ messages: [say('one')] })
    const add = () => threads.messages.create(thread.id, say('say two'))
    const id = (await startWhile(thread.id, add)) as string
    expect((await generation(id)).input.messages).toHaveLength(2)
  })

  test('the messages were taken and others added: the run has the others', async () => {
    const thread = await threads.create({ messages: [say('say one')] })
    const id = (await startWhile(thread.id, async () => {
      await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
      await threads.messages.create(thread.id, say('say two'))
    })) as string
    expect((await generation(id)).input.messages).toMatchObject([{ content: 'say two' }])
  })

  test('another agent got the thread: nothing is started', async () => {
    const thread = await threads.create()
    const start = async () => {
      await threads.messages.create(thread.id, say('say one'))
      await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
      await threads.messages.create(thread.id, say('say two'))
    }
    await threads.messages.create(thread.id, say('zero'))
    expect(await startWhile(thread.id, start, 'other')).toBe(400)
    expect((await threads.runs.list(thread.id)).data).toHaveLength(1)
  })

  test('another agent got the empty thread: nothing is started', async () => {
    const thread = await threads.create()
    const more = { additional_messages: [say('say one')] }
    const start = () => threads.runs.createAndPoll(thread.id, { assistant_id: 'plain', ...more })
    expect(await startWhile(thread.id, start, 'other', more)).toBe(400)
    expect((await threads.runs.list(thread.id)).data).toHaveLength(1)
  })

  test('it was closed: nothing is started, and the message stays', async () => {
    const thread = await threads.create({ messages: [say('say one')] })
    const close = () =>
      query(h.app.services.db, sql`update threads set closed_at = now() where id = ${thread.id}`)
    expect(await startWhile(thread.id, close)).toBe(404)
    await expect(threads.messages.create(thread.id, say('x'))).rejects.toMatchObject({ status: 404 })
    expect(await messagesOf(thread.id)).toHaveLength(1)
  })
})

test('messages that are added while runs start are each in one run', async () => {
  const thread = await threads.create({ messages: [say('say 0')] })
  const words = Array.from({ length: 12 }, (_one, i) => `say ${i + 1}`)
  const start = async () => {
    const run = await threads.runs.create(thread.id, { assistant_id: 'plain' }).catch((error: unknown) => {
      expect((error as { status: number }).status).toBeOneOf([400, 409])
    })
    if (run) await threads.runs.poll(run.id, { thread_id: thread.id })
  }
  const adding = Promise.all(words.map((word) => threads.messages.create(thread.id, say(word))))
  for (let i = 0; i < 4; i++) await start()
  await adding
  const last = await threads.messages.create(thread.id, say('say end'))
  await start()
  const said = (await messagesOf(thread.id)).filter(({ role }) => role === 'user')
  expect(said.map(shown).toSorted()).toEqual(
    ['say 0', ...words, 'say end'].map((word) => `user: ${word}`).toSorted(),
  )
  expect(said.at(-1)!.id).toBe(last.id)
  const runs = (await threads.runs.list(thread.id)).data
  const inputs = await Promise.all(runs.map(({ id }) => generation(id)))
  expect(inputs.flatMap(({ input }) => input.messages)).toHaveLength(14)
})

test('a thread keeps the agent of its first run', async () => {
  const thread = await threads.create({ messages: [say('say one')] })
  await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  await threads.messages.create(thread.id, say('say two'))
  const run = threads.runs.create(thread.id, { assistant_id: 'other' })
  await expect(run).rejects.toMatchObject({ status: 400, message: expect.stringContaining('another agent') })
  expect((await messagesOf(thread.id)).map(shown).at(-1)).toBe('user: say two')
})

test('what waits is taken by a run of GraphQL too', async () => {
  const thread = await threads.create({ messages: [say('remember this')] })
  const { agents } = (await h.gql('{ agents(first: 10) { nodes { id name } } }')).data
  const agentId = agents.nodes.find(({ name }: { name: string }) => name === 'plain').id
  const input = { agentId, threadId: thread.id, prompt: 'say ok' }
  const made = await h.mutate('startGeneration', input, 'generation { id }')
  const { input: taken } = await generation(made['generation'].id)
  expect(taken.messages.map(({ content }: { content: string }) => content)).toEqual([
    'remember this',
    'say ok',
  ])
  const none = await h.mutate('startGeneration', { agentId, threadId: thread.id }, 'generation { id }')
  expect(none).toMatchObject({ __typename: 'ValidationError' })
})

test('more than may wait is refused, and what waits stays', async () => {
  const thread = await threads.create({ messages: [say('say first')] })
  const long = 'x'.repeat(450_000)
  await threads.messages.create(thread.id, say(long))
  await threads.messages.create(thread.id, say(long))
  await expect(threads.messages.create(thread.id, say(long))).rejects.toMatchObject({
    status: 413,
    message: expect.stringContaining('may wait'),
  })
  expect(await messagesOf(thread.id, { order: 'asc', limit: 2 })).toHaveLength(3)
})

test('pictures are kept with the message, and a run whose last message is the assistant’s is refused', async () => {
  const url = `data:image/png;base64,${Buffer.from('picture').toString('base64')}`
  const content = [
    { type: 'text' as const, text: 'look at this' },
    { type: 'image_url' as const, image_url: { url } },
  ]
  const thread = await threads.create()
  const message = await threads.messages.create(thread.id, { role: 'user', content })
  expect(shown(message)).toBe('user: look at this image_file')
  await threads.messages.create(thread.id, { role: 'assistant', content: 'seen' })
  await expect(threads.runs.create(thread.id, { assistant_id: 'plain' })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('user'),
  })
  await threads.messages.create(thread.id, say('say and'))
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  expect(run.status).toBe('completed')
  expect((await messagesOf(thread.id)).map(shown)[0]).toBe('user: look at this image_file')
})

test('another key needs the right to read the thread, and another project finds nothing', async () => {
  const thread = await threads.create({ messages: [say('say mine')] })
  const [message] = await messagesOf(thread.id)
  const key = async (input: object) =>
    (await h.mutate('createApiKey', { name: 'k', ...input }, 'secret'))['secret'] as string
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const tries = async (secret: string) => {
    const mine = (await openClient(6, h.url, secret)).beta.threads
    const asked = await Promise.allSettled([
      mine.retrieve(thread.id),
      mine.messages.list(thread.id),
      mine.messages.retrieve(message!.id, { thread_id: thread.id }),
      mine.messages.create(thread.id, say('say yours')),
      mine.runs.create(thread.id, { assistant_id: 'plain' }),
      mine.runs.list(thread.id),
    ])
    return asked.map((one) => (one.status === 'rejected' ? one.reason.status : 200))
  }
  expect(await tries(await key({ role: 'ADMIN', projectId: project.id }))).toEqual(Array(6).fill(404))
  const policy = {
    statement: [{ effect: 'Allow', action: ['generations:Start'], resource: ['*'] }],
  }
  const starting = await key({ policy })
  const starter = await tries(starting)
  expect(starter.every((status) => status === 403 || status === 404)).toBe(true)
  // It may open one all the same.
  expect(await (await openClient(6, h.url, starting)).beta.threads.create()).toMatchObject({
    object: 'thread',
  })
  const narrow = await openClient(
    6,
    h.url,
    await key({
      policy: { statement: [{ effect: 'Allow', action: ['generations:*'], resource: ['agent/x'] }] },
    }),
  )
  await expect(narrow.beta.threads.create({ messages: [say('x')] })).rejects.toMatchObject({ status: 403 })
  expect(await messagesOf(thread.id)).toEqual([message])
})

test('runs and their steps, page by page and by id', async () => {
  const thread = await threads.create({ messages: [say('call look {"word": "a"}\nthen\nsay one')] })
  const first = await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  await threads.messages.create(thread.id, say('say two'))
  const second = await threads.runs.createAndPoll(thread.id, { assistant_id: 'plain' })
  const runs = async (wanted: object) => (await threads.runs.list(thread.id, wanted)).data.map(({ id }) => id)
  expect(await runs({})).toEqual([second.id, first.id])
  expect(await runs({ order: 'asc', limit: 1 })).toEqual([first.id])
  expect(await runs({ order: 'asc', after: first.id })).toEqual([second.id])
  expect(await runs({ after: second.id })).toEqual([first.id])
  const place = { thread_id: thread.id }
  const steps: OpenAI.Beta.Threads.Runs.RunStep[] = []
  const all = threads.runs.steps.list(first.id, { ...place, order: 'asc', limit: 1 })
  for await (const step of all) steps.push(step)
  expect(steps.map(({ type, status }) => [type, status])).toEqual([
    ['tool_calls', 'completed'],
    ['message_creation', 'completed'],
  ])
  const [calls, message] = steps.map((step) => step.step_details)
  expect(calls).toMatchObject({
    tool_calls: [
      { function: { name: 'look', arguments: '{"word":"a"}', output: expect.stringContaining('saw') } },
    ],
  })
  const last = (await messagesOf(thread.id)).findLast(({ run_id }) => run_id === first.id)
  expect(message).toEqual({ type: 'message_creation', message_creation: { message_id: last!.id } })
  const down = await threads.runs.steps.list(first.id, place)
  expect(down.data).toEqual(steps.toReversed())
  const one = { ...place, run_id: first.id }
  expect(await threads.runs.steps.retrieve(steps[0]!.id, one)).toEqual(steps[0])
  await expect(threads.runs.steps.retrieve('step_none', one)).rejects.toMatchObject({ status: 404 })
})

test('the steps of a long run are read in pages of any size, both ways', async () => {
  const calls = Array.from({ length: 18 }, (_one, i) => `call look {"word": "${i}"}\nthen\n`)
  const thread = await threads.create({ messages: [say(`${calls.join('')}say end`)] })
  await cast.agent({ name: 'patient', maxSteps: 30 })
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'patient' })
  expect(run.status).toBe('completed')
  const all = async (wanted: object) => {
    const ids: string[] = []
    const list = threads.runs.steps.list(run.id, { thread_id: thread.id, ...wanted })
    for await (const { id } of list) ids.push(id)
    return ids
  }
  const ids = await all({ order: 'asc', limit: 100 })
  expect(ids).toHaveLength(19)
  for (const limit of [1, 7, 16, 19]) {
    expect(await all({ order: 'asc', limit })).toEqual(ids)
    expect(await all({ limit })).toEqual(ids.toReversed())
  }
  const page = async (wanted: object) =>
    (await threads.runs.steps.list(run.id, { thread_id: thread.id, ...wanted })).data.map(({ id }) => id)
  expect(await page({ order: 'asc', after: ids[3], before: ids[6] })).toEqual(ids.slice(4, 6))
  expect(await page({ after: ids[6], before: ids[3] })).toEqual(ids.slice(4, 6).toReversed())
  expect(await page({ order: 'asc', after: ids[6], before: ids[3] })).toEqual([])
  const foreign = ids[0]!.replace(/_[0-9a-z]{24}_/, `_${'0'.repeat(24)}_`)
  await expect(page({ after: foreign })).rejects.toMatchObject({ status: 400, param: 'after' })
})

test('assistants are the agents of the project', async () => {
  const names: (string | null)[] = []
  for await (const { name } of client.beta.assistants.list({ limit: 1, order: 'asc' })) names.push(name)
  expect(names.slice(0, 2)).toEqual(['plain', 'other'])
  await expect(client.beta.assistants.create({ model: 'x' })).rejects.toMatchObject({
    status: 405,
    message: expect.stringContaining('GraphQL'),
  })
})
