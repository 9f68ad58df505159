/** The inbox of an approver: which questions it lists, in which order, and who may decide them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../../support/databases.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import type { Harness } from '../../support/harness.ts'
import { watchStatements } from '../../support/held-statement.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
  })
  afterAll(() => deployment?.close())

  const newKey = async (input: object, by?: string) =>
    (await h.mutate('createApiKey', { name: 'k', ...input }, 'apiKey { id } secret', by))['secret'] as string
  const ask = async (toolId: string, key?: string) => {
    const called = await h.mutate(
      'callTool',
      { toolId, arguments: { n: 'a' } },
      'toolCall { approval { id } }',
      key,
    )
    return called['toolCall'].approval.id as string
  }
  const listed = async (key: string, args = 'forMe: true') => {
    const { data, errors } = await h.gql(
      `{ approvals(${args}, first: 100) { nodes { id viewerCanDecide { may why } } } }`,
      {},
      key,
    )
    expect(errors).toBeUndefined()
    return data['approvals'].nodes as { id: string; viewerCanDecide: { may: boolean; why: string | null } }[]
  }
  /** What the list says, and what a verdict then says: they must agree for every approval and key. */
  const agrees = async (key: string, id: string, may: boolean, why: RegExp | null) => {
    const own = (await listed(key)).map((one) => one.id)
    expect([id, own.includes(id)]).toEqual([id, may])
    const all = await listed(key, 'filter: { statuses: [PENDING] }')
    const { viewerCanDecide } = all.find((one) => one.id === id)!
    expect(viewerCanDecide).toEqual({ may, why: why === null ? null : expect.stringMatching(why) })
    if (may) return
    const refused = await h.gql(
      `mutation($id: ID!) { decideApproval(input: {approvalId: $id, verdict: APPROVE}) { __typename ... on Error { code } } }`,
      { id },
      key,
    )
    expect(refused.errors?.[0]?.extensions?.['code'] ?? refused.data['decideApproval'].code).toMatch(
      /FORBIDDEN|CONFLICT/,
    )
  }

  test('lists what the caller may decide, by role, policy and person, as a verdict would judge', async () => {
    const [approver, admin, viewer, program] = await Promise.all([
      newKey({ role: 'APPROVER' }),
      newKey({ role: 'ADMIN' }),
      newKey({ role: 'VIEWER' }),
      newKey({ role: 'APPROVER', votes: false }),
    ])
    const child = await newKey({ role: 'ADMIN' }, admin)
    const open = await deployment.payer({ mode: 'ALWAYS', quorum: 2 })
    const forAdmins = await deployment.payer({ mode: 'ALWAYS', approvers: ['ADMIN'] })
    const forOthers = await deployment.payer({ mode: 'ALWAYS', excludeRequester: true })
    const narrow = await newKey({
      policy: {
        statement: [
          { effect: 'Allow', action: ['approvals:*', 'toolCalls:Get'], resource: ['*'] },
          { effect: 'Deny', action: ['approvals:Decide'], resource: [`tool/${open.toolId}`] },
        ],
      },
    })
    const [two, roles, theirs] = [
      await ask(open.toolId),
      await ask(forAdmins.toolId),
      await ask(forOthers.toolId, child),
    ]
    for (const id of [two, theirs]) await agrees(approver, id, true, null)
    await agrees(approver, roles, false, /Only keys with the role admin/)
    await agrees(admin, roles, true, null)
    for (const key of [admin, child]) await agrees(key, theirs, false, /requested this call/)
    for (const id of [two, roles, theirs]) {
      await agrees(viewer, id, false, /may not approvals:Decide/)
      await agrees(program, id, false, /marked as a program/)
    }
    await agrees(narrow, two, false, /may not approvals:Decide on tool/)
    await agrees(narrow, theirs, true, null)
    await h.mutate('decideApproval', { approvalId: two, verdict: 'APPROVE' }, 'approval { id }', admin)
    for (const key of [admin, child]) await agrees(key, two, false, /approved already/)
    await agrees(approver, two, true, null)
    // An escalation lets admins decide what was not for their role.
    const forApprovers = await deployment.payer({ mode: 'ALWAYS', approvers: ['APPROVER'] })
    const late = await ask(forApprovers.toolId)
    await agrees(admin, late, false, /role approver/)
    await deployment.rows(`update approvals set escalated_at = now() where id = '${late}'`)
    await agrees(admin, late, true, null)
  })

  test('pages by deadline, the soonest first, forward and backward, with equal deadlines', async () => {
    const { project } = await h.mutate('createProject', { name: 'deadlines' }, 'project { id }')
    const key = await newKey({ role: 'ADMIN', projectId: project.id })
    const http = { url: `${deployment.fixtures.upstream.url}/pay`, inputSchema: { type: 'object' } }
    const gate = { mode: 'ALWAYS' }
    const { tool } = await h.mutate('createTool', { name: 'pay', gate, config: { http } }, 'tool { id }', key)
    const ids: string[] = []
    for (let i = 0; i < 7; i++) ids.push(await ask(tool.id, key))
    // The first expires last; the middle three expire together.
    for (const [i, id] of ids.entries())
      await deployment.rows(
        `update approvals set expires_at = '2100-01-01'::timestamptz - interval '${i >= 2 && i <= 4 ? 3 : i} hours'
          where id = '${id}'`,
      )
    const wanted = [ids[6], ids[5], ...[ids[2], ids[3], ids[4]].toSorted(), ids[1], ids[0]]
    const read = async (args: string) => {
      const { data, errors } = await h.gql(
        `{ approvals(orderBy: EXPIRES_AT, filter: { statuses: [PENDING] }, ${args}) {
          nodes { id } pageInfo { endCursor startCursor hasNextPage hasPreviousPage } } }`,
        {},
        key,
      )
      expect(errors).toBeUndefined()
      return data['approvals']
    }
    const walked: string[] = []
    let after = ''
    for (;;) {
      const page = await read(`first: 2${after && `, after: "${after}"`}`)
      walked.push(...page.nodes.map((one: any) => one.id))
      after = page.pageInfo.endCursor
      if (!page.pageInfo.hasNextPage) break
    }
    expect(walked).toEqual(wanted)
    const last = await read('last: 3')
    expect(last.nodes.map((one: any) => one.id)).toEqual(wanted.slice(-3))
    const before = await read(`last: 3, before: "${last.pageInfo.startCursor}"`)
    expect(before.nodes.map((one: any) => one.id)).toEqual(wanted.slice(1, 4))
    const refused = await h.gql('{ approvals(orderBy: EXPIRES_AT) { nodes { id } } }', {}, key)
    expect(refused.errors![0]!.message).toContain(
      'orderBy: EXPIRES_AT goes with statuses: [PENDING] or forMe only',
    )
  })

  test('asks one statement for a whole page of questions, whoever asked them', async () => {
    const { toolId } = await deployment.payer({ mode: 'ALWAYS', excludeRequester: true })
    const keys = await Promise.all([1, 2, 3, 4].map(() => newKey({ role: 'CALLER' })))
    for (const key of keys) await ask(toolId, key)
    const approver = await newKey({ role: 'APPROVER' })
    const { id } = (await h.gql('{ viewer { id } }', {}, approver)).data['viewer']
    const watched = watchStatements(h.app.services.db, id)
    const counted = () => watched.seen.splice(0).filter((text) => text.startsWith('with recursive up')).length
    try {
      await listed(approver, 'filter: { statuses: [PENDING] }')
      expect(counted()).toBe(1)
    } finally {
      watched.stop()
    }
  })

  test('decides each of a batch by itself', async () => {
    const { toolId } = await deployment.payer({ mode: 'ALWAYS' })
    const [first, second, decided] = [await ask(toolId), await ask(toolId), await ask(toolId)]
    await h.mutate('decideApproval', { approvalId: decided, verdict: 'REJECT' }, 'approval { id }')
    const verdict = (approvalId: string, more: object = {}) => ({ approvalId, verdict: 'APPROVE', ...more })
    const made = await h.mutate(
      'decideApprovals',
      {
        decisions: [
          verdict(first),
          verdict(decided),
          verdict('apr_none'),
          verdict(second, { verdict: 'REJECT' }),
          verdict(second),
          verdict(first, { arguments: { n: 5 } }),
        ],
        atomic: false,
      },
      'outcomes { approvalId approval { status } error { code message } }',
    )
    const of = made['outcomes'].map((one: any) => [one.approval?.status ?? null, one.error?.code ?? null])
    expect(of).toEqual([
      ['APPROVED', null],
      ['REJECTED', 'APPROVAL_ALREADY_DECIDED'],
      [null, 'NOT_FOUND'],
      ['REJECTED', null],
      ['REJECTED', 'APPROVAL_ALREADY_DECIDED'],
      ['APPROVED', expect.stringMatching(/INVALID|APPROVAL_ALREADY_DECIDED/)],
    ])
    // Whoever may decide sees what the verdict has made of the approval, without the right to read others.
    const action = ['approvals:Decide']
    const decider = await newKey({ policy: { statement: [{ effect: 'Allow', action, resource: ['*'] }] } })
    for (const atomic of [false, true])
      expect(
        await h.mutate(
          'decideApprovals',
          { decisions: [verdict(await ask(toolId), { verdict: 'REJECT' })], atomic },
          'outcomes { approval { status } error { code } }',
          decider,
        ),
      ).toMatchObject({ outcomes: [{ approval: { status: 'REJECTED' }, error: null }] })
    const viewer = await newKey({ role: 'VIEWER' })
    const all = h.mutate(
      'decideApprovals',
      { decisions: [verdict(first)] },
      'outcomes { approvalId }',
      viewer,
    )
    await expect(all).rejects.toThrow(/FORBIDDEN/)
    const none = await h.mutate('decideApprovals', { decisions: [] }, 'outcomes { approvalId }')
    expect(none['issues']).toEqual([{ path: ['input', 'decisions'], message: 'must have 1 to 50 entries' }])
  })

  test('says which arguments are masked', async () => {
    const schema = {
      type: 'object',
      properties: {
        to: { type: 'string' },
        card: { type: 'object', properties: { pin: { type: 'string', writeOnly: true } } },
      },
    }
    const http = { url: `${deployment.fixtures.upstream.url}/pay`, inputSchema: schema }
    const gate = { mode: 'ALWAYS' }
    const { tool } = await h.mutate('createTool', { name: 'masked', gate, config: { http } }, 'tool { id }')
    const input = { toolId: tool.id, arguments: { to: 'x', card: { pin: '1234' } } }
    const called = await h.mutate('callTool', input, 'toolCall { approval { arguments maskedPaths } }')
    expect(called['toolCall'].approval).toEqual({
      arguments: { to: 'x', card: { pin: '[masked]' } },
      maskedPaths: ['/card/pin'],
    })
  })

  test('keeps the question as it was asked, without presets, although the tool changes', async () => {
    const inputSchema = {
      type: 'object',
      properties: { to: { type: 'string' }, account: { type: 'string' } },
      required: ['to', 'account'],
    }
    const made = await h.mutate(
      'createTool',
      {
        name: 'asked',
        title: 'Ask me',
        description: 'Sends it.',
        presetParameters: { account: 'main' },
        gate: { mode: 'ALWAYS' },
        config: { http: { url: `${deployment.fixtures.upstream.url}/pay`, inputSchema } },
      },
      'tool { id version }',
    )
    const input = { toolId: made['tool'].id, arguments: { to: 'x' } }
    const called = await h.mutate('callTool', input, 'toolCall { approval { id } }')
    const change = { id: made['tool'].id, title: 'Changed', description: 'Keeps it.' }
    await h.mutate('updateTool', change, 'tool { id }')
    const { data } = await h.gql(
      'query($id: ID!) { approval(id: $id) { question { title description inputSchema } tool { title } } }',
      { id: called['toolCall'].approval.id },
    )
    expect(data['approval']).toEqual({
      question: {
        title: 'Ask me',
        description: 'Sends it.',
        inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
      },
      tool: { title: 'Changed' },
    })
  })
})
