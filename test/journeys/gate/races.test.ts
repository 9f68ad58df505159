/** Many requests at the same instant: cancels and verdicts, and the uses of a grant; on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GateFixtures } from '../../support/gate-fixtures.ts'
import { gateDatabases, openGateOn, type GateOn } from '../../support/gate-on.ts'
import type { Harness } from '../../support/harness.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { objectSchema, type Fixtures } from '../../support/fixtures.ts'

describe.each(gateDatabases)('on %s', (database, answers) => {
  let h: Harness
  let fixtures: Fixtures
  let gate: GateFixtures
  let slow: Loopback
  let release: () => void
  let opened: GateOn | undefined

  beforeAll(async () => {
    if (!answers) return
    const held: (() => void)[] = []
    release = () => held.splice(0).forEach((answer) => answer())
    slow = await startLoopback((_request, response) => void held.push(() => response.end('late')))
    opened = await openGateOn(database)
    ;({ h, fixtures, gate } = opened)
  })
  afterAll(async () => {
    await slow?.close()
    await opened?.close()
  })

  /** Events of a generation until there is one of this kind. */
  const events = (id: string, type: RegExp) =>
    h.collect(
      `subscription($id: ID!) { generationEvents(generationId: $id) { type
        ... on ToolCallSettledEvent { name status } ... on ApprovalRequestedEvent { approval { id } } } }`,
      { id },
      (all) => all.some((event) => type.test(event.type)),
    )

  test.skipIf(!answers)(
    'a cancel and a verdict: every call has one outcome, and the events say the same',
    async () => {
      const paid = await gate.gated({ autoApprove: false })
      const config = { http: { url: `${slow.url}/slow`, inputSchema: objectSchema({}) } }
      const late = (await h.mutate('createTool', { name: 'slow', config }, 'tool { id }'))['tool']
      const agentId = await fixtures.agent({ toolIds: [paid.id, late.id] })
      const prompt = `call slow {}\ncall ${paid.name} {"amount": 1}`
      const ids = await Promise.all(Array.from({ length: 24 }, () => fixtures.start(agentId, prompt)))
      const approvals = await Promise.all(
        ids.map(async (id) => (await events(id, /APPROVAL_REQUESTED/)).at(-1).approval.id as string),
      )
      while (slow.seen.length < ids.length) await new Promise((resolve) => setImmediate(resolve))
      release()
      await Promise.all(
        ids.flatMap((generationId, i) => [
          h.mutate('cancelGeneration', { generationId }, 'generation { id }'),
          gate.decide(approvals[i]!, i % 2 ? 'APPROVE' : 'REJECT'),
        ]),
      )
      for (const [i, id] of ids.entries()) {
        const end = await h.until(id, ['CANCELLED', 'COMPLETED'], 'toolCalls { name status }')
        const { status } = end['toolCalls'].find((call: { name: string }) => call.name === paid.name)
        const told = await events(id, /GENERATION_(CANCELLED|COMPLETED)/)
        const settled = told.filter((event) => event.type === 'TOOL_CALL_SETTLED' && event.name === paid.name)
        expect(settled, id).toEqual([{ type: 'TOOL_CALL_SETTLED', name: paid.name, status }])
        const outcomes = told.filter((event) => /APPROVAL_(DECIDED|VOIDED)/.test(event.type))
        const { status: approval } = await gate.approval(approvals[i]!)
        expect(outcomes.map((event) => event.type)).toEqual([
          approval === 'VOIDED' ? 'APPROVAL_VOIDED' : 'APPROVAL_DECIDED',
        ])
        if (status === 'REJECTED') expect(approval).toBe('REJECTED')
      }
    },
  )

  test.skipIf(!answers)(
    'fifty calls on a grant of seven uses: seven pass, the others need an approval',
    async () => {
      const tool = await gate.gated({ autoApprove: false })
      const first = await gate.call(tool.id)
      const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 600, maxUses: 7 }
      await gate.decide(first['approval'].id, 'APPROVE', { grant })
      await gate.untilCall(first['id'], ['SUCCEEDED'])
      const calls = await Promise.all(Array.from({ length: 50 }, (_, i) => gate.call(tool.id, { amount: i })))
      const statuses = calls.map((call) => call['status'])
      expect(statuses.filter((status) => status === 'SUCCEEDED')).toHaveLength(7)
      expect(statuses.filter((status) => status === 'AWAITING_APPROVAL')).toHaveLength(43)
      expect(gate.paid(tool.name)).toHaveLength(8)
      const { data } = await h.gql('query($id: ID) { grants(toolId: $id) { nodes { id uses maxUses } } }', {
        id: tool.id,
      })
      expect(data['grants'].nodes).toMatchObject([{ uses: 7, maxUses: 7 }])
      const passed = calls.filter((call) => call['status'] === 'SUCCEEDED')
      expect(passed.map((call) => call['grant'].id)).toEqual(passed.map(() => data['grants'].nodes[0].id))
    },
  )

  test.skipIf(!answers)(
    'fifty generations on a grant of their agent: never more uses than allowed',
    async () => {
      const tool = await gate.gated({ autoApprove: false })
      const agentId = await fixtures.agent({ toolIds: [tool.id] })
      const ask = (n: number) => fixtures.start(agentId, `call ${tool.name} {"amount": ${n}}\nthen\nsay done`)
      const [approval] = await gate.pending(await ask(0))
      const grant = { scope: 'TOOL', holder: 'AGENT', expiresInSeconds: 600, maxUses: 9 }
      await gate.decide(approval!['id'], 'APPROVE', { grant })
      const ids = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(i + 1)))
      const ends = await Promise.all(ids.map((id) => h.until(id, ['COMPLETED', 'AWAITING_APPROVAL'])))
      expect(ends.filter((end) => end['status'] === 'COMPLETED')).toHaveLength(9)
      expect(gate.paid(tool.name)).toHaveLength(10)
    },
  )

  test.skipIf(!answers)(
    'verdicts, outputs, expiry and slow siblings at the same time: every run ends, every approved call ran once',
    async () => {
      const [one, two, three] = [await gate.gated({}), await gate.gated({}), await gate.gated({})]
      const config = { http: { url: `${fixtures.upstream.url}/quick`, inputSchema: objectSchema({}) } }
      const quick = (await h.mutate('createTool', { name: 'quick', config }, 'tool { id }'))['tool']
      const toolIds = [one.id, two.id, three.id, quick.id, fixtures.tools.ask]
      const agentId = await fixtures.agent({ toolIds })
      const gatedCalls = [one, two, three].map(({ name }) => `call ${name} {"amount": 1}`).join('\n')
      const prompt = `${gatedCalls}\ncall quick {}\ncall ask {"word": "x"}\nthen\nsay done`
      const runs = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const id = await fixtures.start(agentId, prompt)
          await events(id, /REQUIRES_ACTION/)
          const open = await h.until(
            id,
            ['RUNNING', 'REQUIRES_ACTION'],
            'requiredAction { toolCalls { id } approvals { id toolName } }',
          )
          return { id, ...open['requiredAction'] }
        }),
      )
      const of = (run: any, name: string) =>
        run.approvals.find((approval: { toolName: string }) => approval.toolName === name).id as string
      await Promise.all(
        runs.flatMap((run) => [
          gate.decide(of(run, one.name), 'APPROVE'),
          gate.decide(of(run, two.name), 'REJECT'),
          gate.bringForward(of(run, three.name), 'expiry'),
          h.mutate(
            'submitToolOutputs',
            { generationId: run.id, outputs: [{ toolCallId: run.toolCalls[0].id, output: 'x' }] },
            'generation { id }',
          ),
        ]),
      )
      for (const { id } of runs) {
        const end = await h.until(id, ['COMPLETED', 'FAILED'], 'toolCalls { status }')
        expect(end).toMatchObject({ status: 'COMPLETED', stepCount: 2 })
        expect(end['toolCalls'].map((call: { status: string }) => call.status)).toEqual([
          'SUCCEEDED',
          'REJECTED',
          'EXPIRED',
          'SUCCEEDED',
          'SUCCEEDED',
        ])
      }
      const ran = [one, two, three].map(({ name }) => gate.paid(name).length)
      expect(ran).toEqual([runs.length, 0, 0])
    },
  )
})
