/** A person answers a call with text in place of its tool, where every gate that stops it allows that. */
import { describe, expect, test } from 'vitest'
import { callRaw } from '../../support/bridge.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { adminKey } from '../../support/harness.ts'

const { h, fixtures, gate } = await useGateFixtures()

const open = { autoApprove: false, responses: true }
const mark = 'A person answered this call in place of the tool, which was not run:'
const words = 'Paid by cheque already.'
const contentOf = (text: string) => [
  { type: 'text', text: mark },
  { type: 'text', text },
]

async function asked(policy: object = open, more: object = {}) {
  const tool = await gate.gated(policy, more)
  const call = await gate.call(tool.id)
  const respond = (response: string, other: object = {}) =>
    gate.decide(call['approval'].id, 'REJECT', { response, ...other })
  return { tool, call, respond }
}

test('the text is the result, marked as the words of a person; nothing runs, and the vote keeps it', async () => {
  const { tool, call, respond } = await asked()
  expect((await respond(words))['approval']).toMatchObject({ status: 'REJECTED' })
  expect(await gate.toolCall(call['id'])).toMatchObject({
    status: 'REJECTED',
    isError: false,
    errorCode: null,
    content: contentOf(words),
  })
  expect(gate.paid(tool.name)).toEqual([])
  const { data } = await h.gql(
    'query($id: ID!) { approval(id: $id) { requirement { responses } decision { verdict response reason } } }',
    { id: call['approval'].id },
  )
  expect(data['approval']).toEqual({
    requirement: { responses: true },
    decision: { verdict: 'REJECT', response: words, reason: null },
  })
})

test('the model reads it, and the run goes on', async () => {
  const tool = await gate.gated(open)
  const id = await gate.ask(tool)
  const [{ id: approvalId }] = (await gate.pending(id)) as [{ id: string }]
  await gate.decide(approvalId, 'REJECT', { response: words })
  const done = await h.until(id, ['COMPLETED'], 'toolCalls { status isError content }')
  expect(done['toolCalls']).toEqual([{ status: 'REJECTED', isError: false, content: contentOf(words) }])
})

test('a caller over MCP and one over REST get it as a result', async () => {
  const tool = await gate.gated(open)
  const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
  const answer = callRaw(`${h.url}/mcp/${agentId}`, adminKey, tool.name, { amount: 5 })
  const [requested] = await gate
    .feed(['APPROVAL_REQUESTED'], '... on ApprovalRequestedEvent { approval { id toolName } }', (events) =>
      events.some(({ approval }) => approval.toolName === tool.name),
    )
    .then((events) => events.filter(({ approval }) => approval.toolName === tool.name))
  await gate.decide(requested!['approval'].id, 'REJECT', { response: words })
  expect((await answer).body['result']).toMatchObject({ content: contentOf(words), isError: false })

  const { call, respond, tool: direct } = await asked()
  await respond(words)
  const reply = await fetch(`${h.url}/api/v1/tools/${direct.id}/calls/${call['id']}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining(words)])
})

describe('it is refused, and the question waits on', () => {
  const refusedAt = async (
    { call, respond }: Awaited<ReturnType<typeof asked>>,
    response: string,
    more: object = {},
  ) => {
    const { code, issues } = await respond(response, more)
    expect((await gate.approval(call['approval'].id))['status']).toBe('PENDING')
    return [code, issues[0].path.join('.')]
  }

  test('where the gate does not allow it', async () => {
    expect(await refusedAt(await asked({ autoApprove: false }), words)).toEqual(['INVALID', 'input.response'])
  })

  test('where one of two gates does not allow it', async () => {
    const tool = await gate.gated(open)
    const id = await gate.ask(tool, { amount: 5 }, { gate: { autoApprove: false } })
    const [{ id: approvalId }] = (await gate.pending(id)) as [{ id: string }]
    const { code } = await gate.decide(approvalId, 'REJECT', { response: words })
    expect([code, (await gate.approval(approvalId))['status']]).toEqual(['INVALID', 'PENDING'])
  })

  test('beside an approval, a reason, or more than 20,000 characters', async () => {
    const { call } = await asked()
    const give = (verdict: 'APPROVE' | 'REJECT', more: object) =>
      gate.decide(call['approval'].id, verdict, more)
    const wrong = [
      await give('APPROVE', { response: words }),
      await give('REJECT', { response: words, reason: 'because' }),
      await give('REJECT', { response: 'x'.repeat(20_001) }),
    ]
    expect(wrong.map(({ code }) => code)).toEqual(['INVALID', 'INVALID', 'INVALID'])
    expect((await gate.approval(call['approval'].id))['status']).toBe('PENDING')
  })

  test('where it is no value of the output schema; one that fits is structured content', async () => {
    const outputSchema = objectSchema({ receipt: { type: 'string' } }, ['receipt'])
    const typed = await asked(open, { outputSchema })
    for (const response of [words, '{"receipt":1}', `{"receipt":${'['.repeat(600)}${']'.repeat(600)}}`])
      expect(await refusedAt(typed, response)).toEqual(['INVALID', 'input.response'])
    await typed.respond('{"receipt":"R-1"}')
    expect(await gate.toolCall(typed.call['id'])).toMatchObject({
      status: 'REJECTED',
      structuredContent: { receipt: 'R-1' },
      content: contentOf('{"receipt":"R-1"}'),
    })
  })
})
