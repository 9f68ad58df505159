/** Threads: named by a client, opened before their first run, read page by page, and nobody else's. */
import { afterEach, describe, expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { forFile } from '../support/for-file.ts'

const provider = await forFile(startStrictProvider())
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await addProvider(h, provider, 'compatible', 'wire')
afterEach(() => expect(provider.clear()).toBe(0))

const said = () =>
  provider.journal.at(-1)!.body['messages'].map(({ role, content }: any) => [role, content] as const)
const create = (input: object, key?: string) =>
  h.mutate('createThread', input, 'thread { id externalId createdBy closedAt agent { id } }', key)
const messageFields = 'id role content createdAt generation { id } attachments { filename }'
async function messages(id: string, args = '', key?: string) {
  const { data, errors } = await h.gql(
    `query($id: ID!) { thread(id: $id) { messages${args} {
      edges { cursor } nodes { ${messageFields} } pageInfo { hasNextPage hasPreviousPage }
    } } }`,
    { id },
    key,
  )
  if (errors) throw new Error(JSON.stringify(errors))
  return data['thread'].messages
}
const texts = (page: any) => page.nodes.map(({ content }: any) => content)
async function speak(agentId: string, prompt: string, reply: string, more: object = {}) {
  provider.script({ text: reply })
  return h.until(
    await fixtures.start(agentId, prompt, more),
    ['COMPLETED'],
    'threadId thread { id externalId }',
  )
}

describe('a client’s own id', () => {
  test('names one thread of the agent, which its first use creates', async () => {
    const agentId = await fixtures.agent({ model: 'wire/m' })
    const first = await speak(agentId, 'I am Ada.', 'Hello Ada.', { externalThreadId: 'chat-1' })
    const second = await speak(agentId, 'Who am I?', 'Ada.', { externalThreadId: 'chat-1' })
    expect(second['threadId']).toBe(first['threadId'])
    expect(second['thread']).toEqual({ id: first['threadId'], externalId: 'chat-1' })
    expect(said()).toEqual([
      ['user', 'I am Ada.'],
      ['assistant', 'Hello Ada.'],
      ['user', 'Who am I?'],
    ])
    const other = await speak(await fixtures.agent({ model: 'wire/m' }), 'And I?', 'No.', {
      externalThreadId: 'chat-1',
    })
    expect(other['threadId']).not.toBe(first['threadId'])
    expect(said()).toEqual([['user', 'And I?']])
  })

  test('is the same thread for two first uses at once', async () => {
    const agentId = await fixtures.agent()
    const ids = await Promise.all(
      ['a', 'b', 'c'].map((word) => fixtures.start(agentId, `say ${word}`, { externalThreadId: 'at once' })),
    )
    const ends = await Promise.all(ids.map((id) => h.until(id, ['COMPLETED'], 'threadId')))
    expect(new Set(ends.map(({ threadId }) => threadId)).size).toBe(1)
    const { data } = await h.gql(
      'query($a: ID!) { threads(agentId: $a) { nodes { externalId generations { nodes { id } } } } }',
      { a: agentId },
    )
    expect(data['threads'].nodes).toHaveLength(1)
    expect(data['threads'].nodes[0].generations.nodes.map(({ id }: any) => id).toSorted()).toEqual(
      ids.toSorted(),
    )
  })

  test('cannot be given together with the id of a thread, and has a bounded length', async () => {
    const agentId = await fixtures.agent()
    const start = (more: object) =>
      h.mutate('startGeneration', { agentId, prompt: 'say x', ...more }, 'generation { id }')
    const { thread } = await create({ agentId })
    expect(await start({ threadId: thread.id, externalThreadId: 'x' })).toMatchObject({
      issues: [{ message: expect.stringContaining('at most one of threadId and externalThreadId') }],
    })
    for (const bad of ['', 'x'.repeat(201)]) {
      expect(await start({ externalThreadId: bad })).toMatchObject({
        issues: [{ path: ['input', 'externalThreadId'] }],
      })
      expect(await create({ agentId, externalId: bad })).toMatchObject({
        issues: [{ path: ['input', 'externalId'] }],
      })
    }
  })

  test('finds its thread in the list', async () => {
    const agentId = await fixtures.agent()
    const made = []
    for (const externalId of ['one', 'two', 'three'])
      made.push((await create({ agentId, externalId }))['thread'].id)
    const list = async (args: object) =>
      (
        await h.gql(
          'query($a: ID!, $e: String, $n: Int) { threads(agentId: $a, externalId: $e, first: $n) { nodes { id } pageInfo { hasNextPage } } }',
          { a: agentId, ...args },
        )
      ).data['threads']
    expect((await list({})).nodes).toEqual(made.toReversed().map((id) => ({ id })))
    expect((await list({ e: 'two' })).nodes).toEqual([{ id: made[1] }])
    expect((await list({ e: 'four' })).nodes).toEqual([])
    expect(await list({ n: 2 })).toMatchObject({ pageInfo: { hasNextPage: true } })
  })
})

describe('a thread that is opened first', () => {
  const begun = [
    { role: 'USER', content: 'I am Ada.' },
    { role: 'ASSISTANT', content: 'Hello Ada.' },
  ]

  test('begins with its messages, for every generation in it', async () => {
    const agentId = await fixtures.agent({ model: 'wire/m' })
    const { thread } = await create({ agentId, messages: begun })
    expect(thread).toMatchObject({ externalId: null, closedAt: null, agent: { id: agentId } })
    await speak(agentId, 'Who am I?', 'Ada.', { threadId: thread.id })
    await speak(agentId, 'Sure?', 'Yes.', { threadId: thread.id })
    expect(said().map(([, text]: any) => text)).toEqual([
      'I am Ada.',
      'Hello Ada.',
      'Who am I?',
      'Ada.',
      'Sure?',
    ])
    expect(texts(await messages(thread.id))).toEqual([...said().map(([, text]: any) => text), 'Yes.'])
  })

  test('is the same at a repeat with its external id; other messages are refused', async () => {
    const agentId = await fixtures.agent()
    const input = { agentId, externalId: 'kept', messages: begun }
    const made = await Promise.all([create(input), create(input), create(input)])
    expect(new Set(made.map(({ thread }) => thread.id)).size).toBe(1)
    expect(await create({ ...input, messages: begun.slice(1) })).toMatchObject({
      __typename: 'ConflictError',
    })
    expect((await create({ agentId, externalId: 'kept' }))['thread']).toEqual(made[0]!['thread'])
  })

  test('needs an agent that exists, and messages that are some', async () => {
    const agentId = await fixtures.agent()
    expect(await create({ agentId: 'agt_000000000000000000000000' })).toMatchObject({
      __typename: 'NotFoundError',
    })
    expect(await create({ agentId, messages: [] })).toMatchObject({
      issues: [{ path: ['input', 'messages'] }],
    })
    expect(await create({ agentId, messages: [{ role: 'USER', content: '' }] })).toMatchObject({
      issues: [{ path: ['input', 'messages', '0', 'content'] }],
    })
  })
})

describe('messages of a thread', () => {
  test('are those of the input and the texts of the model, page by page in both directions', async () => {
    const agentId = await fixtures.agent()
    const begin = [
      { role: 'USER', content: 'first' },
      { role: 'ASSISTANT', content: 'second' },
    ]
    const { thread } = await create({ agentId, messages: begin })
    const start = (prompt: string | object[]) => fixtures.start(agentId, prompt, { threadId: thread.id })
    const one = await start('call look {"word":"w"}\nthen\nsay third')
    await h.until(one, ['COMPLETED'])
    const two = await start([...begin, { role: 'USER', content: 'say fourth' }])
    await h.until(two, ['COMPLETED'])
    const all = await messages(thread.id)
    const prompt = 'call look {"word":"w"}\nthen\nsay third'
    const expected = ['first', 'second', prompt, 'third', 'first', 'second', 'say fourth', 'fourth']
    expect(texts(all)).toEqual(expected)
    expect(all.nodes.map(({ role }: any) => role)).toEqual([
      'USER',
      'ASSISTANT',
      'USER',
      'ASSISTANT',
      'USER',
      'ASSISTANT',
      'USER',
      'ASSISTANT',
    ])
    expect(all.nodes.map(({ generation }: any) => generation?.id ?? null)).toEqual([
      null,
      null,
      one,
      one,
      two,
      two,
      two,
      two,
    ])
    expect(new Set(all.nodes.map(({ id }: any) => id)).size).toBe(8)
    for (const size of [1, 2, 3, 8]) {
      const forwards: string[] = []
      for (let after: string | null = null; ;) {
        const got = await messages(thread.id, `(first: ${size}${after ? `, after: "${after}"` : ''})`)
        forwards.push(...texts(got))
        if (!got.pageInfo.hasNextPage) break
        after = got.edges.at(-1).cursor
      }
      expect(forwards).toEqual(expected)
      const backwards: string[] = []
      for (let before: string | null = null; ;) {
        const got = await messages(thread.id, `(last: ${size}${before ? `, before: "${before}"` : ''})`)
        backwards.unshift(...texts(got))
        if (!got.pageInfo.hasPreviousPage) break
        before = got.edges[0].cursor
      }
      expect(backwards).toEqual(expected)
    }
  })

  test('a page of too many bytes is refused with the way on, and a foreign cursor too', async () => {
    const agentId = await fixtures.agent()
    const { thread } = await create({ agentId })
    const large = Array.from({ length: 2 }, () => ({ role: 'USER', content: 'x'.repeat(450_000) }))
    for (let i = 0; i < 10; i += 1)
      await h.until(
        await fixtures.start(agentId, [...large, { role: 'USER', content: 'say ok' }], {
          threadId: thread.id,
        }),
        ['COMPLETED'],
      )
    await expect(messages(thread.id, '(first: 100)')).rejects.toThrow(/RESPONSE_TOO_LARGE/)
    expect((await messages(thread.id, '(first: 4)')).nodes).toHaveLength(4)
    const foreign = Buffer.from(JSON.stringify([1, 5, 'gen_x'])).toString('base64url')
    await expect(messages(thread.id, `(first: 1, after: "${foreign}")`)).rejects.toThrow(/BAD_CURSOR/)
  })
})

describe('rights', () => {
  const makeKey = async (input: object) =>
    (await h.mutate('createApiKey', { name: 'k', ...input }, 'secret'))['secret']
  const policy = (...action: string[]) => ({ statement: [{ effect: 'Allow', action, resource: ['*'] }] })

  test('a key that reads no generations cannot continue a thread that another key opened with messages', async () => {
    const agentId = await fixtures.agent()
    const { thread } = await create({
      agentId,
      externalId: 'mine',
      messages: [{ role: 'USER', content: 'swordfish' }],
    })
    const blind = await makeKey({ policy: policy('generations:Start', 'agents:Get') })
    const start = (more: object, key: string) =>
      h.gql(
        `mutation($input: StartGenerationInput!) { startGeneration(input: $input) { __typename
          ... on Error { code } ... on GenerationPayload { generation { threadId } } } }`,
        { input: { agentId, prompt: 'what was said?', ...more } },
        key,
      )
    const refused = await start({ threadId: thread.id }, blind)
    expect(refused.data['startGeneration']).toMatchObject({ code: 'NOT_FOUND' })
    const reaching = await makeKey({
      policy: policy('generations:Start', 'agents:Get', 'generations:ReachOthers'),
    })
    const { errors } = await start({ threadId: thread.id }, reaching)
    expect(errors![0]!.extensions).toEqual({ code: 'FORBIDDEN', action: 'generations:Get' })
    // The same name is another thread of another key.
    const named = await start({ externalThreadId: 'mine' }, blind)
    expect(named.data['startGeneration'].generation.threadId).not.toBe(thread.id)
  })

  test('a page with a generation that the key may not read is refused', async () => {
    const agentId = await fixtures.agent()
    const { thread } = await create({ agentId })
    const id = await fixtures.start(agentId, 'say secret', { threadId: thread.id })
    await h.until(id, ['COMPLETED'])
    const key = await makeKey({
      policy: {
        statement: [
          ...policy('generations:Get', 'generations:ReachOthers').statement,
          { effect: 'Deny', action: ['generations:Get'], resource: [`generation/${id}`] },
        ],
      },
    })
    await expect(messages(thread.id, '', key)).rejects.toThrow(/FORBIDDEN/)
  })
})
