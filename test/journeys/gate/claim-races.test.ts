/** Claims and longer time on two replicas at the same instant: against each other, a verdict, and the deadline. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { gateFixtures, type GateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { holdRow } from '../../support/held-row.ts'
import { makeFixtures, type Fixtures } from '../../support/fixtures.ts'

describe.skipIf(!hasPostgres)('on two replicas', () => {
  let replicas: [Harness, Harness]
  let url: string
  let fixtures: Fixtures
  let gate: GateFixtures
  let keys: { secret: string; id: string }[]
  let drop = async () => {}

  beforeAll(async () => {
    const made = await postgresDatabase()
    drop = made.drop
    url = made.url
    replicas = [await openHarness({ databaseUrl: url }), await openHarness({ databaseUrl: url })]
    fixtures = await makeFixtures(replicas[0])
    gate = gateFixtures(replicas[0], fixtures)
    keys = await Promise.all(['Ann', 'Bob'].map((name) => gate.key({ name, role: 'APPROVER' })))
  })
  afterAll(async () => {
    await fixtures?.close()
    await Promise.all((replicas ?? []).map((one) => one.stop()))
    await drop()
  })

  const shown = 'approval { id status expiresAt claim { by } }'
  /** Sends the mutation by the replica and the person of this number. */
  const by = (n: number, name: string, input: object) =>
    replicas[n % 2]!.mutate(name, input, shown, keys[n % 2]!.secret)
  const asked = async (n: number) => {
    const tool = await gate.gated({ mode: 'ALWAYS' })
    return Promise.all(
      Array.from({ length: n }, async (_, i) => {
        const call = await gate.call(tool.id, { amount: i })
        return { id: call['approval'].id as string, callId: call['id'] as string, tool }
      }),
    )
  }
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
  const told = async (type: string, id: string) =>
    query(
      replicas[0].app.services.db,
      sql`select 1 from events where type = ${type} and data->>'approvalId' = ${id}`,
    )

  test('two claims: one holds, the other is told whose it is, and one event says so', async () => {
    for (const { id } of await asked(15)) {
      const answers = await Promise.all([0, 1].map((n) => by(n, 'claimApproval', { approvalId: id })))
      const winners = answers.filter((answer) => answer['approval'])
      expect(winners).toHaveLength(1)
      expect(answers.find((answer) => !answer['approval'])).toMatchObject({ __typename: 'ConflictError' })
      expect(await told('APPROVAL_CLAIMED', id)).toHaveLength(1)
    }
  })

  test('two extensions: the longer one holds, whichever comes first', async () => {
    for (const [i, { id }] of (await asked(15)).entries()) {
      const times = [inMinutes(30 + i), inMinutes(60 + i)]
      const answers = await Promise.all(
        times.map((until, n) => by(n + i, 'extendApproval', { approvalId: id, until })),
      )
      for (const answer of answers) expect(answer['approval']).toMatchObject({ status: 'PENDING' })
      expect((await gate.approval(id))['expiresAt']).toBe(times[1])
    }
  })

  test('an extension and a verdict: the verdict always counts, and the call runs once', async () => {
    const all = await asked(20)
    const answers = await Promise.all(
      all.map(({ id }, i) =>
        Promise.all([
          by(i, 'extendApproval', { approvalId: id, until: inMinutes(60) }),
          by(i + 1, 'decideApproval', { approvalId: id, verdict: 'APPROVE' }),
        ]),
      ),
    )
    for (const [extended, decided] of answers) {
      expect(decided!['approval']).toMatchObject({ status: 'APPROVED' })
      expect(['ApprovalPayload', 'ApprovalAlreadyDecidedError']).toContain(extended!['__typename'])
    }
    await Promise.all(all.map(({ callId }) => gate.untilCall(callId, ['SUCCEEDED'])))
    expect(gate.paid(all[0]!.tool.name)).toHaveLength(all.length)
  })

  test('an extension and the deadline: extended or expired, never both', async () => {
    const all = await asked(20)
    const answers = await Promise.all(
      all.map(async ({ id }, i) => {
        const [answer] = await Promise.all([
          by(i, 'extendApproval', { approvalId: id, until: inMinutes(60) }),
          gate.bringForward(id, 'expiry'),
        ])
        return answer
      }),
    )
    for (const [i, { id, callId }] of all.entries()) {
      const wasExtended = answers[i]!['__typename'] === 'ApprovalPayload'
      if (!wasExtended) {
        expect(answers[i]).toMatchObject({ __typename: 'ApprovalExpiredError' })
        expect(await told('APPROVAL_EXTENDED', id)).toHaveLength(0)
        await gate.untilCall(callId, ['EXPIRED'])
      } else expect(await told('APPROVAL_EXTENDED', id)).toHaveLength(1)
      const { status } = await gate.approval(id)
      const ended = (await told('APPROVAL_EXPIRED', id)).length
      expect([status, ended]).toEqual(status === 'PENDING' ? ['PENDING', 0] : ['EXPIRED', 1])
    }
  })

  test('a deadline that passes while the extension waits for a lock: the extension comes too late', async () => {
    const [one] = await asked(1)
    const held = await holdRow(url, 'tool_calls', one!.callId)
    const extending = by(0, 'extendApproval', { approvalId: one!.id, until: inMinutes(60) })
    await held.waiting(1, '%tool_calls%for update%')
    // The deadline passes; nobody can settle it while the row is held.
    await query(
      replicas[1].app.services.db,
      sql`update approvals set expires_at = clock_timestamp() where id = ${one!.id}`,
    )
    await held.release()
    expect(await extending).toMatchObject({ __typename: 'ApprovalExpiredError' })
    expect(await told('APPROVAL_EXTENDED', one!.id)).toHaveLength(0)
  })
})
