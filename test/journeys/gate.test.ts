/** The gate: a call stops, a human decides, and it runs in place, once; over GraphQL, as reviewers and agents see it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHarness, type Harness } from '../support/harness.ts'
import { makeCast, objectSchema, type Cast } from '../support/story.ts'

let h: Harness
let cast: Cast

beforeAll(async () => {
  h = await openHarness()
  cast = await makeCast(h)
})
afterAll(async () => {
  await cast?.close()
  await h?.stop()
})

let made = 0
/** A POST tool behind this gate. */
async function gated(gate: object | null, more: object = {}): Promise<{ id: string; name: string }> {
  const name = `pay_${++made}`
  const properties = {
    amount: { type: 'number' },
    to: { type: 'string' },
    pin: { type: 'string', writeOnly: true },
  }
  const config = {
    http: { url: `${cast.upstream.url}/${name}`, inputSchema: objectSchema(properties, ['amount']) },
  }
  const { tool, message } = await h.mutate('createTool', { name, gate, config, ...more }, 'tool { id }')
  if (!tool) throw new Error(message)
  return { id: tool.id, name }
}

const paid = (name: string) => cast.upstream.seen.filter((seen) => seen.url.startsWith(`/${name}`))
const approvalFields = `id status toolName arguments originalArguments requirement { timeoutSeconds quorum }
  decision { verdict byName at reason } toolCall { id status attempts { outcome idempotencyKey } } voidReason`

async function pending(generationId: string): Promise<Record<string, any>[]> {
  const waiting = await h.until(
    generationId,
    ['AWAITING_APPROVAL', 'REQUIRES_ACTION'],
    `requiredAction { approvals { ${approvalFields} } }`,
  )
  return waiting['requiredAction'].approvals
}

const decide = (approvalId: string, verdict: string, more: object = {}, key?: string) =>
  h.mutate('decideApproval', { approvalId, verdict, ...more }, `approval { ${approvalFields} }`, key)

test('an approved call runs in place, once, and its generation goes on', async () => {
  const { id: toolId, name } = await gated({ autoApprove: false })
  const id = await cast.start(
    await cast.agent({ toolIds: [toolId] }),
    `call ${name} {"amount": 5}\nthen\nsay done`,
  )
  const [approval] = await pending(id)
  expect(approval).toMatchObject({ status: 'PENDING', toolName: name, arguments: { amount: 5 } })
  expect(paid(name)).toHaveLength(0)
  const decided = await decide(approval!['id'], 'APPROVE', { reason: 'fine' })
  expect(decided['approval']).toMatchObject({
    status: 'APPROVED',
    decision: { verdict: 'APPROVE', reason: 'fine' },
  })
  const end = await h.until(
    id,
    ['COMPLETED'],
    'toolCalls { id status attempts { attempt outcome idempotencyKey startedAt endedAt } }',
  )
  expect(end['output'].text).toBe('done')
  expect(end['toolCalls']).toMatchObject([
    {
      status: 'SUCCEEDED',
      attempts: [{ attempt: 1, outcome: 'SUCCEEDED', idempotencyKey: end['toolCalls'][0].id }],
    },
  ])
  expect(paid(name)).toHaveLength(1)
})

test('a rejected call reaches the model as an error with the reason, and the model goes on', async () => {
  const { id: toolId, name } = await gated({ mode: 'ALWAYS' })
  const agent = await cast.agent({ toolIds: [toolId, cast.tools.look] })
  const id = await cast.start(agent, `call ${name} {"amount": 5}\ncall look {"word": "x"}\nthen\nsay went on`)
  const [approval] = await pending(id)
  await decide(approval!['id'], 'REJECT', { reason: 'too much' })
  const end = await h.until(
    id,
    ['COMPLETED'],
    'toolCalls { status errorCode isError structuredContent attempts { attempt } }',
  )
  expect(end['output'].text).toBe('went on')
  expect(end['toolCalls']).toMatchObject([
    { status: 'REJECTED', isError: true, errorCode: 'approval_rejected', attempts: [] },
    { status: 'SUCCEEDED' },
  ])
  expect(end['toolCalls'][0].structuredContent.error).toMatchObject({ reason: 'too much' })
  expect(paid(name)).toHaveLength(0)
})

test('a direct call behind the gate is answered as pending and runs after the approval', async () => {
  const { id: toolId, name } = await gated({ autoApprove: false })
  const called = await h.mutate(
    'callTool',
    { toolId, arguments: { amount: 1 } },
    'toolCall { id status approval { id status } }',
  )
  expect(called['toolCall']).toMatchObject({ status: 'AWAITING_APPROVAL', approval: { status: 'PENDING' } })
  const settled = h.collect(
    'subscription { projectEvents(types: [TOOL_CALL_SETTLED]) { ... on ToolCallSettledEvent { status toolCall { id } } } }',
    {},
    (events) => events.some((event) => event.toolCall.id === called['toolCall'].id),
  )
  await new Promise((resolve) => setTimeout(resolve, 50))
  await decide(called['toolCall'].approval.id, 'APPROVE')
  await settled
  const { data } = await h.gql(
    'query($id: ID!) { toolCall(id: $id) { status attempt attempts { outcome } } }',
    { id: called['toolCall'].id },
  )
  expect(data['toolCall']).toEqual({ status: 'SUCCEEDED', attempt: 1, attempts: [{ outcome: 'SUCCEEDED' }] })
  expect(paid(name)).toHaveLength(1)
})
