/** The time while a generation or one of its descendants waits for a person does not count for its deadline. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { asking, chainUnder, makeAgent, makeChain } from '../../support/nested-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const rows = <Row>(statement: ReturnType<typeof sql>) => query<Row>(h.app.services.db, statement)

/**
 * Moves the start back by so many hours: the approval was requested then, and the generation's deadline passed so
 * long ago.
 */
async function longAgo(id: string, hours: { asked: number; over: number }) {
  const ago = (n: number) => sql`now() - ${n}::float8 * interval '1 hour'`
  const family = sql`(select id from generations where id = ${id} or root_id = ${id})`
  await rows(sql`update approvals set created_at = ${ago(hours.asked)} where generation_id in ${family}`)
  await rows(sql`update generations set deadline_at = ${ago(hours.over)} where id in ${family}`)
}

/** Makes the workers take these generations now, and waits until they have. */
async function lookAt(...ids: string[]) {
  const before = await rows<{ n: number }>(
    sql`update generations set wake_at = now() where id in ${ids} returning epoch as n`,
  )
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  const most = Math.max(...before.map(({ n }) => n))
  for (;;) {
    const open = await rows(
      sql`select 1 from generations where id in ${ids} and finished_at is null
        and (status <> 'WAITING' or wake_at <= now() or epoch < ${most}::int)`,
    )
    if (open.length === 0) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const slowGate = { timeoutSeconds: 7 * 24 * 3600 }

test('a generation whose deadline passes while it waits for a person continues after the verdict', async () => {
  const tool = await gate.gated(slowGate)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  await longAgo(id, { asked: 30, over: 6 })
  await lookAt(id)
  expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'PENDING' })
  await gate.decide(approval!['id'], 'APPROVE')
  expect(await h.until(id, ['COMPLETED', 'EXPIRED'])).toMatchObject({ status: 'COMPLETED' })
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('it is woken while it waits, but not endlessly', async () => {
  const tool = await gate.gated(slowGate)
  const id = await gate.ask(tool)
  await gate.pending(id)
  await longAgo(id, { asked: 30, over: 6 })
  await lookAt(id)
  const [row] = await rows<{ hours: number }>(
    sql`select (extract(epoch from wake_at - now()) / 3600)::float8 as hours from generations where id = ${id}`,
  )
  expect(row!.hours).toBeGreaterThan(23)
})

test('time before the request and after the verdict counts', async () => {
  const tool = await gate.gated(slowGate)
  const other = await gate.gated(slowGate)
  const agentId = await fixtures.agent({ toolIds: [tool.id, other.id, fixtures.tools.ask] })
  const prompt = `call ${tool.name} {"amount":1}\ncall ask {"word":"x"}\nthen\nsay done`
  const id = await fixtures.start(agentId, prompt)
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'APPROVE')
  await h.until(id, ['REQUIRES_ACTION'], 'toolCalls { status }')
  while (gate.paid(tool.name).length === 0) await new Promise((resolve) => setImmediate(resolve))
  // Requested 30 hours ago, decided an hour later; the deadline passed 6 hours ago.
  await longAgo(id, { asked: 30, over: 6 })
  await rows(
    sql`update approvals set settled_at = created_at + interval '1 hour' where generation_id = ${id}`,
  )
  await lookAt(id)
  expect(await h.until(id, ['EXPIRED', 'COMPLETED'])).toMatchObject({ status: 'EXPIRED' })
})

test('a request three levels down stops the time of all ancestors', async () => {
  const tool = await gate.gated(slowGate)
  const chain = await makeChain(h, 3, (level) => (level === 3 ? { toolIds: [tool.id] } : {}))
  const id = await fixtures.start(
    chain.agents[0]!.id,
    chain.prompt(`call ${tool.name} {"amount":1}\nthen\nsay paid`),
  )
  const [approval] = await gate.pending(id)
  await longAgo(id, { asked: 30, over: 6 })
  const family = await chainUnder(h, id)
  await lookAt(...family.map((one) => one['id'] as string))
  await gate.decide(approval!['id'], 'APPROVE')
  expect(await h.until(id, ['COMPLETED', 'EXPIRED'])).toMatchObject({ status: 'COMPLETED' })
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('a run that is started after the wait has its full time', async () => {
  const tool = await gate.gated(slowGate)
  const helper = await makeAgent(h, { name: 'helper' })
  const agentId = await fixtures.agent({ toolIds: [tool.id], agentIds: [helper] })
  const id = await fixtures.start(
    agentId,
    `call ${tool.name} {"amount":1}\nthen\n${asking('helper', 'say hello', 'heard')}`,
  )
  const [approval] = await gate.pending(id)
  await longAgo(id, { asked: 30, over: 6 })
  await gate.decide(approval!['id'], 'APPROVE')
  const end = await h.until(id, ['COMPLETED', 'EXPIRED'], 'toolCalls { name status }')
  expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'heard' } })
  expect(end['toolCalls'].map((call: { status: string }) => call.status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
})

test('a run that waits for a person ends with its parent, though its own deadline has passed', async () => {
  const tool = await gate.gated(slowGate)
  const chain = await makeChain(h, 2, (level) => (level === 2 ? { toolIds: [tool.id] } : {}))
  const id = await fixtures.start(chain.agents[0]!.id, chain.prompt(`call ${tool.name} {"amount":1}`))
  const [approval] = await gate.pending(id)
  await longAgo(id, { asked: 30, over: 6 })
  await h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
  expect(await h.until(id, ['CANCELLED', 'EXPIRED'])).toMatchObject({ status: 'CANCELLED' })
  expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'VOIDED' })
})
