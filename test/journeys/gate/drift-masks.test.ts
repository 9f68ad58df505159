/** An argument that a tool marks as secret is hidden from then on, also in earlier approvals and calls, and stays so. */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { objectSchema } from '../../support/fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const secret = { type: 'string', writeOnly: true }
const change = (tool: { id: string; name: string }, properties: object) =>
  h.mutate(
    'updateTool',
    {
      id: tool.id,
      config: {
        http: { url: `${fixtures.upstream.url}/${tool.name}`, inputSchema: objectSchema(properties) },
      },
    },
    'tool { version }',
  )

test.each([
  ['asked about again', { amount: { type: 'number' }, to: secret }, 'AWAITING_APPROVAL'],
  ['refused because it does not fit any more', { amount: { type: 'string' }, to: secret }, 'ERRORED'],
])('when a direct call is %s', async (_what, properties, status) => {
  const tool = await gate.gated({ autoApprove: false })
  const { id, approval } = await gate.call(tool.id, { amount: 5, to: 'account 7' })
  await change(tool, properties)
  await gate.decide(approval.id, 'APPROVE', { arguments: { amount: 6, to: 'account 8' } })
  const types = '[APPROVAL_VOIDED]'
  await h.collect(
    `subscription { projectEvents(after: "0", types: ${types}) { ... on ApprovalVoidedEvent { approval { id } } } }`,
    {},
    (events) => events.some((event) => event.approval.id === approval.id),
  )
  const call = await gate.untilCall(id, [status])
  const old = await gate.approval(approval.id)
  expect(old).toMatchObject({ status: 'VOIDED' })
  expect(JSON.stringify([call, old])).not.toMatch(/account [78]/)
  expect(call['arguments']).toEqual({ amount: 6, to: '[masked]' })
})

test('when a call of a run is asked about again', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const id = await gate.ask(tool, { amount: 5, to: 'account 7' })
  const [approval] = await gate.pending(id)
  await change(tool, { amount: { type: 'number' }, to: secret })
  await gate.decide(approval!['id'], 'APPROVE')
  await h.collect(
    'subscription($id: ID!) { generationEvents(generationId: $id) { type } }',
    { id },
    (events) => events.filter(({ type }) => type === 'APPROVAL_REQUESTED').length === 2,
  )
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { toolCalls { arguments } } }', { id })
  expect(data['generation'].toolCalls).toEqual([{ arguments: { amount: 5, to: '[masked]' } }])
  expect(JSON.stringify(await gate.approval(approval!['id']))).not.toContain('account 7')
})

test('what was hidden when the call was asked for stays so when the tool does not mark it any more', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const { id, approval } = await gate.call(tool.id, { amount: 5, pin: '7321' })
  await change(tool, { amount: { type: 'number' }, pin: { type: 'string' } })
  await gate.decide(approval.id, 'APPROVE')
  await expect.poll(() => gate.approval(approval.id)).toMatchObject({ voidReason: 'TOOL_CHANGED' })
  expect((await gate.approval(approval.id))['arguments']).toEqual({ amount: 5, pin: '[masked]' })
  expect((await gate.toolCall(id))['arguments']).toEqual({ amount: 5, pin: '[masked]' })
})
