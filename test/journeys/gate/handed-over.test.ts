/**
 * The statement that approves a call of a waiting run, or one outside any, also claims what goes on, and hands it to a worker
 * as it was read. Here is what it must prove, each with the change that it would miss.
 */
import { sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { ConnectionLostError } from '../../../src/store/db/storage-error.ts'
import { aroundStatements } from '../../support/around-statements.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { forFile } from '../../support/for-file.ts'
import { openHarness } from '../../support/harness.ts'
import { holdResponse } from '../../support/held-statement.ts'
import { decideAround, writeOf } from '../../support/verdict-around.ts'

// A lease that is longer than any test: nothing here may be saved by its end.
const h = await forFile(openHarness({ leaseMs: 300_000 }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
beforeAll(() => useOnce('nobody'))

const run = (text: ReturnType<typeof sql>) => query<Record<string, any>>(h.app.services.db, text)
const ends = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']

const owners = ['a run', 'nobody'] as const
type Of = (typeof owners)[number]
interface GatedCall {
  tool: { id: string; name: string }
  /** Null for a call that is its own work row. */
  runId: string | null
  approvalId: string
  callId: string
  row: ReturnType<typeof sql>
}

/** A call of a run, or of nobody, that waits at a gate; of this tool or a new one. */
async function asked(of: Of, secret?: string, known?: GatedCall['tool']): Promise<GatedCall> {
  const tool = known ?? (await gate.gated({}))
  if (of === 'nobody') {
    const call = await gate.call(tool.id, { amount: 5 }, {}, secret)
    const callId = call['id'] as string
    return { tool, runId: null, approvalId: call['approval'].id, callId, row: sql`tool_calls` }
  }
  const agentId = await fixtures.agent({ toolIds: [tool.id] })
  const prompt = `call ${tool.name} {"amount": 5}\nthen\nsay done`
  const started = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', secret)
  const runId = started['generation'].id as string
  const [approval] = await gate.pending(runId)
  const callId = approval!['toolCall'].id as string
  return { tool, runId, approvalId: approval!['id'] as string, callId, row: sql`generations` }
}
const inRun = async (secret?: string) => {
  const one = await asked('a run', secret)
  return { ...one, id: one.runId! }
}
/** From then on the process knows the key of the requester. */
const useOnce = async (of: Of, secret?: string) => {
  const one = await asked(of, secret)
  await gate.decide(one.approvalId, 'APPROVE')
  expect(await outcomeOf(one)).toEqual(ranOnce(one))
}
const rowOf = ({ runId, callId }: GatedCall) => runId ?? callId
/** The end of the run, if there is one, and of the call. */
const outcomeOf = async ({ runId, callId }: GatedCall) => {
  const end = runId ? (await h.until(runId, ends))['status'] : null
  const { status, errorCode, attempts } = runId
    ? await gate.toolCall(callId)
    : await gate.untilCall(callId, outcomes)
  return { run: end, status, errorCode, attempts: attempts.length }
}
const outcomes = ['SUCCEEDED', 'ERRORED', 'CANCELLED', 'EXPIRED', 'REJECTED', 'UNKNOWN']
const completed = ({ runId }: GatedCall) => (runId ? 'COMPLETED' : null)
const ranOnce = (one: GatedCall) => ({
  run: completed(one),
  status: 'SUCCEEDED',
  errorCode: null,
  attempts: 1,
})
/** Whether a limit delays the call: a lease is longer than that, and what is due is earlier. */
const isDelayed = async ({ callId }: GatedCall) => {
  const [row] = await run(sql`select coalesce(not_before, wake_at) > now()
      and coalesce(not_before, wake_at) < now() + interval '2 minutes' as delayed from tool_calls where id = ${callId}`)
  return row!['delayed'] as boolean
}
const isParked = async ({ callId }: GatedCall) => {
  const [row] = await run(sql`select not_before is not null as parked from tool_calls where id = ${callId}`)
  return row!['parked'] as boolean
}
const pause = async (toolId: string) =>
  (await h.mutate('pause', { toolId }, 'pause { id }'))['pause'].id as string
const resume = (pauseId: string) => h.mutate('resume', { pauseId }, 'pause { id }')

test.each(owners)(
  'what goes on is read for nobody who may not decide, and for no edit: a call of %s',
  async (of) => {
    const one = await asked(of)
    const { secret } = await gate.key({ role: 'CALLER' })
    const reads: string[] = []
    const undo = aroundStatements(h.app.services.db, ({ text, params, execute }) => {
      if (text.includes('end as owner') && params.includes(one.approvalId)) reads.push(text)
      return execute()
    })
    const decide = (more: object, key?: string) =>
      h.gql(
        'mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename } }',
        { input: { approvalId: one.approvalId, verdict: 'APPROVE', ...more } },
        key,
      )
    await decide({}, secret)
    await decide({ arguments: { amount: 6 } })
    undo()
    expect(reads.length).toBeGreaterThan(1)
    expect(reads.filter((text) => text.includes('row_to_json(seen)'))).toEqual([])
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
  },
)

test.each(owners)(
  'between the verdict and its request stand the commit of the attempt and no other statement, for a call of %s',
  async (of) => {
    await useOnce(of)
    const one = await asked(of)
    const { db, leaseDb } = h.app.services
    const sent: string[] = []
    const undo = [...new Set([db, leaseDb])].map((side) =>
      aroundStatements(side, ({ text, params, execute }) => {
        if ([rowOf(one), one.callId, one.approvalId].some((id) => params.includes(id)))
          sent.push(text.slice(0, 12))
        return execute()
      }),
    )
    const input = { approvalId: one.approvalId, verdict: 'APPROVE' }
    const deciding = h.mutate('decideApproval', input, 'approval { status }')
    while (gate.paid(one.tool.name).length === 0) await new Promise(setImmediate)
    undo.forEach((stop) => stop())
    expect(sent).toEqual(['select id as', 'with o as (s', 'with g as (u'])
    expect(await deciding).toMatchObject({ approval: { status: 'APPROVED' } })
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
  },
)

test.each(owners)(
  'a pause between read and write keeps the call of %s, which runs once after it',
  async (of) => {
    const one = await asked(of)
    let pauseId = ''
    const said = await decideAround(h, one, async () => (pauseId = await pause(one.tool.id)))
    expect(said).toMatchObject({ approval: { status: 'APPROVED' } })
    await expect.poll(() => gate.toolCall(one.callId)).toMatchObject({ status: 'APPROVED', attempts: [] })
    expect(gate.paid(one.tool.name)).toEqual([])
    await resume(pauseId)
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
    expect(gate.paid(one.tool.name)).toHaveLength(1)
  },
)

test.each(owners)(
  'a pause between the commit and its response keeps the call of %s, which runs once after it, for one use of its tool',
  async (of) => {
    const one = await asked(of)
    const limit = { scope: 'TOOL', targetId: one.tool.id, burst: 1, perMinute: 1 }
    await h.mutate('setRateLimit', limit, 'rateLimit { perMinute }')
    const written = holdResponse(h.app.services.db, writeOf(one.approvalId))
    const deciding = gate.decide(one.approvalId, 'APPROVE')
    await written.done
    const pauseId = await pause(one.tool.id)
    written.release()
    await deciding
    await expect.poll(() => isParked(one)).toBe(true)
    expect(await gate.toolCall(one.callId)).toMatchObject({ status: 'APPROVED', attempts: [] })
    expect(gate.paid(one.tool.name)).toEqual([])
    await resume(pauseId)
    // What was begun before the pause was seen has used up nothing: the call is not delayed now.
    const statusOf = async () => (await gate.toolCall(one.callId))['status'] as string
    await expect.poll(async () => (await statusOf()) === 'SUCCEEDED' || isDelayed(one)).toBe(true)
    expect(await statusOf()).toBe('SUCCEEDED')
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
    expect(gate.paid(one.tool.name)).toHaveLength(1)
  },
)

test.each(owners)(
  'a requester whose key is revoked between read and write has nothing sent by %s',
  async (of) => {
    const { secret, id } = await gate.key({ role: 'CALLER' })
    await useOnce(of, secret)
    const one = await asked(of, secret)
    await decideAround(h, one, () => run(sql`update api_keys set revoked_at = now() where id = ${id}`))
    const end = await outcomeOf(one)
    expect(end).toEqual({ run: completed(one), status: 'ERRORED', errorCode: 'forbidden', attempts: 0 })
    expect(gate.paid(one.tool.name)).toEqual([])
  },
)

test.each(owners)(
  'a tool that is changed between read and write is asked about again: a call of %s',
  async (of) => {
    const one = await asked(of)
    await decideAround(h, one, () =>
      run(sql`with t as (
          update tools set version = version + 1,
            definition = jsonb_set(definition, '{description}', '"another"') - 'judgedVersion' where id = ${one.tool.id} returning *
        )
        insert into tool_versions (tool_id, version, project_id, definition)
        select id, version, project_id, definition from t`),
    )
    await expect.poll(() => gate.approval(one.approvalId)).toMatchObject({ voidReason: 'TOOL_CHANGED' })
    expect(gate.paid(one.tool.name)).toEqual([])
    const again = (await gate.toolCall(one.callId))['approval'].id as string
    expect(again).not.toBe(one.approvalId)
    await gate.decide(again, 'APPROVE')
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
    expect(gate.paid(one.tool.name)).toHaveLength(1)
  },
)

test('a run that is asked to end between read and write sends nothing', async () => {
  const one = await inRun()
  await decideAround(h, one, () =>
    run(sql`update generations set cancel_requested_at = now() where id = ${one.id}`),
  )
  expect(await outcomeOf(one)).toMatchObject({ run: 'CANCELLED', attempts: 0 })
  expect(gate.paid(one.tool.name)).toEqual([])
})

test('a call that its caller withdraws between read and write is not sent', async () => {
  const one = await asked('nobody')
  const said = await decideAround(h, one, () =>
    h.mutate('cancelToolCall', { toolCallId: one.callId }, 'toolCall { id }'),
  )
  expect(said).toMatchObject({ code: 'CONFLICT' })
  expect(await outcomeOf(one)).toMatchObject({ status: 'CANCELLED', attempts: 0 })
  expect(gate.paid(one.tool.name)).toEqual([])
})

test('a run whose time is over sends nothing', async () => {
  const one = await inRun()
  await run(sql`update generations set deadline_at = now() - interval '1 day' where id = ${one.id}`)
  await gate.decide(one.approvalId, 'APPROVE')
  expect(await outcomeOf(one)).toMatchObject({ run: 'EXPIRED', attempts: 0 })
  expect(gate.paid(one.tool.name)).toEqual([])
})

test.each(owners)('a limit of the tool delays the call of %s', async (of) => {
  const one = await asked(of)
  const two = await asked(of, undefined, one.tool)
  const limit = { scope: 'TOOL', targetId: one.tool.id, burst: 1 }
  await h.mutate('setRateLimit', { ...limit, perMinute: 1 }, 'rateLimit { perMinute }')
  await gate.decide(one.approvalId, 'APPROVE')
  expect(await outcomeOf(one)).toEqual(ranOnce(one))
  await gate.decide(two.approvalId, 'APPROVE')
  await expect.poll(() => gate.toolCall(two.callId)).toMatchObject({ status: 'APPROVED' })
  await expect.poll(() => isDelayed(two)).toBe(true)
  expect(gate.paid(one.tool.name)).toHaveLength(1)
  if (two.runId) await h.mutate('cancelGeneration', { generationId: two.runId }, 'generation { id }')
})

test.each(owners)(
  'a use of a tool is given back when the statement writes nothing: a call of %s',
  async (of) => {
    const one = await asked(of)
    const limit = { scope: 'TOOL', targetId: one.tool.id, burst: 1, perMinute: 1 }
    await h.mutate('setRateLimit', limit, 'rateLimit { perMinute }')
    // The proof fails, and the worker begins the call by itself.
    await decideAround(h, one, () =>
      run(sql`update ${one.row} set epoch = epoch + 1 where id = ${rowOf(one)}`),
    )
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
    expect(gate.paid(one.tool.name)).toHaveLength(1)
  },
)

test('a run that gets an output between read and write is not handed over as it was before', async () => {
  const tool = await gate.gated({})
  const agentId = await fixtures.agent({ toolIds: [tool.id, fixtures.tools.ask] })
  const prompt = `call ${tool.name} {"amount": 1}\ncall ask {"word": "x"}\nthen\nsay done`
  const id = await fixtures.start(agentId, prompt)
  const [approval] = await gate.pending(id)
  const { slots } = h.app.services
  const { take } = slots
  const handed: unknown[] = []
  slots.take = (...of) => {
    const slot = take(...of)
    return slot && { ...slot, run: (row) => (handed.push(row), slot.run(row)) }
  }
  const input = { approvalId: approval!['id'], verdict: 'REJECT' } as const
  await decideAround(h, input, () => fixtures.answer(id))
  slots.take = take
  expect(handed).toEqual([])
  const end = await h.until(id, ends, 'toolCalls { status }')
  expect(end['toolCalls']).toEqual([{ status: 'REJECTED' }, { status: 'SUCCEEDED' }])
})

test('two calls of a run that are approved at the same moment go out once each', async () => {
  const [first, second] = [await gate.gated({}), await gate.gated({})]
  const agentId = await fixtures.agent({ toolIds: [first.id, second.id] })
  const prompt = `call ${first.name} {"amount": 1}\ncall ${second.name} {"amount": 2}\nthen\nsay done`
  const id = await fixtures.start(agentId, prompt)
  const [one, two] = await gate.pending(id)
  const said = await decideAround(h, { approvalId: one!['id'] }, () => gate.decide(two!['id'], 'APPROVE'))
  expect(said).toMatchObject({ approval: { status: 'APPROVED' } })
  expect(await h.until(id, ends)).toMatchObject({ status: 'COMPLETED' })
  expect([gate.paid(first.name).length, gate.paid(second.name).length]).toEqual([1, 1])
})

const losses = owners.flatMap((of) => (['response', 'statement'] as const).map((lost) => ({ of, lost })))

test.each(losses)(
  'when the $lost of a verdict is lost, the call of $of is sent once, for one use of its tool',
  async ({ of, lost }) => {
    const one = await asked(of)
    const two = await asked(of, undefined, one.tool)
    const limit = { scope: 'TOOL', targetId: one.tool.id, burst: 1, perMinute: 1 }
    await h.mutate('setRateLimit', limit, 'rateLimit { perMinute }')
    const { db } = h.app.services
    const stop = aroundStatements(db, async ({ text, params, execute }) => {
      if (!text.startsWith('with o as') || !params.includes(one.approvalId)) return execute()
      stop()
      if (lost === 'response') await execute()
      throw new ConnectionLostError()
    })
    const { approval } = await gate.decide(one.approvalId, 'APPROVE')
    expect(approval).toMatchObject({ status: 'APPROVED' })
    expect(approval.votes).toHaveLength(1)
    expect(await outcomeOf(one)).toEqual(ranOnce(one))
    await gate.decide(two.approvalId, 'APPROVE')
    await expect.poll(() => isDelayed(two)).toBe(true)
    expect(gate.paid(one.tool.name)).toHaveLength(1)
  },
)

test.each([
  { of: 'a run', verdict: 'APPROVE' },
  { of: 'a run', verdict: 'REJECT' },
  { of: 'nobody', verdict: 'APPROVE' },
] as const)(
  'a claim of another worker under the same epoch is not taken for the lost one, nor given back: $verdict for $of',
  async ({ of, verdict }) => {
    const one = await asked(of)
    const { db } = h.app.services
    const { slots } = h.app.services
    const take = slots.take
    const used = new Promise<string>((resolve) => {
      slots.take = (...args) => {
        slots.take = take
        const slot = take(...args)!
        return {
          ...slot,
          run: (row) => (resolve('run'), slot.run(row)),
          free: () => (resolve('free'), slot.free()),
          giveBack: (row) => (resolve('giveBack'), slot.giveBack(row)),
        }
      }
    })
    const stop = aroundStatements(db, async ({ text, params, execute }) => {
      if (!text.startsWith('with o as') || !params.includes(one.approvalId)) return execute()
      stop()
      const status = one.runId ? sql`status = 'RUNNING',` : sql``
      await run(sql`update ${one.row} set ${status} epoch = epoch + 1,
          wake_at = now() + interval '1 hour' where id = ${rowOf(one)}`)
      throw new ConnectionLostError()
    })
    const input = { approvalId: one.approvalId, verdict }
    const deciding = h.mutate('decideApproval', input, 'approval { status }')
    expect(await used).toBe('free')
    const status = { APPROVE: 'APPROVED', REJECT: 'REJECTED' }[verdict]
    expect(await deciding).toMatchObject({ approval: { status } })
    if (one.runId) {
      expect(await gate.toolCall(one.callId)).toMatchObject({ status, attempts: [] })
      expect(gate.paid(one.tool.name)).toEqual([])
      // That worker is lost.
      await run(sql`update generations set wake_at = now() where id = ${one.runId}`)
    }
    if (verdict === 'APPROVE') expect(await outcomeOf(one)).toEqual(ranOnce(one))
    else expect(await h.until(one.runId!, ends)).toMatchObject({ status: 'COMPLETED' })
    expect(gate.paid(one.tool.name)).toHaveLength(verdict === 'APPROVE' ? 1 : 0)
  },
)
