/** Reject and stop: a run ends with the runs that wait for it, the session of a coding agent is refused, and a call is rejected. */
import { describe, expect, test } from 'vitest'
import { callRaw } from '../../support/bridge.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startLoopback } from '../../support/loopback.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { chainUnder, makeChain } from '../../support/nested-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()
const words = 'The wrong account.'
const stop = { stop: true, reason: words }

const votesOf = async (id: string) =>
  (await h.gql('query($id: ID!) { approval(id: $id) { votes { verdict stop reason } } }', { id })).data[
    'approval'
  ].votes
const auditOf = async (action: string) =>
  (
    await h.gql(
      'query($a: String!) { auditEntries(first: 50, filter: { action: $a }) { nodes { resource details } } }',
      { a: action },
    )
  ).data['auditEntries'].nodes
const ended = (id: string) =>
  h.until(
    id,
    ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'],
    'cancelReason stepCount toolCalls { status errorCode }',
  )

describe('a run', () => {
  test('ends: its model is not asked again, its other questions are void, and the vote and the audit say it', async () => {
    const [first, second] = [
      await gate.gated({ autoApprove: false }),
      await gate.gated({ autoApprove: false }),
    ]
    const agent = await fixtures.agent({ toolIds: [first.id, second.id] })
    const run = await fixtures.start(
      agent,
      `call ${first.name} {"amount":1}\ncall ${second.name} {"amount":2}\nthen\nsay never`,
    )
    const asked = await gate.pending(run)
    const [one, two] = [first, second].map(({ name }) => asked.find(({ toolName }) => toolName === name))
    await gate.decide(one!['id'], 'REJECT', stop)
    expect(await ended(run)).toMatchObject({
      status: 'CANCELLED',
      cancelReason: words,
      toolCalls: [{ status: 'REJECTED', errorCode: 'approval_rejected' }, { status: 'CANCELLED' }],
    })
    expect(await gate.approval(two!['id'])).toMatchObject({
      status: 'VOIDED',
      voidReason: 'GENERATION_ENDED',
    })
    expect(await votesOf(one!['id'])).toEqual([{ verdict: 'REJECT', stop: true, reason: words }])
    expect(await auditOf('generations:Cancel')).toContainEqual({
      resource: `generation/${run}`,
      details: expect.objectContaining({ approvalId: one!['id'] }),
    })
    expect(await auditOf('approvals:Decide')).toContainEqual(
      expect.objectContaining({ details: expect.objectContaining({ approvalId: one!['id'], stop: true }) }),
    )
    expect([...gate.paid(first.name), ...gate.paid(second.name)]).toEqual([])
  })

  test('without it the model goes on', async () => {
    const run = await gate.ask(await gate.gated({ autoApprove: false }))
    const [asked] = await gate.pending(run)
    await gate.decide(asked!['id'], 'REJECT', { stop: false })
    expect(await ended(run)).toMatchObject({ status: 'COMPLETED' })
    expect(await votesOf(asked!['id'])).toEqual([{ verdict: 'REJECT', stop: false, reason: null }])
  })

  test('that another one waits for ends with it, up to the topmost', async () => {
    for (let round = 0; round < 5; round++) {
      const tool = await gate.gated({ autoApprove: false })
      const chain = await makeChain(h, 4, (level) => (level === 4 ? { toolIds: [tool.id] } : {}))
      const root = await fixtures.start(
        chain.agents[0]!.id,
        chain.prompt(`call ${tool.name} {"amount":1}\nthen\nsay never`),
      )
      await h.collect(
        'subscription($id: ID!) { generationEvents(generationId: $id) { type } }',
        { id: root },
        (events) => events.some(({ type }) => type === 'APPROVAL_REQUESTED'),
      )
      const { data } = await h.gql(
        'query($id: ID!) { generation(id: $id) { requiredAction { approvals { id } } } }',
        { id: root },
      )
      await gate.decide(data['generation'].requiredAction.approvals[0].id, 'REJECT', stop)
      await ended(root)
      const runs = await chainUnder(h, root, 'cancelReason')
      expect(runs.map((run) => [run['status'], run['cancelReason']])).toEqual(
        runs.map(() => ['CANCELLED', words]),
      )
      expect(runs).toHaveLength(4)
    }
  })

  test('that a worker holds ends when the call that it has sent is settled', async () => {
    let answer = () => {}
    const slow = await startLoopback((_request, response) => (answer = () => response.end('sent')))
    const config = { http: { url: slow.url, inputSchema: objectSchema({}) } }
    const send = (await h.mutate('createTool', { name: 'send_slowly', config }, 'tool { id }'))['tool'].id
    const tool = await gate.gated({ autoApprove: false })
    const agent = await fixtures.agent({ toolIds: [send, tool.id] })
    const run = await fixtures.start(
      agent,
      `call send_slowly {}\ncall ${tool.name} {"amount":1}\nthen\nsay never`,
    )
    await expect.poll(() => slow.seen.length).toBe(1)
    const asked = async () => {
      const filter = { toolId: tool.id, statuses: ['PENDING'] }
      const { data } = await h.gql('query($f: ApprovalFilter) { approvals(filter: $f) { nodes { id } } }', {
        f: filter,
      })
      return data['approvals'].nodes[0]?.id
    }
    await expect.poll(asked).toBeTruthy()
    await gate.decide(await asked(), 'REJECT', stop)
    answer()
    expect(await ended(run)).toMatchObject({
      status: 'CANCELLED',
      stepCount: 1,
      toolCalls: [{ status: 'SUCCEEDED' }, { status: 'REJECTED' }],
    })
    await slow.close()
  })

  test('also while its agent is paused', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const run = await gate.ask(tool)
    const [asked] = await gate.pending(run)
    const { generation } = (
      await h.gql('query($id: ID!) { generation(id: $id) { agent { id } } }', { id: run })
    ).data
    await h.mutate('pause', { agentId: generation.agent.id }, 'pause { id }')
    await gate.decide(asked!['id'], 'REJECT', stop)
    expect(await ended(run)).toMatchObject({ status: 'CANCELLED' })
  })

  test('of whoever may not cancel it: FORBIDDEN, and the question stays', async () => {
    const run = await gate.ask(await gate.gated({ autoApprove: false }))
    const [asked] = await gate.pending(run)
    const { secret } = await gate.key({ role: 'APPROVER' })
    await expect(gate.decide(asked!['id'], 'REJECT', stop, secret)).rejects.toThrow(
      'This key may not generations:Cancel',
    )
    expect(await gate.approval(asked!['id'])).toMatchObject({ status: 'PENDING', votes: [] })
    expect(await gate.decide(asked!['id'], 'REJECT', {}, secret)).toMatchObject({
      approval: { status: 'REJECTED' },
    })
  })
})

test('a direct call is rejected, and nothing more', async () => {
  const tool = await gate.gated({ autoApprove: false, responses: true })
  const call = await gate.call(tool.id)
  await gate.decide(call['approval'].id, 'REJECT', stop)
  expect(await gate.toolCall(call['id'])).toMatchObject({
    status: 'REJECTED',
    structuredContent: { error: { code: 'approval_rejected', reason: words, stop: true } },
  })
  expect((await gate.call(tool.id))['status']).toBe('AWAITING_APPROVAL')
})

test('only a program that asks first has a session: the argument of another tool, or one that nobody may see, is none', async () => {
  const inputSchema = { type: 'object', properties: { session: { type: 'string', writeOnly: true } } }
  const config = {
    http: {
      url: `${fixtures.upstream.url}/with-session`,
      inputSchema: objectSchema({ session: { type: 'string' } }),
    },
  }
  const input = { name: 'with_session', gate: { autoApprove: false } }
  const server = (await h.mutate('createTool', { ...input, config }, 'tool { id }'))['tool']
  const client = (
    await h.mutate(
      'createTool',
      { ...input, name: 'hidden_session', config: { client: { inputSchema } } },
      'tool { id }',
    )
  )['tool']
  const call = await gate.call(server.id, { session: 's' })
  await gate.decide(call['approval'].id, 'REJECT', stop)
  const asked = await h.mutate(
    'askPermission',
    { toolId: client.id, arguments: { session: 's' }, idempotencyKey: 'hidden' },
    'toolCall { approval { id } }',
  )
  expect(await gate.decide(asked['toolCall'].approval.id, 'REJECT', stop)).toMatchObject({
    approval: { status: 'REJECTED' },
  })
  for (const { id } of [server, client]) {
    const { data } = await h.gql('query($t: ID!) { grants(toolId: $t) { nodes { id } } }', { t: id })
    expect(data['grants'].nodes).toEqual([])
  }
})

const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 60 }
test.each([
  ['an approval', 'APPROVE', {}],
  ['an answer', 'REJECT', { response: 'paid' }],
  ['a refusal of later calls', 'REJECT', { grant }],
] as const)('%s does not stop: the error says where', async (_what, verdict, more) => {
  const call = await gate.call((await gate.gated({ autoApprove: false, responses: true })).id)
  const refused = await gate.decide(call['approval'].id, verdict, { stop: true, ...more })
  expect(refused).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'stop'] }] })
  expect(await gate.approval(call['approval'].id)).toMatchObject({ status: 'PENDING' })
})

describe('a coding agent', async () => {
  for (const agent of ['CLAUDE', 'CODEX', 'COPILOT', 'GEMINI', 'OPENCODE'])
    await h.mutate('addCodingAgent', { agent }, 'tool { id }')
  const { secret: key } = await gate.key({ role: 'CALLER' })
  const { secret: other } = await gate.key({ role: 'CALLER' })
  const { secret: approver } = await gate.key({ role: 'APPROVER' })
  let made = 0
  const newSession = () => `session ${++made}`
  const hook = async (agent: string, body: object): Promise<any> => {
    const response = await fetch(`${h.url}/v1/agent/${agent}/hook?wait=0`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  const call = (session: string, command = 'make', more: object = {}) => ({
    session_id: session,
    cwd: '/w',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command },
    tool_use_id: `toolu_${++made}`,
    ...more,
  })
  const questions = async (session: string): Promise<any[]> => {
    const { data } = await h.gql('{ approvals(first: 100) { nodes { id status arguments } } }')
    return data['approvals'].nodes.filter((one: any) => one.arguments.session === session)
  }
  const end = async (session: string) =>
    gate.decide((await questions(session))[0].id, 'REJECT', stop, approver)
  const told = expect.stringMatching(/told you to stop.*The wrong account\./)
  const denied = (hookEventName: string) => ({
    hookSpecificOutput: { hookEventName, permissionDecision: 'deny', permissionDecisionReason: told },
  })

  const forms: [string, string, (session: string) => object, object][] = [
    ['Claude Code', 'claude', call, { continue: false, stopReason: told, ...denied('PreToolUse') }],
    [
      'Claude Code that prompts',
      'claude',
      (session) => call(session, 'make', { hook_event_name: 'PermissionRequest' }),
      {
        hookSpecificOutput: {
          hookEventName: 'PermissionRequest',
          decision: { behavior: 'deny', message: told, interrupt: true },
        },
      },
    ],
    // It would run the call if there were one field more.
    ['Codex', 'codex', call, denied('PreToolUse')],
    [
      'Codex that prompts',
      'codex',
      (session) => call(session, 'make', { hook_event_name: 'PermissionRequest' }),
      {
        hookSpecificOutput: {
          hookEventName: 'PermissionRequest',
          decision: { behavior: 'deny', message: told },
        },
      },
    ],
    [
      'Copilot CLI',
      'copilot',
      (sessionId) => ({ sessionId, cwd: '/w', toolName: 'bash', toolArgs: { command: 'make' } }),
      { permissionDecision: 'deny', permissionDecisionReason: told },
    ],
    [
      'Gemini CLI',
      'gemini',
      (session) => call(session, 'make', { hook_event_name: 'BeforeTool', tool_name: 'run_shell_command' }),
      { decision: 'deny', reason: told, continue: false, stopReason: told },
    ],
    [
      'OpenCode',
      'opencode',
      (sessionID) => ({
        event: 'before',
        sessionID,
        callID: `c${++made}`,
        cwd: '/w',
        tool: 'bash',
        args: { command: 'make' },
      }),
      { decision: 'deny', reason: told, stop: true },
    ],
  ]
  test.each(forms)(
    '%s is told in its own form, while it waits and whenever it asks again',
    async (_name, agent, ask, answer) => {
      const session = newSession()
      await hook(agent, ask(session))
      const id = (await questions(session))[0].id
      await end(session)
      expect(await votesOf(id)).toMatchObject([{ verdict: 'REJECT', stop: true }])
      expect(await hook(agent, ask(session))).toEqual(answer)
      expect(await questions(session)).toHaveLength(1)
    },
  )

  test('whose held question is stopped is told at once', async () => {
    const session = newSession()
    const held = fetch(`${h.url}/v1/agent/claude/hook?wait=600`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(call(session)),
    })
    await expect.poll(async () => (await questions(session)).length).toBe(1)
    await end(session)
    expect(await (await held).json()).toMatchObject({ continue: false, ...denied('PreToolUse') })
  })

  test('is not let through by a grant: neither one of before nor one of all calls; another session is', async () => {
    const [session, another] = [newSession(), newSession()]
    await hook('claude', call(session))
    const everything = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 600, maxUses: 10 }
    await hook('claude', call(session, 'make test'))
    const [second, first] = await questions(session)
    await gate.decide(first.id, 'APPROVE', { grant: everything })
    expect(await hook('claude', call(session, 'make all'))).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'allow' },
    })
    await gate.decide(second.id, 'REJECT', stop, approver)
    expect(await hook('claude', call(session, 'make all'))).toMatchObject({ continue: false })
    expect(await hook('claude', call(another, 'make all'))).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'allow' },
    })
    // Each is on record, with the refusal, which whoever may revoke it takes back.
    const { data } = await h.gql(
      '{ toolCalls(first: 10, filter: { statuses: [REJECTED] }) { nodes { status grant { id refuses } } } }',
    )
    const [refused] = data['toolCalls'].nodes
    expect(refused.grant).toMatchObject({ refuses: true })
    await h.mutate('revokeGrant', { grantId: refused.grant.id }, '__typename', approver)
    expect(await hook('claude', call(session, 'make all'))).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'allow' },
    })
  })

  test('that asks over MCP, without a session, is told, and asked about its next call', async () => {
    const ask = async () => {
      const { body } = await callRaw(`${h.url}/mcp`, other, 'approve', {
        tool_name: 'Bash',
        input: { command: 'make' },
        tool_use_id: `mcp ${++made}`,
      })
      return JSON.parse((body as any).result.content[0].text)
    }
    const without = async () => {
      const { data } = await h.gql(
        '{ approvals(first: 100, filter: { statuses: [PENDING] }) { nodes { id arguments } } }',
      )
      return data['approvals'].nodes.filter(
        (one: any) => one.arguments.tool === 'Bash' && one.arguments.session === undefined,
      )
    }
    for (let round = 0; round < 2; round++) {
      const waiting = ask()
      await expect.poll(async () => (await without()).length).toBe(1)
      await gate.decide((await without())[0].id, 'REJECT', stop, approver)
      expect(await waiting).toEqual({ behavior: 'deny', message: told, interrupt: true })
    }
  })
})

test('a program that asks with askPermission learns it', async () => {
  const tool = await gate.gatedClient({ autoApprove: false })
  const ask = () =>
    h.mutate(
      'askPermission',
      { toolId: tool.id, arguments: { amount: 5 }, idempotencyKey: 'stopped' },
      'answer reason stop toolCall { approval { id } }',
    )
  const asked = await ask()
  expect(asked).toMatchObject({ answer: 'WAIT', stop: false })
  await gate.decide(asked['toolCall'].approval.id, 'REJECT', stop)
  expect(await ask()).toMatchObject({ answer: 'DENY', stop: true })
})
