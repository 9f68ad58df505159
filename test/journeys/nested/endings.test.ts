/** How chains end: from the bottom up, completely, with all their open calls. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { runtimeName } from '../../../src/domain/tools/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { asking, chainUnder, makeAgent, makeChain, untilAsked } from '../../support/nested-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

/** A chain of four whose last run waits for a client and at the gate. */
async function waiting(top: object = {}) {
  const tool = await gate.gated({ autoApprove: false })
  const chain = await makeChain(h, 4, (level) => ({
    ...(level === 4 ? { toolIds: [tool.id, fixtures.tools.ask] } : {}),
    ...(level === 1 ? top : {}),
  }))
  const innermost = `call ${tool.name} {"amount":1}\ncall ask {"word":"x"}\nthen\nsay never`
  const root = await fixtures.start(chain.agents[0]!.id, chain.prompt(innermost))
  const { requiredAction } = await untilAsked(h, root, 1)
  return { chain, root, approvalId: requiredAction.approvals[0].id as string }
}

async function expectEnded(root: string, statuses: string[], approvalId: string | null): Promise<void> {
  expect((await chainUnder(h, root)).map((run) => run['status'])).toEqual(statuses)
  if (approvalId)
    expect(await gate.approval(approvalId)).toMatchObject({
      status: 'VOIDED',
      voidReason: 'GENERATION_ENDED',
    })
  const open = await query(
    h.app.services.db,
    sql`select t.id from tool_calls t join generations g on g.id = t.generation_id
      where (g.id = ${root} or g.root_id = ${root}) and t.settled_at is null`,
  )
  expect(open).toEqual([])
}

const all = (status: string) => [status, status, status, status]
const terminal = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']

test('a cancel of the root ends the whole chain, from the bottom up, with its open calls', async () => {
  const { root, approvalId } = await waiting()
  const asked = await h.mutate(
    'cancelGeneration',
    { generationId: root, reason: 'enough' },
    'generation { id }',
  )
  expect(asked['generation'].id).toBe(root)
  await h.until(root, terminal)
  await expectEnded(root, all('CANCELLED'), approvalId)
  const ends = await query<{ id: string }>(
    h.app.services.db,
    sql`select generation_id as id from events where type = 'GENERATION_CANCELLED' and generation_id in
      (select id from generations where id = ${root} or root_id = ${root}) order by events.id`,
  )
  const fromTheTop = (await chainUnder(h, root)).map((run) => run['id'])
  expect(ends.map((end) => end.id)).toEqual(fromTheTop.toReversed())
  const log = await h.collect(`subscription($id: ID!) { generationEvents(generationId: $id) { type } }`, {
    id: root,
  })
  const types = log.map((event) => event.type)
  expect(types.filter((type) => type === 'CHILD_ENDED')).toHaveLength(3)
  expect(types).toContain('APPROVAL_VOIDED')
  expect(types.at(-1)).toBe('GENERATION_CANCELLED')
})

test('a cancel in the middle ends the descendants; the parent gets an error and continues', async () => {
  const { root, approvalId } = await waiting()
  const [, second] = await chainUnder(h, root)
  await h.mutate('cancelGeneration', { generationId: second!['id'] }, 'generation { id }')
  expect(await h.until(root, terminal)).toMatchObject({ status: 'COMPLETED', output: { text: 'back at 1' } })
  await expectEnded(root, ['COMPLETED', 'CANCELLED', 'CANCELLED', 'CANCELLED'], approvalId)
  const [run] = await chainUnder(h, root)
  expect(run!['toolCalls']).toMatchObject([{ status: 'ERRORED', errorCode: 'agent_cancelled' }])
})

test('the deadline of the root bounds its descendants: at that moment the whole chain expires', async () => {
  const chain = await makeChain(h, 4, (level) => ({
    ...(level === 4 ? { toolIds: [fixtures.tools.ask] } : {}),
    ...(level === 1 ? { timeoutMs: 3000 } : {}),
  }))
  const root = await fixtures.start(
    chain.agents[0]!.id,
    chain.prompt('call ask {"word":"x"}\nthen\nsay never'),
  )
  await untilAsked(h, root, 1)
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { deadlineAt } }', { id: root })
  const runs = await chainUnder(h, root, 'deadlineAt')
  for (const run of runs) expect(run['deadlineAt']).toBe(data['generation'].deadlineAt)
  await h.until(root, terminal)
  await expectEnded(root, all('EXPIRED'), null)
})

test('a client call of the root that times out with EXPIRE ends the child runs as well', async () => {
  const worker = await makeAgent(h, { name: 'patient', toolIds: [fixtures.tools.ask] })
  const asker = await makeAgent(h, {
    name: 'impatient',
    agentIds: [worker],
    toolIds: [fixtures.tools.tell],
    clientTimeoutMs: 1000,
    onClientTimeout: 'EXPIRE',
  })
  const inner = 'call ask {"word":"x"}\nthen\nsay never'
  const root = await fixtures.start(
    asker,
    `${asking('patient', inner)}\ncall tell {"word":"y"}`.replace('\nthen\nsay done', ''),
  )
  await h.until(root, terminal)
  expect((await chainUnder(h, root)).map((run) => run['status'])).toEqual(['EXPIRED', 'CANCELLED'])
})

test('a run that fails by a server error ends its child runs', async () => {
  const { root, approvalId } = await waiting()
  // Settings that the server cannot read: the next claim of the root fails.
  await query(
    h.app.services.db,
    sql`update generations set settings = settings - 'budget', status = 'QUEUED', wake_at = now() where id = ${root}`,
  )
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  expect(await h.until(root, terminal)).toMatchObject({ status: 'FAILED', error: { code: 'INTERNAL' } })
  const [, second] = await chainUnder(h, root)
  await h.until(second!['id'], terminal)
  await expectEnded(root, ['FAILED', 'CANCELLED', 'CANCELLED', 'CANCELLED'], approvalId)
})

describe('limits', () => {
  test('after a hundred descendants of a root, the next is a tool error and the run continues', async () => {
    const worker = await makeAgent(h, { name: 'one of many', toolIds: [fixtures.tools.ask] })
    const name = runtimeName(['one of many'])
    const asker = await makeAgent(h, { name: 'asker of many', agentIds: [worker] })
    const inner = 'call ask {"word":"x"}\nthen\nsay answered'
    const one = `call ${name} ${JSON.stringify({ message: inner })}`
    const root = await fixtures.start(asker, `${one}\nthen\n${one}\n${one}\nthen\nsay went on`)
    await untilAsked(h, root, 1)
    // As if it had started ninety-eight others before.
    await query(
      h.app.services.db,
      sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input,
          requested_by, parent_id, root_id, depth, deadline_at, finished_at)
        select 'gen_filler' || n, project_id, agent_id, 1, 'thr_filler', 'COMPLETED', settings, input, requested_by,
          ${root}, ${root}, 1, deadline_at, now()
        from generations, generate_series(1, 98) as n where id = ${root}`,
    )
    await fixtures.answer(root)
    await untilAsked(h, root, 2)
    await fixtures.answer(root)
    const ended = await h.until(root, terminal, 'toolCalls { status errorCode }')
    expect(ended['output']).toMatchObject({ text: 'went on' })
    // Both of the second step start at once: either of them may be the hundredth.
    const codes = ended['toolCalls'].map((call: { errorCode: string | null }) => call.errorCode)
    expect(codes.toSorted()).toEqual([null, null, 'too_many_runs'])
  })
})
