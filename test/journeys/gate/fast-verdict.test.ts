/** A verdict alone is written at once, one of several under the locks: on the same cases both come to the same. */
import { sql } from 'drizzle-orm'
import { afterAll, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { aroundStatements } from '../../support/around-statements.ts'

type Shown = Record<string, any>
interface Case {
  gate?: object
  verdict?: 'APPROVE' | 'REJECT'
  more?: object
  /** The call belongs to a run. */
  inRun?: boolean
  before?: (approvalId: string) => Promise<unknown>
  /** What both ways come to. */
  comesTo: string
}

const { h, gate } = await useGateFixtures()
const fast: string[] = []
const one = await gate.key({ role: 'APPROVER' })
const two = await gate.key({ role: 'APPROVER' })
const stop = aroundStatements(h.app.services.db, ({ text, params, execute }) => {
  if (text.startsWith('with o as') && text.includes('update approvals')) fast.push(...params.map(String))
  return execute()
})
afterAll(() => stop())

const run = (text: ReturnType<typeof sql>) => query<Shown>(h.app.services.db, text)
const expire = (id: string) => run(sql`update approvals set expires_at = now() where id = ${id}`)

const cases: Record<string, Case> = {
  'an approval': { more: { note: 'fine' }, comesTo: 'APPROVED' },
  'an approval in a run': { inRun: true, comesTo: 'APPROVED' },
  'a rejection': { verdict: 'REJECT', more: { reason: 'too much', note: 'again' }, comesTo: 'REJECTED' },
  'a rejection in a run': { verdict: 'REJECT', inRun: true, comesTo: 'REJECTED' },
  'a response': {
    gate: { responses: true },
    verdict: 'REJECT',
    more: { response: 'It is paid.' },
    comesTo: 'REJECTED',
  },
  'the first vote of two': { gate: { quorum: 2 }, comesTo: 'PENDING' },
  'the second vote of two': {
    gate: { quorum: 2 },
    inRun: true,
    before: (id) => gate.decide(id, 'APPROVE', {}, two.secret),
    comesTo: 'APPROVED',
  },
  'a second vote of the same person': {
    gate: { quorum: 2 },
    before: (id) => gate.decide(id, 'APPROVE', {}, one.secret),
    comesTo: 'CONFLICT',
  },
  'a response that no gate allows': {
    verdict: 'REJECT',
    more: { response: 'It is paid.' },
    comesTo: 'INVALID',
  },
  'another digest': { more: { expectedDigest: 'sha256:another' }, comesTo: 'CONFLICT' },
  'a decided approval': { before: (id) => gate.decide(id, 'REJECT'), comesTo: 'APPROVAL_ALREADY_DECIDED' },
  'an approval whose time is over': { before: expire, comesTo: 'APPROVAL_EXPIRED' },
}

test.each(Object.entries(cases))('%s', async (_name, given) => {
  const alone = await outcomeOf(given, 'alone')
  expect(alone).toEqual(await outcomeOf(given, 'under the locks'))
  expect(alone['status'] ?? alone['code']).toBe(given.comesTo)
})

async function outcomeOf(given: Case, way: 'alone' | 'under the locks'): Promise<Shown> {
  const { verdict = 'APPROVE', more = {}, before } = given
  const tool = await gate.gated(given.gate ?? {})
  const runId = given.inRun ? await gate.ask(tool) : null
  const asked = runId ? (await gate.pending(runId))[0]! : (await gate.call(tool.id))['approval']
  const id = asked['id'] as string
  await before?.(id)
  fast.length = 0
  const refused =
    way === 'alone' ? await gate.decide(id, verdict, more, one.secret) : await besideAnother(id, given)
  expect(fast.includes(id)).toBe(way === 'alone' && !refused['code'])
  if (refused['code']) return { code: refused['code'], message: plain(refused['message']) }
  if (runId && given.comesTo !== 'PENDING') await h.until(runId, ['COMPLETED'])
  const { toolCall, votes, status } = await gate.approval(id)
  if (status === 'APPROVED' && !runId) await gate.untilCall(toolCall.id, ['SUCCEEDED'])
  const call = await gate.toolCall(toolCall.id)
  const events = await run(sql`select type from events where data->>'toolCallId' = ${toolCall.id}`)
  const entries = await run(
    sql`select principal_id as by, details - 'approvalId' - 'toolCallId' as details from audit_entries
      where details->>'approvalId' = ${id} order by created_at`,
  )
  return {
    status,
    votes: votes.map(({ at: _at, ...vote }: Shown) => vote),
    call: [call['status'], call['errorCode'], plain(call['structuredContent']), plain(call['content'])],
    sent: gate.paid(tool.name).length,
    events: events.map(({ type }) => type).toSorted(),
    entries,
  }
}

/** In a batch with a verdict about another call, which changes nothing about this one. */
async function besideAnother(approvalId: string, { verdict = 'APPROVE', more = {} }: Case) {
  const other = (await gate.call((await gate.gated({})).id))['approval'].id
  const decisions = [
    { approvalId, verdict, ...more },
    { approvalId: other, verdict: 'REJECT' },
  ]
  return h.mutate('decideApprovals', { decisions, atomic: true }, 'outcomes { approvalId }', one.secret)
}

/** Without what differs from call to call. */
function plain(value: unknown): string {
  return JSON.stringify(value ?? null)
    .replace('input.decisions.0', 'input')
    .replaceAll(/\w+_[\w]{8,}|pay_\d+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…')
}
