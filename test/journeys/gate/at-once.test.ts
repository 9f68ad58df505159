/**
 * A plain verdict is judged by what was read and written by one statement that proves it, and that claims what goes on.
 * Here are the races that this could lose.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { embeddedDatabase } from '../../support/databases.ts'
import { openTab } from '../../support/cookie-jar.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { forFile } from '../../support/for-file.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { holdResponse, loseResponse, watchStatements } from '../../support/held-statement.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { decideAround, writeOf } from '../../support/verdict-around.ts'

// A lease that is longer than any test: nothing here may be saved by its end.
const h = await forFile(openHarness({ leaseMs: 300_000 }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const keys = {
  admin: await gate.key({ role: 'ADMIN' }),
  one: await gate.key({ role: 'APPROVER' }),
  two: await gate.key({ role: 'APPROVER' }),
}

const run = (text: ReturnType<typeof sql>) => query<Record<string, any>>(h.app.services.db, text)
const ends = ['COMPLETED', 'FAILED', 'CANCELLED']

async function askedDirectly(policy: object = {}) {
  const tool = await gate.gated(policy)
  const call = await gate.call(tool.id, { amount: 10 })
  return { tool, callId: call['id'] as string, approvalId: call['approval'].id as string }
}
async function askedInRun(policy: object = {}) {
  const tool = await gate.gated(policy)
  const id = await gate.ask(tool, { amount: 10 })
  const [approval] = await gate.pending(id)
  return { tool, id, approvalId: approval!['id'] as string }
}

/** Delays the response of the read of the next verdict. */
const holdRead = (value: string) =>
  holdResponse(h.app.services.db, { begins: 'select id as', contains: 'end as owner', value })

const decideMeanwhile = (approvalId: string, meanwhile: () => Promise<unknown>) =>
  decideAround(h, { approvalId }, meanwhile, keys.one.secret)

test('a verdict on a waiting run is one statement, which also claims the run', async () => {
  const { id, approvalId, tool } = await askedInRun()
  const { db } = h.app.services
  const [before] = await run(sql`select epoch from generations where id = ${id}`)
  const watched = watchStatements(db, approvalId)
  const written = holdResponse(db, writeOf(approvalId))
  const deciding = gate.decide(approvalId, 'APPROVE', { note: 'fine' }, keys.one.secret)
  await written.done
  const [row] = await run(
    sql`select status, epoch, wake_at > now() + interval '1 minute' as held from generations where id = ${id}`,
  )
  expect(row).toEqual({ status: 'RUNNING', epoch: before!['epoch'] + 1, held: true })
  expect(gate.paid(tool.name)).toEqual([])
  expect(watched.seen.map((text) => text.slice(0, 12))).toEqual(['select id as', 'with o as (s'])
  watched.stop()
  const calls = await run(sql`select status, attempt from tool_calls where approval_id = ${approvalId}`)
  expect(calls).toEqual([{ status: 'APPROVED', attempt: 0 }])
  written.release()
  const { approval } = await deciding
  expect(approval).toMatchObject({ status: 'APPROVED', votes: [{ by: keys.one.id, note: 'fine' }] })
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED' })
  expect(await gate.approval(approvalId)).toMatchObject({
    settledAt: approval.settledAt,
    votes: approval.votes,
  })
  const told = await run(
    sql`select type from events where generation_id = ${id} and seq > 3 order by seq limit 5`,
  )
  expect(told.map(({ type }) => type).filter((type) => /DECIDED|RESUMED|STARTED/.test(type))).toEqual([
    'APPROVAL_DECIDED',
    'GENERATION_RESUMED',
    'TOOL_CALL_STARTED',
  ])
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('a verdict on a direct call is one statement, which also claims the call', async () => {
  const { callId, approvalId, tool } = await askedDirectly()
  const written = holdResponse(h.app.services.db, writeOf(approvalId))
  const deciding = gate.decide(approvalId, 'APPROVE', {}, keys.one.secret)
  await written.done
  const [row] = await run(
    sql`select status, epoch, wake_at > now() + interval '1 minute' as held from tool_calls where id = ${callId}`,
  )
  expect(row).toEqual({ status: 'APPROVED', epoch: 1, held: true })
  expect(gate.paid(tool.name)).toEqual([])
  written.release()
  await deciding
  await gate.untilCall(callId, ['SUCCEEDED'])
  expect(gate.paid(tool.name)).toHaveLength(1)
  const told = await run(sql`select type from events where data->>'toolCallId' = ${callId} order by position`)
  expect(told.map(({ type }) => type)).toEqual([
    'APPROVAL_REQUESTED',
    'APPROVAL_DECIDED',
    'TOOL_CALL_STARTED',
    'TOOL_CALL_SETTLED',
  ])
})

test('without a free slot the run is queued and the call is due', async () => {
  const { db, slots } = h.app.services
  const { take } = slots
  const asked: string[] = []
  const decideWithoutSlot = async (approvalId: string) => {
    const written = holdResponse(db, writeOf(approvalId))
    slots.take = (table) => (asked.push(table), null)
    const deciding = gate.decide(approvalId, 'APPROVE')
    await written.done
    slots.take = take
    written.release()
    await deciding
  }
  const inRun = await askedInRun()
  await decideWithoutSlot(inRun.approvalId)
  expect(await h.until(inRun.id, ends)).toMatchObject({ status: 'COMPLETED' })
  const direct = await askedDirectly()
  await decideWithoutSlot(direct.approvalId)
  await gate.untilCall(direct.callId, ['SUCCEEDED'])
  expect(asked).toEqual(['generations', 'tool_calls'])
  for (const { tool } of [inRun, direct]) expect(gate.paid(tool.name)).toHaveLength(1)
})

test('of two people who read before either has voted both count', async () => {
  const { callId, approvalId, tool } = await askedDirectly({ quorum: 2 })
  const slow = await decideMeanwhile(approvalId, () =>
    gate.decide(approvalId, 'APPROVE', {}, keys.two.secret),
  )
  expect(slow).toMatchObject({
    approval: { status: 'APPROVED', votes: [{ by: keys.two.id }, { by: keys.one.id }] },
  })
  await gate.untilCall(callId, ['SUCCEEDED'])
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('of two people who decide about the same call the second is told so', async () => {
  const { approvalId, tool, callId } = await askedDirectly()
  const slow = await decideMeanwhile(approvalId, () => gate.decide(approvalId, 'REJECT', {}, keys.two.secret))
  expect(slow).toMatchObject({ code: 'APPROVAL_ALREADY_DECIDED' })
  expect(await gate.toolCall(callId)).toMatchObject({ status: 'REJECTED' })
  expect(gate.paid(tool.name)).toEqual([])
})

test('of many people at the same instant exactly as many count as the quorum needs', async () => {
  const others = await Promise.all(Array.from({ length: 6 }, () => gate.key({ role: 'APPROVER' })))
  const { id, approvalId, tool } = await askedInRun({ quorum: 3 })
  const said = await Promise.all(others.map(({ secret }) => gate.decide(approvalId, 'APPROVE', {}, secret)))
  expect(said.filter((answer) => answer['approval'])).toHaveLength(3)
  for (const refused of said.filter((answer) => !answer['approval']))
    expect(refused).toMatchObject({ code: 'APPROVAL_ALREADY_DECIDED' })
  expect((await gate.approval(approvalId))['votes']).toHaveLength(3)
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED' })
  expect(gate.paid(tool.name)).toHaveLength(1)
  const told = await run(sql`select type from events where generation_id = ${id} order by seq`)
  const count = (type: string) => told.filter((event) => event['type'] === type).length
  expect([count('APPROVAL_VOTED'), count('APPROVAL_DECIDED'), count('GENERATION_RESUMED')]).toEqual([2, 1, 1])
})

test('a key that is revoked between read and write gives no verdict', async () => {
  const gone = await gate.key({ role: 'APPROVER' })
  const { approvalId, tool } = await askedDirectly()
  const kept = keys.one
  keys.one = gone
  const refused = await decideMeanwhile(approvalId, () =>
    run(sql`update api_keys set revoked_at = now() where id = ${gone.id}`),
  ).finally(() => (keys.one = kept))
  expect(refused).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(await gate.approval(approvalId)).toMatchObject({ status: 'PENDING', votes: [] })
  expect(gate.paid(tool.name)).toEqual([])
})

test('a session that ends between read and write gives no verdict, and a live one does', async () => {
  const key = await gate.key({ role: 'APPROVER' })
  const tab = openTab(h.url)
  expect(await tab.signIn(key.secret)).toBe(201)
  const decide = (approvalId: string) =>
    tab.gql('mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename } }', {
      input: { approvalId, verdict: 'APPROVE' },
    })
  const [first, second] = [await askedDirectly(), await askedDirectly()]
  const written = holdResponse(h.app.services.db, writeOf(first.approvalId))
  const deciding = decide(first.approvalId)
  await written.done
  expect(await gate.approval(first.approvalId)).toMatchObject({ votes: [{ by: key.id }] })
  written.release()
  expect((await deciding).data).toEqual({ decideApproval: { __typename: 'ApprovalPayload' } })

  const read = holdRead(second.approvalId)
  const late = decide(second.approvalId)
  await read.done
  await run(sql`delete from sessions where principal_id = ${key.id}`)
  read.release()
  expect((await late).errors[0].extensions).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(await gate.approval(second.approvalId)).toMatchObject({ status: 'PENDING', votes: [] })
})

test('a verdict that comes with the deadline is late', async () => {
  const { approvalId, tool } = await askedDirectly()
  const late = () => run(sql`update approvals set expires_at = now() where id = ${approvalId}`)
  expect(await decideMeanwhile(approvalId, late)).toMatchObject({ code: 'APPROVAL_EXPIRED' })
  expect(gate.paid(tool.name)).toEqual([])
})

test('arguments that were edited after the read are not approved', async () => {
  const { approvalId, tool } = await askedDirectly({ quorum: 2 })
  const edit = { arguments: { amount: 1_000_000 } }
  const refused = await decideMeanwhile(approvalId, () =>
    gate.decide(approvalId, 'APPROVE', edit, keys.admin.secret),
  )
  expect(refused).toMatchObject({ code: 'CONFLICT' })
  expect(await gate.approval(approvalId)).toMatchObject({
    status: 'PENDING',
    votes: [{ by: keys.admin.id }],
  })
  expect(gate.paid(tool.name)).toEqual([])
})

test('an edit and its undoing between read and write keep their vote', async () => {
  const { approvalId } = await askedDirectly({ quorum: 3 })
  await gate.decide(approvalId, 'APPROVE', {}, keys.two.secret)
  const said = await decideMeanwhile(approvalId, async () => {
    for (const amount of [11, 10])
      await gate.decide(approvalId, 'APPROVE', { arguments: { amount } }, keys.admin.secret)
  })
  expect(said).toMatchObject({
    approval: { status: 'PENDING', votes: [{ by: keys.admin.id }, { by: keys.one.id }] },
  })
})

test('a run that is cancelled after the read is not resumed', async () => {
  const { approvalId, id, tool } = await askedInRun()
  const refused = await decideMeanwhile(approvalId, () =>
    h.mutate('cancelGeneration', { generationId: id }, 'generation { id }'),
  )
  expect(refused).toMatchObject({ code: 'CONFLICT' })
  expect(await h.until(id, ends)).toMatchObject({ status: 'CANCELLED' })
  expect(gate.paid(tool.name)).toEqual([])
})

test('a run that another worker has claimed since the read is not taken from it', async () => {
  const { approvalId, id, tool } = await askedInRun()
  const [before] = await run(sql`select epoch from generations where id = ${id}`)
  const said = await decideMeanwhile(approvalId, () =>
    run(sql`update generations set status = 'RUNNING', epoch = epoch + 1,
        wake_at = now() + interval '1 minute' where id = ${id}`),
  )
  expect(said).toMatchObject({ approval: { status: 'APPROVED' } })
  expect(await run(sql`select status, epoch from generations where id = ${id}`)).toEqual([
    { status: 'RUNNING', epoch: before!['epoch'] + 1 },
  ])
  expect(gate.paid(tool.name)).toEqual([])
  // That worker is lost.
  await run(sql`update generations set wake_at = now() where id = ${id}`)
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED' })
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test.each(['run', 'direct call'])(
  'a verdict on a %s whose response was lost counts once, is confirmed, and is acted on before the lease ends',
  async (where) => {
    const asked = where === 'run' ? await askedInRun() : await askedDirectly()
    loseResponse(h.app.services.db, writeOf(asked.approvalId))
    const said = await gate.decide(asked.approvalId, 'APPROVE', {}, keys.one.secret)
    expect(said['approval']).toMatchObject({ status: 'APPROVED', votes: [{ by: keys.one.id }] })
    if ('id' in asked) await h.until(asked.id, ends)
    else await gate.untilCall(asked.callId, ['SUCCEEDED'])
    expect(gate.paid(asked.tool.name)).toHaveLength(1)
    expect(await gate.decide(asked.approvalId, 'APPROVE', {}, keys.two.secret)).toMatchObject({
      code: 'APPROVAL_ALREADY_DECIDED',
    })
  },
)

test.each(['a run', 'nobody'].flatMap((of) => [true, false].map((idempotent) => ({ of, idempotent }))))(
  'what a process claimed that has frozen before it has the response is sent once by another: a call of $of, idempotent: $idempotent',
  async ({ of, idempotent }) => {
    const server = await openHarness({ leaseMs: 1000 })
    const upstream = await makeFixtures(server)
    const gates = gateFixtures(server, upstream)
    try {
      const tool = await gates.gated({}, { idempotent })
      const runId = of === 'a run' ? await gates.ask(tool) : null
      const call = runId ? (await gates.pending(runId))[0]!['toolCall'] : await gates.call(tool.id)
      const approvalId = (await gates.toolCall(call.id))['approval'].id as string
      const written = holdResponse(server.app.services.db, writeOf(approvalId))
      const deciding = gates.decide(approvalId, 'APPROVE')
      await written.done
      // Its lease ends, and a worker takes the row.
      if (runId)
        expect(await server.until(runId, ['COMPLETED', 'FAILED'])).toMatchObject({ status: 'COMPLETED' })
      await gates.untilCall(call.id, ['SUCCEEDED', 'UNKNOWN'])
      written.release()
      expect(await deciding).toMatchObject({ approval: { status: 'APPROVED' } })
      expect(await gates.toolCall(call.id)).toMatchObject({ status: 'SUCCEEDED', errorCode: null })
      expect(gates.paid(tool.name)).toHaveLength(1)
    } finally {
      await upstream.close()
      await server.stop()
    }
  },
)

test.each(['a run', 'nobody'])(
  'a process that begins to stop before it has the response of its claim leaves the call of %s to the next',
  { timeout: 360_000 },
  async (of) => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-stop-'))
    await embeddedDatabase(folder)
    const database = { kind: 'pglite', directory: join(folder, 'db') } as const
    const open = () => openHarness({ leaseMs: 300_000 }, { database })
    const first = await open()
    const upstream = await makeFixtures(first)
    const gates = gateFixtures(first, upstream)
    let next: Harness | null = null
    try {
      const tool = await gates.gated({})
      const [asked] =
        of === 'a run'
          ? await gates.pending(await gates.ask(tool))
          : [(await gates.call(tool.id))['approval']]
      const written = holdResponse(first.app.services.db, writeOf(asked!.id))
      const deciding = gates.decide(asked!.id, 'APPROVE')
      await written.done
      const stopping = first.app.stop(10_000)
      written.release()
      expect(await deciding).toMatchObject({ approval: { status: 'APPROVED' } })
      await stopping
      expect(gates.paid(tool.name)).toEqual([])
      next = await open()
      const { toolCall } = await gateFixtures(next, upstream).approval(asked!.id)
      await gateFixtures(next, upstream).untilCall(toolCall.id, ['SUCCEEDED'])
      expect(gates.paid(tool.name)).toHaveLength(1)
    } finally {
      await upstream.close()
      await first.stop()
      await next?.stop()
      await rm(folder, { recursive: true, force: true })
    }
  },
)
