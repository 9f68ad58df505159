/** Finding runs: by the words of what was asked and of the agent, by ids and by errors, on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import type { Harness } from '../support/harness.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
  })
  afterAll(() => deployment?.close())

  const run = async (agentId: string, prompt: string | object[], key?: string) => {
    const said = typeof prompt === 'string' ? { prompt } : { messages: prompt }
    const made = await h.mutate('startGeneration', { agentId, ...said }, 'generation { id }', key)
    const id = made['generation'].id as string
    await h.until(id, ['COMPLETED', 'FAILED'])
    return id
  }
  const list = (search: string, key?: string) =>
    h.gql(
      'query($search: String) { generations(filter: { search: $search }, first: 100) { nodes { id inputLine outputLine } } }',
      { search },
      key,
    )
  const search = async (text: string, key?: string): Promise<string[]> => {
    const { data, errors } = await list(text, key)
    expect(errors).toBeUndefined()
    return data['generations'].nodes.map(({ id }: { id: string }) => id)
  }

  test('a run is found by the first line that was asked, by its agent, by ids and by its error', async () => {
    const agentId = await deployment.fixtures.agent({ name: 'Travel Planner' })
    const one = await run(agentId, '\n\n  Book a flight to Zürich 退款\nsecondline is not searched\nsay done')
    const failed = await run(agentId, 'fail 400')
    for (const text of ['book FLIGHT', 'flight zür', '退款', 'travel zürich', 'flight & !book :*', one])
      expect([text, await search(text)]).toEqual([text, [one]])
    expect(await search('travel planner')).toEqual([failed, one])
    expect(await search('avel plan')).toEqual([failed, one])
    expect(await search(agentId)).toEqual([failed, one])
    for (const text of ['secondline', 'light', 'book train']) expect(await search(text)).toEqual([])
    const { data } = await h.gql('query($id: ID!) { generation(id: $id) { error { code } } }', { id: failed })
    expect(await search(data['generation'].error.code.toLowerCase())).toEqual([failed])
    const { nodes } = (await list('flight')).data['generations']
    expect(nodes[0]).toMatchObject({ inputLine: 'Book a flight to Zürich 退款' })

    const before = await run(agentId, 'say something before')
    await deployment.rows(`update generations set search = null where id = '${before}'`)
    expect(await search('something')).toEqual([])
    expect(await search('travel planner')).toContain(before)
  })

  test('a tally counts what a filter lists, by outcome and by agent, and nothing that one may not list', async () => {
    const [ada, bob] = [
      await deployment.fixtures.agent({ name: 'Counter Ada' }),
      await deployment.fixtures.agent({ name: 'Counter Bob' }),
    ]
    await run(ada, 'say talliedword one')
    await run(ada, 'say talliedword two')
    await run(bob, 'fail 400\nsay talliedword')
    const caller = await h.mutate('createApiKey', { name: 'counts', role: 'CALLER' }, 'secret')
    await run(bob, 'say talliedword three', caller['secret'])
    const tally = async (filter: object, key?: string) => {
      const numbers = 'completed failed cancelled expired open'
      const { data, errors } = await h.gql(
        `query($filter: GenerationFilter) { generationTally(filter: $filter) {
          isComplete total { ${numbers} } groups { id agent { name } ${numbers} } } }`,
        { filter },
        key,
      )
      expect(errors).toBeUndefined()
      return data['generationTally']
    }
    const none = { completed: 0, failed: 0, cancelled: 0, expired: 0, open: 0 }
    const all = await tally({ search: 'counter' })
    expect(all).toMatchObject({ isComplete: true, total: { ...none, completed: 3, failed: 1 } })
    expect(all.groups).toHaveLength(2)
    for (const group of [
      { ...none, id: ada, agent: { name: 'Counter Ada' }, completed: 2 },
      { ...none, id: bob, agent: { name: 'Counter Bob' }, completed: 1, failed: 1 },
    ])
      expect(all.groups).toContainEqual(group)
    expect((await tally({ search: 'counter', statuses: ['FAILED'] })).groups).toMatchObject([{ id: bob }])
    const mine = await tally({ search: 'talliedword' }, caller['secret'])
    expect(mine.total).toEqual({ ...none, completed: 1 })
  })

  test('lines are bounded, and a run without text has none', async () => {
    const agentId = await deployment.fixtures.agent({ name: 'Long Liner' })
    const id = await run(agentId, `say ${'x'.repeat(5000)}`)
    const { data } = await h.gql('query($id: ID!) { generation(id: $id) { inputLine outputLine } }', { id })
    expect(data['generation'].inputLine).toHaveLength(200)
    expect(data['generation'].outputLine).toHaveLength(200)
    const blank = await run(agentId, ' \n \n')
    const empty = await h.gql('query($id: ID!) { generation(id: $id) { inputLine } }', { id: blank })
    expect(empty.data['generation'].inputLine).toBeNull()
  })

  test('what has no word is refused, and nobody finds what others asked', async () => {
    for (const text of ['', '& |', '\u0000'])
      expect((await list(text)).errors?.[0]?.extensions).toMatchObject({ code: 'INVALID' })
    expect((await list('x'.repeat(201))).errors?.[0]?.message).toMatch(/search.*200/)
    const agentId = await deployment.fixtures.agent({ name: 'Private Agent' })
    const keys = await Promise.all(
      ['mine', 'theirs'].map(async (name) => {
        const made = await h.mutate('createApiKey', { name, role: 'CALLER' }, 'secret')
        return made['secret'] as string
      }),
    )
    const own = await run(agentId, 'say confidential matters', keys[0])
    expect(await search('confidential', keys[0])).toEqual([own])
    expect(await search('confidential', keys[1])).toEqual([])
    expect(await search(own, keys[1])).toEqual([])
    const project = await h.mutate('createProject', { name: `other ${kind}` }, 'project { id }')
    const foreign = await h.mutate(
      'createApiKey',
      { name: 'foreign', role: 'ADMIN', projectId: project['project'].id },
      'secret',
    )
    for (const text of ['confidential', 'private agent', own, agentId])
      expect(await search(text, foreign['secret'])).toEqual([])
  })
})
