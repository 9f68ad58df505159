/** Cancelling all runs that a filter finds: those that wait end with their questions, others stay, and nobody reaches what is not theirs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { gateFixtures, type GateFixtures } from '../support/gate-fixtures.ts'
import type { Harness } from '../support/harness.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  let gate: GateFixtures
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
    gate = gateFixtures(h, deployment.fixtures)
  })
  afterAll(() => deployment?.close())

  const cancel = (filter: object, more: object = {}, key?: string) =>
    h.mutate('cancelGenerations', { filter, ...more }, 'cancelled hasMore', key)
  const statusOf = async (id: string) =>
    (await h.gql('query($id: ID!) { generation(id: $id) { status } }', { id })).data['generation'].status

  test('those of an agent that wait are cancelled with their questions, and no others', async () => {
    const [tool, other] = [await gate.gated({ mode: 'ALWAYS' }), await gate.gated({ mode: 'ALWAYS' })]
    const agentId = await deployment.fixtures.agent({ toolIds: [tool.id] })
    const start = async () => {
      const prompt = `call ${tool.name} {"amount":5}\nthen\nsay done`
      return (await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }'))['generation']
        .id as string
    }
    const runs = [await start(), await start(), await start()]
    const spared = await gate.ask(other)
    for (const id of [...runs, spared]) await gate.pending(id)
    const [done] = runs.splice(0, 1)
    const [asked] = await gate.pending(done!)
    await gate.decide(asked!['id'], 'REJECT')
    await h.until(done!, ['COMPLETED'])
    expect(await cancel({ agentId }, { reason: 'the wrong price list' })).toMatchObject({
      cancelled: 2,
      hasMore: false,
    })
    for (const id of runs) await h.until(id, ['CANCELLED'])
    expect(await statusOf(done!)).toBe('COMPLETED')
    expect(await statusOf(spared)).toBe('AWAITING_APPROVAL')
    expect(await cancel({ agentId })).toMatchObject({ cancelled: 0, hasMore: false })
    const audit = await deployment.rows(
      `select resource from audit_entries where action = 'generations:Cancel' order by resource`,
    )
    expect(audit.map(({ resource }) => resource)).toEqual(runs.map((id) => `generation/${id}`).toSorted())
  })

  test('a caller cancels its own only, another project nothing, and a reader is refused', async () => {
    const tool = await gate.gated({ mode: 'ALWAYS' })
    const theirs = await gate.ask(tool)
    await gate.pending(theirs)
    const key = async (input: object) =>
      (await h.mutate('createApiKey', { name: 'k', ...input }, 'secret'))['secret']
    const caller = await key({ role: 'CALLER' })
    expect(await cancel({}, {}, caller)).toMatchObject({ cancelled: 0 })
    const { project } = await h.mutate('createProject', { name: 'apart' }, 'project { id }')
    const foreign = await key({ role: 'ADMIN', projectId: project.id })
    expect(await cancel({}, {}, foreign)).toMatchObject({ cancelled: 0 })
    expect(await statusOf(theirs)).toBe('AWAITING_APPROVAL')
    const refused = await h.gql(
      'mutation { cancelGenerations(input: { filter: {} }) { ... on CancelGenerationsPayload { cancelled } } }',
      {},
      await key({ role: 'VIEWER' }),
    )
    expect(refused.errors![0]).toMatchObject({ extensions: { code: 'FORBIDDEN' } })
    expect(await cancel({}, { reason: 'x'.repeat(1001) })).toMatchObject({ __typename: 'ValidationError' })
  })

  test('more than a hundred are cancelled a hundred at a time, the oldest first, also by two people at once', async () => {
    const agentId = await deployment.fixtures.agent({ name: `many ${kind}` })
    await deployment.rows(
      `insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by, deadline_at, created_at)
        select 'gen_many' || i, project_id, '${agentId}', 1, 'thr_many', 'WAITING', '{}', '[]', 'key_none', now() + interval '1 hour', now() - i * interval '1 second'
        from generate_series(1, 130) i, (select project_id from agents where id = '${agentId}') p`,
    )
    const two = await Promise.all([cancel({ agentId }), cancel({ agentId })])
    expect(two.some(({ hasMore }) => hasMore)).toBe(true)
    const ended = await deployment.rows(
      `select id from generations where agent_id = '${agentId}' and cancel_requested_at is not null order by created_at`,
    )
    const oldestFirst = Array.from({ length: 130 }, (_, i) => `gen_many${130 - i}`)
    expect(ended.map(({ id }) => id)).toEqual(oldestFirst.slice(0, ended.length))
    expect(ended.length).toBeGreaterThanOrEqual(100)
    expect(await cancel({ agentId })).toMatchObject({ cancelled: 130 - ended.length, hasMore: false })
    const twice = await deployment.rows(
      `select resource from audit_entries where resource like 'generation/gen_many%' group by resource having count(*) > 1`,
    )
    expect(twice).toEqual([])
  })
})
