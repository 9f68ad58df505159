/** Programs that ask before they run a call themselves: an ALLOW is given once, and what became of it is told or unknown. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { policyOfRole } from '../../src/domain/access/index.ts'
import { answerQuestion } from '../../src/domain/calls/index.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await openHarness()
})
afterAll(() => h.stop())

let made = 0
const always = { mode: 'ALWAYS', timeoutSeconds: 600 }
async function shell(gate: object | null = always): Promise<string> {
  const inputSchema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
  const input = { name: `shell_${made++}`, config: { client: { inputSchema } }, ...(gate ? { gate } : {}) }
  return (await h.mutate('createTool', input, 'tool { id }'))['tool'].id
}
const fields = 'answer reason toolCall { id status arguments attempt approval { id status } }'
/** Asks about the call that the program has given this number. */
const ask = (
  toolId: string,
  { use = 1, ...more }: { use?: number } & Record<string, unknown> = {},
  key?: string,
) =>
  h.mutate(
    'askPermission',
    { toolId, arguments: { command: 'rm -r build' }, idempotencyKey: `${toolId} ${use}`, ...more },
    fields,
    key,
  )
const decide = (approvalId: string, verdict: string, more: object = {}) =>
  h.mutate('decideApproval', { approvalId, verdict, ...more }, 'approval { status }')
const report = (toolCallId: string, more: object = {}, key?: string) =>
  h.mutate('reportToolCall', { toolCallId, output: 'done', ...more }, 'toolCall { status }', key)
const statusOf = async (id: string) => {
  const { data } = await h.gql(
    'query($id: ID!) { toolCall(id: $id) { status attempt errorCode attempts { outcome } } }',
    { id },
  )
  return data['toolCall']
}
/** The row of the call is due now, as it would be when its time is over. */
const makeDue = (id: string) =>
  query(
    h.app.services.db,
    sql`update tool_calls set wake_at = now(), deadline_at = now() where id = ${id} returning id`,
  )

test('what no gate stops is allowed at once, and once', async () => {
  const toolId = await shell(null)
  const first = await ask(toolId)
  expect(first).toMatchObject({
    answer: 'ALLOW',
    reason: null,
    toolCall: { status: 'EXECUTING', attempt: 1 },
  })
  const again = await ask(toolId)
  expect(again).toMatchObject({ answer: 'DENY', toolCall: { id: first['toolCall'].id } })
  expect(again['reason']).toContain('given once')
  expect(await report(first['toolCall'].id)).toMatchObject({ toolCall: { status: 'SUCCEEDED' } })
  expect(await report(first['toolCall'].id)).toMatchObject({ toolCall: { status: 'SUCCEEDED' } })
  expect(await report(first['toolCall'].id, { isError: true })).toMatchObject({ code: 'CONFLICT' })
  expect(await ask(toolId)).toMatchObject({ answer: 'DENY' })
  // Another call of the program, and other arguments under the same name.
  expect(await ask(toolId, { use: 2 })).toMatchObject({ answer: 'ALLOW' })
  expect(await ask(toolId, { arguments: { command: 'ls' } })).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
})

test('a person decides, and may edit: the program waits, comes back, and gets what was approved', async () => {
  const toolId = await shell()
  const first = await ask(toolId)
  expect(first).toMatchObject({ answer: 'WAIT', reason: null, toolCall: { status: 'AWAITING_APPROVAL' } })
  const approvalId = first['toolCall'].approval.id
  expect(await ask(toolId)).toMatchObject({ answer: 'WAIT', toolCall: { approval: { id: approvalId } } })
  await decide(approvalId, 'APPROVE', { arguments: { command: 'rm -r build/tmp' } })
  const allowed = await ask(toolId)
  expect(allowed).toMatchObject({
    answer: 'ALLOW',
    toolCall: { id: first['toolCall'].id, arguments: { command: 'rm -r build/tmp' }, attempt: 1 },
  })
  expect(await ask(toolId)).toMatchObject({ answer: 'DENY' })
  const failed = await report(first['toolCall'].id, { isError: true, output: 'no such directory' })
  expect(failed).toMatchObject({ toolCall: { status: 'ERRORED' } })
})

test('a request that waits learns of the verdict; one of two at once gets it, however often', async () => {
  for (let round = 0; round < 8; round++) {
    const toolId = await shell()
    const first = await ask(toolId)
    const waiting = Promise.all([1, 2, 3].map(() => ask(toolId, { waitSeconds: 30 })))
    await decide(first['toolCall'].approval.id, 'APPROVE')
    const answers = (await waiting).map(({ answer }) => answer)
    expect(answers.filter((answer) => answer === 'ALLOW')).toHaveLength(1)
    expect(await statusOf(first['toolCall'].id)).toMatchObject({ status: 'EXECUTING', attempt: 1 })
  }
})

test('a rejection is told with its reason, and so is an answer in place of the call', async () => {
  const toolId = await shell({ ...always, responses: true })
  const first = await ask(toolId)
  await decide(first['toolCall'].approval.id, 'REJECT', { reason: 'not the build folder' })
  const denied = await ask(toolId)
  expect(denied).toMatchObject({ answer: 'DENY', toolCall: { status: 'REJECTED', attempt: 0 } })
  expect(denied['reason']).toContain('not the build folder')
  const other = await ask(toolId, { use: 2 })
  await decide(other['toolCall'].approval.id, 'REJECT', { response: 'The folder is empty already.' })
  const answered = await ask(toolId, { use: 2 })
  expect(answered).toMatchObject({ answer: 'DENY' })
  expect(answered['reason']).toContain('The folder is empty already.')
})

test('a tool that changed after the approval is asked about again', async () => {
  const toolId = await shell()
  const first = await ask(toolId)
  await decide(first['toolCall'].approval.id, 'APPROVE')
  const inputSchema = {
    type: 'object',
    properties: { command: { type: 'string' }, host: { type: 'string' } },
    required: ['command'],
  }
  await h.mutate('updateTool', { id: toolId, config: { client: { inputSchema } } }, 'tool { id }')
  const again = await ask(toolId)
  expect(again).toMatchObject({ answer: 'WAIT', toolCall: { status: 'AWAITING_APPROVAL' } })
  expect(again['toolCall'].approval.id).not.toBe(first['toolCall'].approval.id)
})

test('a pause holds what is allowed, before the verdict and after it', async () => {
  const [open, gated] = [await shell(null), await shell()]
  const asked = await ask(gated)
  await decide(asked['toolCall'].approval.id, 'APPROVE')
  const { viewer } = (await h.gql('{ viewer { project { id } } }')).data
  const { pause } = await h.mutate('pause', { projectId: viewer.project.id }, 'pause { id }')
  expect(await ask(open)).toMatchObject({ answer: 'WAIT' })
  expect(await ask(gated)).toMatchObject({ answer: 'WAIT' })
  await h.mutate('resume', { pauseId: pause.id }, 'pause { id }')
  await expect.poll(async () => (await ask(open))['answer']).toBe('ALLOW')
  await expect.poll(async () => (await ask(gated))['answer']).toBe('ALLOW')
})

describe('who says nothing more', () => {
  test('a permission that was taken and not reported is UNKNOWN, and a late report settles it', async () => {
    const toolId = await shell(null)
    const { id } = (await ask(toolId))['toolCall']
    await makeDue(id)
    await expect.poll(async () => (await statusOf(id)).status).toBe('UNKNOWN')
    expect(await ask(toolId)).toMatchObject({ answer: 'DENY' })
    const again = { toolCallId: id, outcome: 'RUN_AGAIN' }
    expect(await h.mutate('resolveUnknownCall', again, 'toolCall { id }')).toMatchObject({
      issues: [{ path: ['input', 'outcome'] }],
    })
    expect(await report(id)).toMatchObject({ toolCall: { status: 'SUCCEEDED' } })
    expect(await statusOf(id)).toMatchObject({ attempt: 1, attempts: [{ outcome: 'SUCCEEDED' }] })
  })

  test('an approved call is kept for its program, and ends unrun when its time is over', async () => {
    const toolId = await shell()
    const { id, approval } = (await ask(toolId))['toolCall']
    await decide(approval.id, 'APPROVE')
    const deadline = async () => {
      const { data } = await h.gql('query($id: ID!) { toolCall(id: $id) { status deadlineAt } }', { id })
      return data['toolCall']
    }
    await expect.poll(async () => (await deadline()).deadlineAt).toBeTruthy()
    expect(await deadline()).toMatchObject({ status: 'APPROVED' })
    await makeDue(id)
    await expect.poll(async () => (await statusOf(id)).status).toBe('ERRORED')
    expect(await statusOf(id)).toMatchObject({ errorCode: 'client_timeout', attempt: 0 })
    expect(await ask(toolId)).toMatchObject({ answer: 'DENY' })
  })
})

test('another key neither reports nor takes what is not its own, and tools of the server are refused', async () => {
  const toolId = await shell()
  const first = await ask(toolId)
  await decide(first['toolCall'].approval.id, 'APPROVE')
  const { secret } = await h.mutate('createApiKey', { name: 'other', role: 'CALLER' }, 'secret')
  const own = await ask(toolId, {}, secret)
  expect(own['toolCall'].id).not.toBe(first['toolCall'].id)
  expect(own).toMatchObject({ answer: 'WAIT' })
  expect(await ask(toolId)).toMatchObject({ answer: 'ALLOW' })
  expect(await report(first['toolCall'].id, {}, secret)).toMatchObject({ code: 'NOT_FOUND' })
  expect(await report(own['toolCall'].id, {}, secret)).toMatchObject({ code: 'CONFLICT' })
  const config = { http: { url: 'https://example.com', inputSchema: { type: 'object' } } }
  const { tool } = await h.mutate('createTool', { name: 'remote', config }, 'tool { id }')
  const refused = await ask(tool.id, { arguments: {} })
  expect(refused).toMatchObject({ issues: [{ path: ['input', 'toolId'] }] })
  expect(
    await h.mutate('callTool', { toolId, arguments: { command: 'ls' } }, 'toolCall { id }', adminKey),
  ).toMatchObject({
    issues: [{ path: ['input', 'toolId'] }],
  })
})

test('a program that has gone before it is answered has not run its call, and its outcome says so', async () => {
  for (const gate of [null, always]) {
    const toolId = await shell(gate)
    const { data } = await h.gql('{ viewer { project { id } } }')
    const projectId: string = data['viewer'].project.id
    const { apiKey } = await h.mutate('createApiKey', { name: 'goes', role: 'ADMIN' }, 'apiKey { id }')
    const role = { role: 'admin' as const, policy: policyOfRole('admin'), installation: false }
    const person = { id: apiKey['id'], name: 'goes', projectId, ...role }
    const ctx = h.app.ctxOf({ ...person, expiresAt: null, agentId: null, votes: true })
    const given = { toolId, arguments: { command: 'make' }, idempotencyKey: `gone ${toolId}` }
    if (gate) {
      const { toolCall } = await answerQuestion(ctx, given, { maxMs: 0 })
      await decide(toolCall.approvalId!, 'APPROVE')
    }
    // It leaves in the moment in which the call is begun.
    const gone = new AbortController()
    const leaving = { maxMs: 0, signal: gone.signal, whyNot: () => (gone.abort(), null) }
    if (!gate) gone.abort()
    const answer = await answerQuestion(ctx, given, leaving)
    expect(answer.answer).toBe('DENY')
    expect(await statusOf(answer.toolCall.id)).toMatchObject({ status: 'ERRORED', attempt: 1 })
    expect(await answerQuestion(ctx, given, { maxMs: 0 })).toMatchObject({ answer: 'DENY' })
  }
})
