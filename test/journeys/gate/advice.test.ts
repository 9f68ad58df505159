/** Advice about a gate through the API: which verdicts count, who may read it, and what the advised gate does once it is saved. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, gate } = await useGateFixtures()

const advice = async (toolId: string, key?: string) => {
  const { data, errors } = await h.gql(
    `query($id: ID!) { gateAdvice(toolId: $id) { kind field title value approved sentence
      gate { mode when timeoutSeconds quorum excludeRequester approvers verdictLinks responses } } }`,
    { id: toolId },
    key,
  )
  return errors ? errors[0]!.extensions!['code'] : data['gateAdvice']
}
const age = (approvalId: string, days: number) =>
  query(
    h.app.services.db,
    sql`update approvals set settled_at = now() - make_interval(days => ${days}::int) where id = ${approvalId}`,
  )

test('what people always approved is advice; an edit, an answer, an end of time or a refusal among it is not', async () => {
  const tool = await gate.gated({ timeoutSeconds: 600, responses: true })
  const ask = async (amount: number, more: object = {}) =>
    (await gate.call(tool.id, { amount, ...more }))['approval'].id as string
  for (let amount = 1; amount <= 19; amount++) await gate.decide(await ask(amount), 'APPROVE')
  expect(await advice(tool.id)).toBeNull()
  await gate.decide(await ask(20), 'APPROVE')
  await gate.decide(await ask(21), 'APPROVE', { arguments: { amount: 22 } })
  await gate.decide(await ask(500), 'REJECT')
  const advised = {
    kind: 'AT_MOST',
    field: '/amount',
    title: 'amount',
    value: 20,
    approved: 20,
    sentence: '20 of 20 calls with amount at most 20 were approved in the last 30 days.',
    gate: {
      mode: 'WHEN',
      when: { properties: { amount: { exclusiveMinimum: 20 } } },
      timeoutSeconds: 600,
      quorum: 1,
      excludeRequester: false,
      approvers: [],
      verdictLinks: false,
      responses: true,
    },
  }
  expect(await advice(tool.id)).toEqual(advised)

  // Each of these among them ends the advice, until it is too old.
  const unfit = [
    async () => {
      const id = await ask(3)
      await gate.bringForward(id, 'expiry')
      await expect.poll(async () => (await gate.approval(id))['status']).toBe('EXPIRED')
      return id
    },
    async () => {
      const id = await ask(4)
      await gate.decide(id, 'REJECT', { response: 'It was paid by hand.' })
      return id
    },
    async () => {
      const id = await ask(5)
      await gate.decide(id, 'REJECT')
      return id
    },
  ]
  for (const make of unfit) {
    const id = await make()
    expect(await advice(tool.id)).toBeNull()
    await age(id, 29)
    expect(await advice(tool.id)).toBeNull()
    await age(id, 31)
    expect(await advice(tool.id)).toEqual(advised)
  }
  const refusal = await ask(900)
  await gate.decide(refusal, 'REJECT', { grant: { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 60 } })
  expect(await advice(tool.id)).toBeNull()
  await query(h.app.services.db, sql`update grants set expires_at = now() - interval '31 days'`)

  // Nobody else reads it, and the advised gate does what it says.
  const { secret } = await gate.key({ role: 'CALLER' })
  expect(await advice(tool.id, secret)).toBe('FORBIDDEN')
  const own = (await advice(tool.id)).gate
  await h.mutate('updateTool', { id: tool.id, gate: own }, 'tool { version }')
  expect((await gate.call(tool.id, { amount: 20 }))['status']).toBe('SUCCEEDED')
  expect((await gate.call(tool.id, { amount: 20.01 }))['status']).toBe('AWAITING_APPROVAL')
  expect(await advice(tool.id)).toBeNull()
})

test('a masked argument is never read for advice, nor calls that a grant let pass', async () => {
  const tool = await gate.gated({})
  const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 60, maxUses: 100 }
  const first = await gate.call(tool.id, { amount: 7, pin: '4711' })
  await gate.decide(first['approval'].id, 'APPROVE', { grant })
  for (let times = 0; times < 20; times++) await gate.call(tool.id, { amount: 7, pin: '4711' })
  expect(await advice(tool.id)).toBeNull()
  const [calls] = await query<{ passed: number }>(
    h.app.services.db,
    sql`select count(*)::int as passed from tool_calls where tool_id = ${tool.id} and grant_id is not null`,
  )
  expect(calls!.passed).toBe(20)
  // As many verdicts as are needed: the amount is advice, the pin is not.
  await query(h.app.services.db, sql`update grants set revoked_at = now() where tool_id = ${tool.id}`)
  for (let times = 1; times < 20; times++)
    await gate.decide((await gate.call(tool.id, { amount: 7, pin: '4711' }))['approval'].id, 'APPROVE')
  expect(await advice(tool.id)).toMatchObject({ field: '/amount', value: 7 })
  await gate.decide((await gate.call(tool.id, { amount: 7, pin: '1' }))['approval'].id, 'REJECT')
  expect(await advice(tool.id)).toBeNull()
})
