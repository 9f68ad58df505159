/** Retries: a new run begins with the history of another one, whose calls are not run again, and both name each other. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import type { Harness } from '../support/harness.ts'
import { addProvider, startStrictProvider, type StrictProvider } from '../support/strict-provider.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let provider: StrictProvider
  let h: Harness
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
    provider = await startStrictProvider()
    await addProvider(h, provider, 'compatible', 'wire')
  })
  afterEach(() => expect(provider.clear()).toBe(0))
  afterAll(async () => {
    await deployment?.close()
    await provider?.close()
  })

  const { agent, start, act, sent, said } = {
    agent: (more: object = {}) => deployment.fixtures.agent(more),
    start: (agentId: string, more: object, key?: string) =>
      h.mutate('startGeneration', { agentId, ...more }, 'generation { id }', key),
    act: (word: string) => `call act {"word":"${word}"}`,
    sent: (word: string) =>
      deployment.fixtures.upstream.seen.filter(
        ({ url, body }) => url === '/act' && JSON.parse(body).word === word,
      ).length,
    said: () => provider.journal.at(-1)!.body['messages'] as { role: string; content: unknown }[],
  }
  const ended = async (agentId: string, prompt: string, more: object = {}) => {
    const id = await deployment.fixtures.start(agentId, prompt, more)
    return h.until(id, ['COMPLETED', 'FAILED'], 'threadId')
  }
  const retryOf = (generationId: string, step: number) => ({ retryOf: { generationId, step } })
  const links = 'retryOf { id } retryStep retries { nodes { id } } threadId steps { index text }'

  test('a retry goes on behind a step with its results, and runs none of its calls again', async () => {
    const agentId = await agent()
    const old = await ended(agentId, `${act('once')}\nthen\nfail 400`)
    expect(old).toMatchObject({ status: 'FAILED', stepCount: 1 })
    const fixed = (await start(agentId, { ...retryOf(old['id'], 1), prompt: 'say fixed' }))['generation'].id
    expect(await h.until(fixed, ['COMPLETED'])).toMatchObject({ output: { text: 'fixed' } })
    expect(sent('once')).toBe(1)
    const whole = await ended(agentId, `${act('twice')}\nthen\n${act('later')}\nthen\nsay done`)
    const made = (await start(agentId, retryOf(whole['id'], 1)))['generation']
    const run = await h.until(made.id, ['COMPLETED'], links)
    expect(run).toMatchObject({
      retryOf: { id: whole['id'] },
      retryStep: 1,
      retries: { nodes: [] },
      stepCount: 2,
      output: { text: 'done' },
    })
    // It was called by both runs in their second step, and in the first only by the one that was retried.
    expect([sent('twice'), sent('later')]).toEqual([1, 2])
    expect(run['threadId']).not.toBe(whole['threadId'])
    const retried = await h.until(whole['id'], ['COMPLETED'], links)
    expect(retried).toMatchObject({ retryOf: null, retryStep: null, retries: { nodes: [{ id: made.id }] } })
  })

  test('the model gets input, steps and results up to the step, then the new message', async () => {
    const agentId = await agent({ model: 'wire/m' })
    provider.script(
      { text: 'I look.', calls: [{ name: 'look', arguments: '{"word":"sky"}' }] },
      {
        text: 'It is blue.',
      },
    )
    const old = await ended(agentId, 'What colour?')
    provider.script({ text: 'Grey.' })
    const made = await start(agentId, { ...retryOf(old['id'], 1), prompt: 'And today?' })
    await h.until(made['generation'].id, ['COMPLETED'])
    expect(said().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(JSON.stringify(said())).toContain('/look/sky')
    expect(JSON.stringify(said())).not.toContain('It is blue.')
    expect(said().at(-1)!.content).toBe('And today?')
    // The thread that the retry began remembers what it began with.
    provider.script({ text: 'Still grey.' })
    const { generation } = (await h.gql('query($id: ID!) { generation(id: $id) { threadId } }', {
      id: made['generation'].id,
    }))!.data
    await ended(agentId, 'And now?', { threadId: generation.threadId })
    expect(said().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant', 'user'])
    // And so does a retry of a retry.
    provider.script({ text: 'Green.' })
    const again = await start(agentId, { ...retryOf(made['generation'].id, 1), prompt: 'In May?' })
    await h.until(again['generation'].id, ['COMPLETED'])
    expect(said().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant', 'user'])
    expect(said().at(-1)!.content).toBe('In May?')
  })

  test('step 0 takes the history of the thread and none of the run', async () => {
    const agentId = await agent({ model: 'wire/m' })
    provider.script({ text: 'Hello Ada.' })
    const first = await ended(agentId, 'I am Ada.')
    provider.script({ text: 'Bob.' })
    const second = await ended(agentId, 'Who am I?', { threadId: first['threadId'] })
    provider.script({ text: 'Ada.' })
    const made = await start(agentId, { ...retryOf(second['id'], 0), prompt: 'Who am I, please?' })
    await h.until(made['generation'].id, ['COMPLETED'])
    expect(said().map(({ content }) => content)).toEqual(['I am Ada.', 'Hello Ada.', 'Who am I, please?'])
  })

  test('what cannot be history is refused, with the place', async () => {
    const agentId = await agent()
    const old = await ended(agentId, `${act('refusals')}\nthen\nsay done`)
    const id = old['id'] as string
    const place = async (more: object, of = agentId) => {
      const refused = await start(of, more)
      return [refused['__typename'], refused['issues']?.[0]?.path?.join('.'), refused['issues']?.[0]?.message]
    }
    expect(await place(retryOf(id, 3))).toEqual([
      'ValidationError',
      'input.retryOf.step',
      'the generation has no step 3: it has 2',
    ])
    expect(await place(retryOf(id, 2))).toEqual([
      'ValidationError',
      'input.retryOf.step',
      expect.stringContaining('give prompt or messages'),
    ])
    expect(await place(retryOf(id, 0))).toEqual(['ValidationError', expect.anything(), expect.anything()])
    expect((await place({ ...retryOf(id, 1), threadId: old['threadId'] }))[2]).toMatch(/begins a thread/)
    expect(await place(retryOf(id, 1), await agent())).toEqual([
      'ValidationError',
      'input.retryOf.generationId',
      'belongs to another agent',
    ])
    expect(await place({ ...retryOf(id, -1), prompt: 'x' })).toEqual([
      'ValidationError',
      'input.retryOf.step',
      expect.anything(),
    ])
  })

  test('a step with open calls is no history until they have outcomes', async () => {
    const agentId = await agent()
    const prompt = `${act('open')}\nthen\ncall ask {"word":"colour"}\nthen\nsay done`
    const id = await deployment.fixtures.start(agentId, prompt)
    await h.until(id, ['REQUIRES_ACTION'])
    expect(await start(agentId, retryOf(id, 2))).toMatchObject({
      issues: [
        { path: ['input', 'retryOf', 'step'], message: expect.stringContaining('without an outcome') },
      ],
    })
    // The step before it is, while the run itself still waits.
    const earlier = (await start(agentId, retryOf(id, 1)))['generation'].id
    await h.until(earlier, ['REQUIRES_ACTION'])
    await deployment.fixtures.answer(earlier)
    await h.until(earlier, ['COMPLETED'])
    await deployment.fixtures.answer(id)
    await h.until(id, ['COMPLETED'])
    const later = (await start(agentId, retryOf(id, 2)))['generation'].id
    expect(await h.until(later, ['COMPLETED'])).toMatchObject({ stepCount: 1, output: { text: 'done' } })
    expect(sent('open')).toBe(1)
  })

  test('a caller retries its own runs, and finds none of others and of other projects', async () => {
    const agentId = await agent()
    const secretOf = async (input: object) =>
      (await h.mutate('createApiKey', { name: 'caller', role: 'CALLER', ...input }, 'secret'))[
        'secret'
      ] as string
    const [own, other] = [await secretOf({}), await secretOf({})]
    const made = await start(agentId, { prompt: `${act(`of ${kind}`)}\nthen\nsay mine` }, own)
    const id = made['generation'].id as string
    await h.until(id, ['COMPLETED'])
    const mine = await start(agentId, retryOf(id, 1), own)
    await h.until(mine['generation'].id, ['COMPLETED'])
    const missing = await start(agentId, retryOf('gen_000000000000000000000000', 1), other)
    expect(missing).toMatchObject({ __typename: 'NotFoundError' })

    const project = (await h.mutate('createProject', { name: `apart ${kind}` }, 'project { id }'))['project']
      .id
    const apart = { projectId: project, name: 'apart' }
    const theirs = (await h.mutate('createAgent', apart, 'agent { id }'))['agent'].id
    const stranger = await secretOf({ projectId: project })
    const message = missing['message'].replace('gen_000000000000000000000000', id)
    // The same for another caller, for a stranger, and for an operator who reaches both projects.
    expect(await start(agentId, retryOf(id, 1), other)).toEqual({ ...missing, message })
    for (const key of [stranger, undefined])
      expect(await start(theirs, retryOf(id, 1), key)).toEqual({ ...missing, message })
  })

  test('a repeat with the same key is the same retry, and another step with it a conflict', async () => {
    const agentId = await agent()
    const old = await ended(agentId, `${act('key')}\nthen\n${act('key')}\nthen\nsay done`)
    const idempotencyKey = `retry ${kind}`
    const one = await start(agentId, { ...retryOf(old['id'], 1), idempotencyKey })
    const same = await start(agentId, { ...retryOf(old['id'], 1), idempotencyKey })
    expect(same['generation'].id).toBe(one['generation'].id)
    const other = await start(agentId, { ...retryOf(old['id'], 2), idempotencyKey })
    expect(other).toMatchObject({ __typename: 'IdempotencyConflictError' })
    await h.until(one['generation'].id, ['COMPLETED'])
  })
})
