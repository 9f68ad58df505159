/**
 * Approvals and client calls of child runs: requests appear at the root, and the responses reach the run that asked.
 */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { runtimeName } from '../../../src/domain/tools/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { asking, chainUnder, makeAgent, makeChain, untilAsked } from '../../support/nested-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const feed = `subscription($id: ID!) { generationEvents(generationId: $id) { type cursor generationId
  ... on ApprovalRequestedEvent { approval { id } descendantId }
  ... on ApprovalDecidedEvent { approval { id } descendantId }
  ... on ApprovalExpiredEvent { approval { id } descendantId }
  ... on ApprovalVoidedEvent { approval { id } descendantId }
  ... on RequiresActionEvent { toolCalls { id } descendantId }
  ... on ChildStartedEvent { childId descendantId agentId }
  ... on ChildEndedEvent { childId descendantId status } } }`

/** A chain of three whose last agent has this tool. */
async function chainTo(toolId: string, top: object = {}) {
  const chain = await makeChain(h, 3, (level) => ({
    ...(level === 3 ? { toolIds: [toolId] } : {}),
    ...(level === 1 ? top : {}),
  }))
  const start = (innermost: string) => fixtures.start(chain.agents[0]!.id, chain.prompt(innermost))
  return { ...chain, start }
}

const requested = (events: any[]) => events.find((event) => event.type === 'APPROVAL_REQUESTED')

test('a stopped call three levels down appears at the root: its feed, its status, its required action and the list', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const root = await (await chainTo(tool.id)).start(`call ${tool.name} {"amount":1}\nthen\nsay paid`)
  const heard = await h.collect(feed, { id: root }, (events) => Boolean(requested(events)))
  const waiting = await h.until(root, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
  const [, , third] = await chainUnder(h, root)
  const question = requested(heard)
  expect(question).toMatchObject({ generationId: root, descendantId: third!['id'] })
  expect(waiting['requiredAction'].approvals).toEqual([{ id: question.approval.id }])
  const listed = async (status: string) =>
    (await h.gql(`{ generations(filter: { statuses: [${status}] }, first: 100) { nodes { id } } }`)).data[
      'generations'
    ].nodes.map((node: { id: string }) => node.id)
  expect(await listed('AWAITING_APPROVAL')).toEqual(expect.arrayContaining([root, third!['id']]))
  expect(await listed('RUNNING')).not.toContain(root)
  expect(await listed('REQUIRES_ACTION')).not.toContain(root)
  await gate.decide(question.approval.id, 'APPROVE')
  await h.until(root, ['COMPLETED'])
  expect(gate.paid(tool.name)).toHaveLength(1)
  const whole = await h.collect(feed, { id: root })
  expect(whole.map((event) => event.type).filter((type) => /APPROVAL|CHILD/.test(type))).toEqual([
    'CHILD_STARTED',
    'CHILD_STARTED',
    'APPROVAL_REQUESTED',
    'APPROVAL_DECIDED',
    'CHILD_ENDED',
    'CHILD_ENDED',
  ])
  expect(whole.at(-1)!.type).toBe('GENERATION_COMPLETED')
  await expectGapless(root)
  const told = await h.collect(
    `subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED, CHILD_STARTED]) {
      type ... on ApprovalRequestedEvent { approval { id } } } }`,
    {},
    (events) => events.length >= 3,
  )
  expect(told.map((event) => event.type).toSorted(), 'the feed of the project tells each fact once').toEqual([
    'APPROVAL_REQUESTED',
    'CHILD_STARTED',
    'CHILD_STARTED',
  ])
})

test('an approval without a verdict expires three levels down, the root gets the event, the chain continues', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const root = await (await chainTo(tool.id)).start(`call ${tool.name} {"amount":1}\nthen\nsay not paid`)
  const { approval } = requested(await h.collect(feed, { id: root }, (events) => Boolean(requested(events))))
  await gate.bringForward(approval.id, 'expiry')
  expect(await h.until(root, ['COMPLETED'])).toMatchObject({ output: { text: 'back at 1' } })
  const whole = await h.collect(feed, { id: root })
  expect(whole.filter((event) => event.type === 'APPROVAL_EXPIRED')).toMatchObject([{ approval }])
  await expectGapless(root)
})

describe('outputs of client calls three levels down, submitted to the root', () => {
  test('are taken, repeated, refused and resumed by the rules of the generation that owns them', async () => {
    const root = await (
      await chainTo(fixtures.tools.ask)
    ).start('call ask {"word":"a"}\ncall ask {"word":"b"}\nthen\nsay thanks')
    const waiting = await untilAsked(h, root, 2)
    expect(waiting['status']).toBe('REQUIRES_ACTION')
    const [a, b] = waiting['requiredAction'].toolCalls.map((call: { id: string }) => call.id)
    const submit = (outputs: object[], more: object = {}) =>
      h.mutate(
        'submitToolOutputs',
        { generationId: root, outputs, ...more },
        'generation { id } outcomes { toolCallId status error { code } }',
      )
    const one = (toolCallId: string, output: string) => ({ toolCallId, output })
    expect(
      (await submit([one(a, '1'), one('call_nobody', 'x')], { atomic: true }))['outcomes'],
    ).toMatchObject([{ status: 'REFUSED' }, { status: 'REFUSED', error: { code: 'NOT_FOUND' } }])
    expect(await submit([one(a, '1')], { toolChoice: { mode: 'NONE' } })).toMatchObject({
      issues: [{ path: ['input', 'toolChoice'] }],
    })
    expect(await submit([one(a, '1')])).toMatchObject({
      generation: { id: root },
      outcomes: [{ toolCallId: a, status: 'ACCEPTED' }],
    })
    const twenty = await Promise.all(Array.from({ length: 20 }, () => submit([one(a, '1'), one(b, '2')])))
    const accepted = twenty
      .flatMap((answer) => answer['outcomes'] ?? [])
      .filter((o) => o.status === 'ACCEPTED')
    expect(accepted).toMatchObject([{ toolCallId: b }])
    expect((await submit([one(a, 'other')]))['__typename']).toMatch(/Payload|GenerationTerminalError/)
    expect(await h.until(root, ['COMPLETED'])).toMatchObject({ output: { text: 'back at 1' } })
    const [, , third] = await chainUnder(h, root, 'stepCount')
    expect(third).toMatchObject({ stepCount: 2, output: { text: 'thanks' } })
    await expectGapless(root)
  })
})

describe('rights', () => {
  test('a requester who may not start the agent gets forbidden, and the run continues without', async () => {
    const secret = await makeAgent(h, { name: 'secret agent' })
    const asker = await makeAgent(h, { name: 'asker of secrets', agentIds: [secret] })
    const policy = {
      statement: [
        { effect: 'Allow', action: ['*'], resource: ['*'] },
        { effect: 'Deny', action: ['generations:Start'], resource: [`agent/${secret}`] },
      ],
    }
    const key = await gate.key({ policy })
    const { data } = await h.gql('query($id: ID!) { agent(id: $id) { agents { name } } }', { id: asker })
    expect(data['agent'].agents).toEqual([{ name: 'secret agent' }])
    const prompt = asking(runtimeName(['secret agent']), 'hello', 'went on')
    const made = await h.mutate(
      'startGeneration',
      { agentId: asker, prompt },
      'generation { id }',
      key.secret,
    )
    const ended = await h.until(
      made['generation'].id,
      ['COMPLETED'],
      'toolCalls { status errorCode child { id } }',
    )
    expect(ended).toMatchObject({
      output: { text: 'went on' },
      toolCalls: [{ status: 'ERRORED', errorCode: 'forbidden', child: null }],
    })
  })

  test("the gate of the root's agent applies two levels down, also to an approver's edit", async () => {
    const tool = await gate.gated({ autoApprove: true })
    const strict = { when: { properties: { amount: { minimum: 100 } } }, quorum: 2 }
    const { start } = await chainTo(tool.id, { gate: strict })
    const root = await start(`call ${tool.name} {"amount":500}\nthen\nsay paid`)
    // The calls of the agents in between have no amount, which fits the schema too: each needs an approval.
    const decided: string[] = []
    const ask = async () => {
      const events = await h.collect(feed, { id: root }, (all) => Boolean(open(all)))
      const id = open(events).approval.id as string
      decided.push(id)
      return gate.approval(id)
    }
    const open = (events: any[]) =>
      events.find((event) => event.type === 'APPROVAL_REQUESTED' && !decided.includes(event.approval.id))
    const other = await gate.key({ role: 'APPROVER' })
    const names: string[] = []
    for (let i = 0; i < 3; i++) {
      const approval = await ask()
      names.push(approval['toolName'])
      expect(approval['requirement'].quorum).toBe(2)
      await gate.decide(approval['id'], 'APPROVE')
      const last = await gate.decide(approval['id'], 'APPROVE', {}, other.secret)
      expect(last['approval'].status).toBe('APPROVED')
    }
    expect(names[2]).toBe(tool.name)
    expect(await h.until(root, ['COMPLETED'])).toMatchObject({ output: { text: 'back at 1' } })
    expect(gate.paid(tool.name)).toHaveLength(1)
  })

  test('an edit two levels down is evaluated by the gates of all ancestors', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const strict = { when: { required: ['amount'], properties: { amount: { minimum: 100 } } }, quorum: 2 }
    const { start } = await chainTo(tool.id, { gate: strict })
    const root = await start(`call ${tool.name} {"amount":5}\nthen\nsay paid`)
    const { approval } = requested(
      await h.collect(feed, { id: root }, (events) => Boolean(requested(events))),
    )
    expect((await gate.approval(approval.id))['requirement'].quorum).toBe(1)
    const edited = await gate.decide(approval.id, 'APPROVE', { arguments: { amount: 500 } })
    expect(edited['approval']).toMatchObject({ status: 'PENDING', requirement: { quorum: 2 } })
    await gate.decide(approval.id, 'REJECT')
    await h.until(root, ['COMPLETED'])
  })

  test('a stopped call of an agent starts its child run when it is approved, and is asked about again when the agent changed', async () => {
    const worker = await makeAgent(h, { name: 'guarded' })
    const asker = await makeAgent(h, {
      name: 'asker of guarded',
      agentIds: [worker],
      gate: { autoApprove: false },
    })
    const root = await fixtures.start(asker, asking('guarded', 'say I was asked', 'and back'))
    const [first] = await gate.pending(root)
    expect(first).toMatchObject({ toolName: 'guarded', arguments: { message: 'say I was asked' } })
    expect((await chainUnder(h, root)).length).toBe(1)
    await h.mutate('updateAgent', { id: worker, instructions: 'changed' }, 'agent { id }')
    await gate.decide(first!['id'], 'APPROVE')
    const again = await h.collect(
      feed,
      { id: root },
      (events) => events.filter((event) => event.type === 'APPROVAL_REQUESTED').length === 2,
    )
    expect(await gate.approval(first!['id'])).toMatchObject({ status: 'VOIDED', voidReason: 'TOOL_CHANGED' })
    const second = again.findLast((event) => event.type === 'APPROVAL_REQUESTED').approval.id
    await gate.decide(second, 'APPROVE')
    expect(await h.until(root, ['COMPLETED'])).toMatchObject({ output: { text: 'and back' } })
    const runs = await chainUnder(h, root, 'toolCalls { askedAgent { name } tool { name } }')
    expect(runs.map((run) => run['output'].text)).toEqual(['and back', 'I was asked'])
    expect(runs[0]!['toolCalls']).toMatchObject([{ askedAgent: { name: 'guarded' }, tool: null }])
  })
})

async function expectGapless(id: string): Promise<void> {
  const rows = await query<{ last: number; n: number; top: number }>(
    h.app.services.db,
    sql`select g.last_seq as last, count(*)::int as n, max(e.seq) as top from generations g
      join events e on e.generation_id = g.id where g.id = ${id} or g.root_id = ${id} group by g.id, g.last_seq`,
  )
  expect(rows.length).toBeGreaterThan(1)
  for (const row of rows) expect(row).toEqual({ last: row.last, n: row.last, top: row.last })
}
