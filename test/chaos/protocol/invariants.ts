/** What must hold at every moment, and what must hold at rest, read from the tables and the upstream. */
import { expect } from 'vitest'
import type { Person, World } from './world.ts'
import type { Model, Reading } from './model.ts'

interface Vote {
  verdict: 'APPROVE' | 'REJECT'
  by: string
}

interface CallRow {
  id: string
  name: string
  status: string
  code: string | null
  approvalId: string | null
  generationId: string | null
  settled: boolean
}

interface ApprovalRow {
  id: string
  callId: string
  status: string
  reason: string | null
  digest: string
  version: number
  name: string
  args: { amount: number }
  requestedBy: string
  requirement: { quorum: number; excludeRequester: boolean; approvers: string[][] }
  votes: Vote[]
  voidsTold: number
}

const snapshot = (since: string) => `select
  (select coalesce(json_agg(json_build_object('id', id, 'name', runtime_name, 'status', status, 'code', error_code,
      'approvalId', approval_id, 'generationId', generation_id, 'settled', settled_at is not null)), '[]'::json)
    from tool_calls where created_at >= '${since}') as calls,
  (select coalesce(json_agg(json_build_object('id', id, 'callId', tool_call_id, 'status', status, 'reason', void_reason,
      'digest', digest, 'version', tool_version, 'name', runtime_name, 'args', coalesce(edited_arguments, arguments),
      'requestedBy', requested_by, 'requirement', requirement, 'votes', votes,
      'voidsTold', (select count(*)::int from events e where e.type = 'APPROVAL_VOIDED'
        and e.data->>'approvalId' = approvals.id))), '[]'::json)
    from approvals where created_at >= '${since}') as approvals,
  (select coalesce(json_agg(x), '[]'::json) from (
    select g.id, g.last_seq, count(e.seq)::int as n, max(e.seq) as last from generations g
    left join events e on e.generation_id = g.id where g.created_at >= '${since}' group by g.id, g.last_seq
    having count(e.seq) <> g.last_seq or coalesce(max(e.seq), 0) <> g.last_seq or count(distinct e.seq) <> g.last_seq) as x) as gaps`

/** States in which a call cannot have run. */
const neverRan = new Set([
  'PROPOSED',
  'AWAITING_APPROVAL',
  'APPROVED',
  'CANCELLED',
  'SKIPPED',
  'REJECTED',
  'EXPIRED',
  'INVALID',
])

/** Fails unless every safety rule holds now. Returns the current calls. */
export async function checkNow(world: World, model: Model): Promise<CallRow[]> {
  const { upstream } = world
  // Read before the rows: an arrival after the rows were read says nothing about them.
  const arrivals = [...upstream.arrivals]
  const [now] = await world.rows<{ calls: CallRow[]; approvals: ApprovalRow[]; gaps: object[] }>(
    snapshot(model.since),
  )
  const { calls, approvals, gaps } = now!
  expect(gaps, 'generations whose events are not 1 to N').toEqual([])
  const keys = arrivals.map((one) => one.key)
  expect(
    keys.filter((key, i) => keys.indexOf(key) !== i),
    'calls that were sent twice',
  ).toEqual([])
  expect(
    arrivals.filter((one) => one.late),
    'calls that were sent after they were settled',
  ).toEqual([])
  const byId = new Map(approvals.map((one) => [one.id, one]))
  for (const call of calls) checkCall(call, byId.get(call.approvalId ?? '') ?? null, arrivals)
  const ran = new Set(keys)
  const callOf = new Map(calls.map((call) => [call.id, call]))
  for (const approval of approvals) {
    checkVotes(world, model, approval)
    if (approval.status === 'VOIDED') checkVoided(approval, callOf.get(approval.callId)!, ran)
  }
  for (const call of calls) if (call.settled) upstream.settled.add(call.id)
  return calls
}

function checkCall(
  call: CallRow,
  approval: ApprovalRow | null,
  arrivals: World['upstream']['arrivals'],
): void {
  const arrival = arrivals.find((one) => one.key === call.id)
  if (arrival) {
    expect(neverRan.has(call.status), `a ${call.status} call that ran: ${JSON.stringify(call)}`).toBe(false)
    expect(call.code, 'a call that is said not to have been sent').not.toBe('not_sent')
    if (call.status === 'ERRORED')
      expect(arrival.answer, `ERRORED with ${call.code}, and what the upstream said`).toBe('fail')
    expect(arrival.name).toBe(call.name)
    if (call.name === 'pay' || call.name === 'refund') {
      expect(approval, 'a gated call that ran, and its approval').toMatchObject({
        status: 'APPROVED',
        args: arrival.body,
        version: arrival.version,
      })
    }
  } else if (call.status === 'SUCCEEDED' && call.name !== 'ask')
    expect(
      arrivals.some((one) => one.key === call.id),
      'a SUCCEEDED call that reached nobody',
    ).toBe(true)
}

/** Votes come from different people who may vote, and who read the current arguments. */
function checkVotes(world: World, model: Model, approval: ApprovalRow): void {
  const { votes, requirement, status } = approval
  const agreed = votes.filter((vote) => vote.verdict === 'APPROVE')
  // A person who has approved may still reject.
  expect(new Set(agreed.map((vote) => vote.by)).size, 'approvals by different people').toBe(agreed.length)
  for (const vote of votes) {
    const [person, key] = Object.entries(world.keys).find(([, one]) => one.id === vote.by)!
    const what = `${vote.verdict} of ${person} on ${JSON.stringify(approval)}`
    expect(requirement.excludeRequester && vote.by === approval.requestedBy, what).toBe(false)
    if (vote.verdict === 'APPROVE')
      for (const list of requirement.approvers) expect(list, what).toContain(key.role)
    const readings = model.read.get(`${approval.id}/${person as Person}`) ?? []
    expect(
      readings.some((reading) => covers(reading, vote, approval)),
      `${what}, who read ${JSON.stringify(readings)}`,
    ).toBe(true)
  }
  if (status === 'APPROVED') {
    expect(agreed.length, 'approvals').toBeGreaterThanOrEqual(requirement.quorum)
    expect(agreed.length).toBe(votes.length)
  }
  expect(
    votes.findIndex((vote) => vote.verdict === 'REJECT'),
    'a REJECT is the last vote',
  ).toBe(status === 'REJECTED' ? votes.length - 1 : -1)
}

function covers(reading: Reading, vote: Vote, approval: ApprovalRow): boolean {
  if (reading.verdict !== vote.verdict) return false
  if (vote.verdict === 'REJECT') return true
  return reading.amount === null
    ? reading.digest === approval.digest || reading.digest === null
    : reading.amount === approval.args.amount
}

/** A voided approval was reported once, and its call did not run under it: it has a new approval, or is settled. */
function checkVoided(approval: ApprovalRow, call: CallRow, ran: ReadonlySet<string>): void {
  const { reason, voidsTold } = approval
  const what = JSON.stringify({ approval, call })
  if (reason !== 'GENERATION_ENDED') expect(voidsTold, `times it was told: ${what}`).toBe(1)
  if (call.approvalId !== approval.id) return
  expect(ran.has(call.id), `it ran although its approval is void: ${what}`).toBe(false)
}

/** Rows that no worker would ever take. A run must have ended, or wait for an open call with a deadline. */
const unattended = (
  since: string,
) => `select g.id, g.status, g.epoch, g.wake_at, now() as now from generations g
  where finished_at is null and created_at >= '${since}' and not (status = 'WAITING' and wake_at is not null
    and exists (select 1 from tool_calls t left join approvals a on a.id = t.approval_id where t.generation_id = g.id and (
      (t.status = 'AWAITING_APPROVAL' and a.status = 'PENDING' and a.wake_at is not null)
      or (t.status = 'AWAITING_CLIENT' and t.deadline_at is not null))))
  union all select t.id, t.status, t.epoch, t.wake_at, now() from tool_calls t left join approvals a on a.id = t.approval_id
  where t.generation_id is null and t.created_at >= '${since}' and t.settled_at is null
    and not (t.status = 'AWAITING_APPROVAL' and a.status = 'PENDING' and a.wake_at is not null)`

/** Waits until each run has ended or waits for a person, and checks the outcomes. All replicas must be reachable. */
export async function checkAtRest(world: World, model: Model): Promise<void> {
  const patience = { timeout: 90_000, interval: 40 }
  await expect.poll(() => world.rows(unattended(model.since)), patience).toEqual([])
  // An outcome that is unknown, or not known to be unsent, is corrected soon after the replica is back.
  const doubtful = async () => {
    const { arrivals } = world.upstream
    const answered = new Map(arrivals.map((one) => [one.key, one.answer]))
    const calls = await checkNow(world, model)
    return calls.filter((call) => call.status === 'UNKNOWN' && answered.get(call.id) !== 'cut')
  }
  await expect
    .poll(doubtful, { ...patience, message: 'UNKNOWN calls that were not sent, or were answered' })
    .toEqual([])
  for (const [id, verdict] of model.acknowledged) {
    const [row] = await world.rows(`select status from approvals where id = '${id}'`)
    expect(
      verdict === 'REJECT' ? ['REJECTED'] : ['APPROVED', 'VOIDED'],
      `an acknowledged ${verdict}`,
    ).toContain(row!['status'])
  }
  for (const [id, value] of model.outputs) {
    const [row] = await world.rows(
      `select result->'content'->0->>'text' as text from tool_calls where id = '${id}'`,
    )
    expect(row!['text'], 'the output that was acknowledged').toBe(value)
  }
  for (const id of model.cancelled) {
    const [row] = await world.rows(
      `select finished_at is not null as ended from generations where id = '${id}'`,
    )
    expect(row, 'a run whose cancel was acknowledged has ended').toEqual({ ended: true })
  }
}

/** The feeds of all replicas contain exactly the log, in its order. Returns the number of events. */
export async function checkFeeds(world: World): Promise<number> {
  const missing = async () => {
    const [log] = await world.rows<{ n: number }>('select count(*)::int as n from events')
    return world.readers.map((reader) => log!.n - reader.told.length)
  }
  const none = world.readers.map(() => 0)
  await expect.poll(missing, { timeout: 90_000, message: 'events that a feed has not told' }).toEqual(none)
  const [first, ...others] = world.readers.map((reader) => reader.told.map((event) => event.cursor))
  expect(new Set(first).size, 'events told once').toBe(first!.length)
  for (const cursors of others) expect(cursors).toEqual(first)
  return first!.length
}
