/** Schedules: one run a tick, whatever happens to the processes, and every tick without a run says why. On both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveTick } from '../../../src/domain/triggers/worker.ts'
import type { Database } from '../../../src/store/db/database.ts'
import { LeaseLostError } from '../../../src/store/work/work.ts'
import { databaseKinds } from '../../support/databases.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import { objectSchema } from '../../support/fixtures.ts'
import type { Harness } from '../../support/harness.ts'

const fields =
  'id enabled nextTimes lastAt lastError missed version requestedBy { id } lastGeneration { id status requestedBy }'

type Begin = () => Promise<unknown>

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  beforeAll(async () => {
    deployment = await openDeployment(kind, { leaseMs: 1000 })
    h = deployment.replicas[0]!
  })
  afterAll(() => deployment?.close())

  const create = async (input: object = {}, key?: string): Promise<{ id: string; agentId: string }> => {
    const agentId = await deployment.fixtures.agent()
    const given = { agentId, name: 'nightly', prompt: 'say done', cron: '0 3 * * *', ...input }
    const made = await h.mutate('createTrigger', given, 'secret trigger { id agentId }', key)
    expect(made).toMatchObject({ secret: null })
    return made['trigger']
  }
  const read = async (id: string) =>
    (await h.gql(`query($id: ID!) { trigger(id: $id) { ${fields} } }`, { id })).data['trigger']
  const runsOf = async (agentId: string): Promise<{ id: string; status: string }[]> =>
    deployment.rows(`select id, status from generations where agent_id = '${agentId}'`)
  const startsOf = (id: string) =>
    deployment.rows(`select key from trigger_starts where trigger_id = '${id}'`)
  /** What the feed says of the ticks of a trigger. */
  const told = async (id: string) => {
    const rows = await deployment.rows<{ type: string; data: object }>(
      `select type, data from events where data->>'triggerId' = '${id}' and type in ('TRIGGER_STARTED', 'TRIGGER_SKIPPED')
        order by id`,
    )
    return rows.map(({ type, data }) => ({ type, ...data }))
  }
  /** Makes a tick due that was to come at `at`. */
  const due = async (ids: readonly string[], at = 'now()') => {
    const list = ids.map((id) => `'${id}'`).join(', ')
    await deployment.rows(`update triggers set next_at = ${at}, wake_at = ${at} where id in (${list})`)
    for (const { app } of deployment.replicas)
      app.services.pubsub.publish([{ kind: 'work', table: 'triggers' }])
  }
  const untilMoved = (id: string) =>
    expect
      .poll(
        async () =>
          (
            await deployment.rows(
              `select 1 from triggers where id = '${id}' and wake_at > now() + interval '1 minute'`,
            )
          ).length,
      )
      .toBe(1)
  /** Acts on the transactions that start runs, in every replica, until the returned function is called. */
  const aroundStarts = (act: (begin: Begin, kill: () => never) => Promise<unknown>) => {
    const undo = deployment.replicas.map(({ app: { services } }) => {
      const before = services.db.transaction
      const begin = before.bind(services.db)
      services.db.transaction = ((work: (tx: Database) => Promise<unknown>) =>
        act(
          () => begin(work as never),
          () => {
            throw new Error('killed')
          },
        )) as never
      return () => void (services.db.transaction = before)
    })
    return () => undo.forEach((restore) => restore())
  }

  test('a tick starts one run, although every replica is told of it', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => create({ timeZone: 'Europe/Berlin' })))
    expect((await read(made[0]!.id)).nextTimes).toHaveLength(3)
    await due(made.map(({ id }) => id))
    for (const { id, agentId } of made) {
      await untilMoved(id)
      const runs = await runsOf(agentId)
      expect(runs).toHaveLength(1)
      expect(await startsOf(id)).toHaveLength(1)
      expect(await told(id)).toEqual([
        { type: 'TRIGGER_STARTED', triggerId: id, runId: runs[0]!.id, missed: 0 },
      ])
      expect(await h.until(runs[0]!.id, ['COMPLETED'])).toMatchObject({ output: { text: 'done' } })
      expect(await read(id)).toMatchObject({ lastError: null, lastGeneration: { id: runs[0]!.id } })
    }
  })

  test.each([
    ['before its commit', (_begin: Begin, kill: () => never) => kill()],
    ['after its commit', async (begin: Begin, kill: () => never) => (await begin(), kill())],
  ])('a process that is lost %s starts no run twice, and none is left out', async (_when, act) => {
    const { id, agentId } = await create()
    let times = 0
    const undo = aroundStarts(async (begin, kill) => (times++ === 0 ? act(begin, kill) : begin()))
    await due([id])
    await expect.poll(() => times).toBeGreaterThan(0)
    await untilMoved(id)
    undo()
    expect(await runsOf(agentId)).toHaveLength(1)
    expect(await told(id)).toHaveLength(1)
  })

  test('a process that was frozen while another served its tick writes nothing', async () => {
    const { services } = h.app
    const { id, agentId } = await create()
    /** As a process claims it; no worker of the deployment finds it due. */
    const take = async () => {
      const [row] = await deployment.rows<{ epoch: number }>(`update triggers
        set epoch = epoch + 1, next_at = coalesce(next_at - interval '1 day', now()), wake_at = now() + interval '1 hour'
        where id = '${id}' returning epoch`)
      return { id, epoch: row!.epoch }
    }
    const frozen = await take()
    let thaw = () => {}
    const thawed = new Promise<void>((resolve) => (thaw = resolve))
    let times = 0
    const undo = aroundStarts(async (begin) => {
      if (times++ === 0) await thawed
      return begin()
    })
    const late = serveTick(services, frozen)
    await expect.poll(() => times).toBe(1)
    const other = { id, epoch: frozen.epoch + 1 }
    await deployment.rows(`update triggers set epoch = ${other.epoch} where id = '${id}'`)
    await serveTick(services, other)
    const served = await deployment.rows(`select next_at, wake_at, epoch from triggers where id = '${id}'`)
    // The epoch counts, also where the start is forgotten.
    await deployment.rows(`delete from trigger_starts where trigger_id = '${id}'`)
    thaw()
    await expect(late).rejects.toBeInstanceOf(LeaseLostError)
    undo()
    expect(await runsOf(agentId)).toHaveLength(1)
    expect(await told(id)).toHaveLength(1)
    expect(await deployment.rows(`select next_at, wake_at, epoch from triggers where id = '${id}'`)).toEqual(
      served,
    )
  })

  test('a tick that comes twice, because a clock was set back, starts one run', async () => {
    const { id, agentId } = await create()
    const at = `'${new Date().toISOString()}'::timestamptz`
    await due([id], at)
    await untilMoved(id)
    await h.until((await runsOf(agentId))[0]!.id, ['COMPLETED'])
    await due([id], at)
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(1)
  })

  test('ticks that passed without a server start one run, and are told', async () => {
    const { id, agentId } = await create({ cron: '0 * * * *' })
    await due([id], `date_trunc('hour', now()) - interval '4 hours'`)
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(1)
    expect(await told(id)).toMatchObject([{ type: 'TRIGGER_STARTED', missed: 4 }])
    expect(await read(id)).toMatchObject({ missed: 4, lastError: null })
  })

  test('a tick is skipped while the run before is open', async () => {
    const config = { client: { inputSchema: objectSchema({}) } }
    const { tool } = await h.mutate('createTool', { name: `ask_${kind}`, config }, 'tool { id }')
    const agentId = await deployment.fixtures.agent({ toolIds: [tool.id] })
    const { id } = await create({ agentId, prompt: `call ask_${kind} {}\nthen\nsay done` })
    await due([id])
    await untilMoved(id)
    await due([id])
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(1)
    expect(await told(id)).toMatchObject([
      { type: 'TRIGGER_STARTED' },
      { type: 'TRIGGER_SKIPPED', reason: 'OVERLAP' },
    ])
    expect((await read(id)).lastError).toMatch(/has not ended/)
    const [run] = await runsOf(agentId)
    await h.mutate('cancelGeneration', { generationId: run!.id }, 'generation { id }')
    await h.until(run!.id, ['CANCELLED'])
    await due([id])
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(2)
  })

  test('a run by hand stands for no tick: it holds up none, and is held up by none', async () => {
    const config = { client: { inputSchema: objectSchema({}) } }
    const { tool } = await h.mutate('createTool', { name: `hand_${kind}`, config }, 'tool { id }')
    const agentId = await deployment.fixtures.agent({ toolIds: [tool.id] })
    const { id } = await create({ agentId, prompt: `call hand_${kind} {}\nthen\nsay done` })
    const byHand = async () =>
      (await h.mutate('startTrigger', { triggerId: id }, 'generation { id }'))['generation'].id as string
    await h.until(await byHand(), ['REQUIRES_ACTION'])
    await due([id])
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(2)
    expect((await read(id)).lastError).toBeNull()
    await byHand()
    await due([id])
    await untilMoved(id)
    // The run of the tick before is open, whatever was started by hand since; and that it was skipped stays said.
    expect(await runsOf(agentId)).toHaveLength(3)
    expect((await read(id)).lastError).toMatch(/has not ended/)
    const last = await byHand()
    expect(await read(id)).toMatchObject({
      lastGeneration: { id: last },
      lastError: expect.stringMatching(/has not ended/),
    })
    for (const run of await runsOf(agentId))
      await h.mutate('cancelGeneration', { generationId: run.id }, 'generation { id }')
  })

  test('runs start with the rights of whoever saved it last, judged at each tick', async () => {
    const key = await h.mutate('createApiKey', { name: 'dev', role: 'DEVELOPER' }, 'apiKey { id } secret')
    const { id, agentId } = await create({}, key['secret'])
    await due([id])
    await untilMoved(id)
    expect((await read(id)).lastGeneration.requestedBy).toBe(key['apiKey'].id)
    await h.until((await runsOf(agentId))[0]!.id, ['COMPLETED'])
    await h.mutate('revokeApiKey', { id: key['apiKey'].id }, 'apiKey { id }')
    await due([id])
    await untilMoved(id)
    expect(await told(id)).toMatchObject([{}, { type: 'TRIGGER_SKIPPED', reason: 'REQUESTER_GONE' }])
    expect((await read(id)).lastError).toMatch(/revoked/)
    await h.mutate('updateTrigger', { triggerId: id, prompt: 'say again' }, 'trigger { id }')
    await due([id])
    await untilMoved(id)
    expect(await runsOf(agentId)).toHaveLength(2)
    // An agent that is gone is told too.
    await h.until((await runsOf(agentId)).at(-1)!.id, ['COMPLETED'])
    await h.mutate('deleteAgent', { id: agentId }, '__typename')
    await due([id])
    await untilMoved(id)
    expect((await told(id)).at(-1)).toMatchObject({ type: 'TRIGGER_SKIPPED', reason: 'NOT_FOUND' })
  })

  test('the run of a paused agent waits; a disabled schedule has no tick, and what passed is not made up for', async () => {
    const { id, agentId } = await create()
    const { pause } = await h.mutate('pause', { agentId }, 'pause { id }')
    await due([id])
    await untilMoved(id)
    // Whoever has claimed it finds the pause and gives it back.
    await expect.poll(async () => (await runsOf(agentId))[0]?.status).toBe('QUEUED')
    const [run] = await runsOf(agentId)
    await h.mutate('resume', { pauseId: pause.id }, 'pause { id }')
    await h.until(run!.id, ['COMPLETED'])
    const set = (input: object) =>
      h.mutate('updateTrigger', { triggerId: id, ...input }, `trigger { ${fields} }`)
    expect((await set({ enabled: false }))['trigger']).toMatchObject({ enabled: false, nextTimes: [] })
    const on = await set({ enabled: true, expectedVersion: 2 })
    expect(Date.parse(on['trigger'].nextTimes[0])).toBeGreaterThan(Date.now())
    expect(await set({ name: 'x', expectedVersion: 2 })).toMatchObject({ code: 'CONFLICT' })
    const { generation } = await h.mutate('startTrigger', { triggerId: id }, 'generation { id }')
    expect(await read(id)).toMatchObject({ lastGeneration: { id: generation.id } })
  })

  test('what could not start runs is refused when it is saved', async () => {
    const agentId = await deployment.fixtures.agent()
    const save = (input: object) =>
      h.mutate('createTrigger', { agentId, name: 'n', prompt: 'p', ...input }, 'trigger { id }')
    for (const [input, path] of [
      [{ cron: '0 0 31 2 *' }, 'cron'],
      [{ cron: '* * * * *' }, 'cron'],
      [{ cron: '0 9 * * *', timeZone: 'Mars/Olympus' }, 'timeZone'],
      [{ timeZone: 'UTC' }, 'timeZone'],
      [{ cron: '0 9 * * *', prompt: '' }, 'prompt'],
    ] as const)
      expect(await save(input)).toMatchObject({ code: 'INVALID', issues: [{ path: ['input', path] }] })
    await deployment.rows(`insert into triggers (id, project_id, agent_id, name, kind, prompt, requested_by)
      select 'trg_full' || n, a.project_id, a.id, 'n', 'HOOK', 'p', 'key_x'
      from agents as a, generate_series(1, 200) as n where a.id = '${agentId}'`)
    expect(await save({ cron: '0 9 * * *' })).toMatchObject({ code: 'LIMITED' })
    await deployment.rows(`delete from triggers where agent_id = '${agentId}'`)
  })
})
