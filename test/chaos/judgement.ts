/** What must be true after chaos, read from the tables and from the journal of the external service. */
import { expect } from 'vitest'
import { decodeCursor } from '../../src/store/events/position.ts'
import { feedTypes, type Clients } from './clients.ts'
import type { Outside } from './outside.ts'

export type Rows = (text: string) => Promise<Record<string, any>[]>

/** Counts for a report, which show that faults did happen. */
export interface Tally {
  generations: number
  unknown: number
  retriedReads: number
  resets: number
  events: number
  approved: number
  rejected: number
  expired: number
}

/** Non-terminal generations that no worker would ever take. There must be none, at any moment. */
export const orphans = `select g.id, g.status from generations g where finished_at is null and wake_at is null
  and not exists (select 1 from tool_calls t where t.generation_id = g.id and t.status = 'AWAITING_CLIENT' and t.deadline_at is not null)`

/** Fails unless every guarantee held. */
export async function judge(
  rows: Rows,
  clients: Clients,
  outside: Outside,
  expected: number,
): Promise<Tally> {
  await judgeGenerations(rows, clients, expected)
  const calls = await judgeCalls(rows, clients, outside, expected)
  const approvals = await judgeApprovals(rows, clients, outside, expected)
  const events = await judgeEvents(rows, clients)
  expect(await rows(orphans)).toEqual([])
  const resets = await rows(`select 1 from events where type = 'STEP_RESET'`)
  return { generations: expected, ...calls, ...approvals, resets: resets.length, events }
}

async function judgeGenerations(rows: Rows, clients: Clients, expected: number): Promise<void> {
  const found = await rows(`select id, status, output_text as text, step_count as steps from generations`)
  const ids = new Set(found.map((row) => row['id']))
  expect(clients.started.size).toBe(expected)
  expect(
    [...clients.started.values()].filter((id) => !ids.has(id)),
    'acknowledged generations that were lost',
  ).toEqual([])
  // Each was requested repeatedly under one key, so a surplus would be a start that ran twice.
  expect(found).toHaveLength(expected)
  const numbers = new Map([...clients.started].map(([n, id]) => [id, n]))
  for (const row of found)
    expect(row).toMatchObject({
      status: 'COMPLETED',
      steps: 3,
      text: `this is the end of number ${numbers.get(row['id'])} and these are some more words`,
    })
  const steps =
    await rows(`select generation_id, count(*)::int as n, count(*) filter (where finish_reason = 'stop')::int as ends
    from steps group by 1 having count(*) <> 3 or count(*) filter (where finish_reason = 'stop') <> 1`)
  expect(steps, 'generations without exactly one last answer').toEqual([])
}

async function judgeCalls(rows: Rows, clients: Clients, outside: Outside, expected: number) {
  const all = await rows(
    `select id, runtime_name as name, status, error_code as code, attempt, arguments->>'about' as about, source from tool_calls`,
  )
  const calls = all.filter((call) => call['source'] === 'GENERATION')
  expect(calls).toHaveLength(expected * 5)
  const sent = new Map<string, number>()
  for (const { method, about } of outside.journal) count(sent, `${method} ${about}`)
  const charges = calls.filter((call) => call['name'] === 'charge')
  const doubled = [...sent].filter(([what, times]) => what.startsWith('POST') && times > 1)
  expect(doubled, 'calls that must not be repeated and were').toEqual([])
  for (const call of charges) {
    // A process that was paused between commit and request knows that it has sent nothing.
    const unsent = call['status'] === 'ERRORED' && call['code'] === 'not_sent'
    if (unsent) expect(sent.get(`POST ${call['about']}`) ?? 0, 'calls that were not sent').toBe(0)
    else expect(['SUCCEEDED', 'UNKNOWN']).toContain(call['status'])
    if (call['status'] === 'SUCCEEDED') expect(sent.get(`POST ${call['about']}`)).toBe(1)
    expect(call['attempt']).toBe(1)
  }
  const keys = new Map(all.map((call) => [call['id'], call['about']]))
  const foreign = outside.journal.filter((entry) => keys.get(entry.key) !== entry.about)
  expect(foreign, 'requests whose Idempotency-Key is not the id of their call').toEqual([])
  const others = calls.filter((call) => call['name'] === 'look' || call['name'] === 'ask')
  expect(others.filter((call) => call['status'] !== 'SUCCEEDED')).toEqual([])
  const asked = new Set(others.filter((call) => call['name'] === 'ask').map((call) => call['id']))
  expect(
    [...clients.answered].filter((id) => !asked.has(id)),
    'acknowledged outputs that were lost',
  ).toEqual([])
  return {
    unknown: charges.filter((call) => call['status'] === 'UNKNOWN').length,
    retriedReads: others.filter((call) => call['attempt'] > 1).length,
  }
}

/**
 * Each approval has one outcome, reported once; an approved call ran at most once, and exactly once unless it is
 * UNKNOWN.
 */
async function judgeApprovals(rows: Rows, clients: Clients, outside: Outside, expected: number) {
  const found =
    await rows(`select a.id, a.status, t.id as "callId", t.error_code as code, case when t.error_code = 'not_sent' then 'NOT_SENT' else t.status end as call, t.attempt, t.arguments->>'about' as about,
      (select count(*)::int from events e where e.data->>'approvalId' = a.id
        and e.type in ('APPROVAL_DECIDED', 'APPROVAL_EXPIRED')) as told
    from approvals a join tool_calls t on t.approval_id = a.id`)
  expect(found).toHaveLength(expected)
  const calls: Record<string, string[]> = {
    APPROVED: ['SUCCEEDED', 'UNKNOWN', 'NOT_SENT'],
    REJECTED: ['REJECTED'],
    EXPIRED: ['EXPIRED'],
  }
  for (const one of found) {
    expect(calls[one['status']], `${one['id']} ${one['status']}`).toContain(one['call'])
    expect(one['told'], 'outcomes told').toBe(1)
    const sent = outside.journal.filter((entry) => entry.about === one['about']).length
    if (one['call'] === 'SUCCEEDED') expect(sent, 'executions of an approved call').toBe(1)
    else
      expect(sent, `executions of ${JSON.stringify(one)}`).toBeLessThanOrEqual(
        one['call'] === 'UNKNOWN' ? 1 : 0,
      )
  }
  const status = new Map(found.map((one) => [one['id'], one['status']]))
  for (const [id, verdict] of clients.decided)
    expect(status.get(id), 'an acknowledged verdict').toBe(verdict === 'APPROVE' ? 'APPROVED' : 'REJECTED')
  const n = (wanted: string) => found.filter((one) => one['status'] === wanted).length
  return { approved: n('APPROVED'), rejected: n('REJECTED'), expired: n('EXPIRED') }
}

async function judgeEvents(rows: Rows, clients: Clients): Promise<number> {
  const broken = await rows(`select g.id, g.last_seq, count(*)::int as n, min(seq) as first, max(seq) as last,
      count(*) filter (where type = 'GENERATION_COMPLETED')::int as completions,
      count(*) filter (where type = 'GENERATION_COMPLETED' and seq = last_seq)::int as closing
    from generations g join events e on e.generation_id = g.id group by 1, 2
    having count(*) <> last_seq or min(seq) <> 1 or max(seq) <> last_seq or count(distinct seq) <> count(*)
      or count(*) filter (where type = 'GENERATION_COMPLETED' and seq = last_seq) <> 1
      or count(*) filter (where type = 'GENERATION_COMPLETED') <> 1`)
  expect(broken, 'generations whose events are not 1 to N with one completion at the end').toEqual([])
  expect(await rows('select id from events where position is null')).toEqual([])
  const cursors = clients.feed.map((event) => event.cursor)
  await judgeFeed(rows, cursors, `type in (${feedTypes.map((type) => `'${type}'`).join(', ')})`)
  const [all] = await rows('select count(*)::int as n from events')
  return all!['n']
}

/** What a subscriber to these events of the feed was told, against the log: all of them, once, in order. */
export async function judgeFeed(rows: Rows, cursors: readonly string[], events = 'true'): Promise<void> {
  const log = await rows(`select id::float8 as id, position::float8 as position from events
    where ${events} and not data ? 'descendantId' order by position`)
  const told = cursors.map((cursor) => {
    const { id, position } = decodeCursor(cursor)
    return { id, position }
  })
  expect(told, 'the feed as it was told, against the log').toEqual(log)
}

function count(into: Map<string, number>, key: string): void {
  into.set(key, (into.get(key) ?? 0) + 1)
}
