/** Gates evaluated without side effects, and the approvers' inbox: filters, pages and counts. */
import { describe, expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { adminKey } from '../../support/harness.ts'

const { h, fixtures, gate } = await useGateFixtures()

const over100 = { properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] }

describe('evaluateGate', () => {
  const evaluate = (toolId: string, args: object | null, key?: string) =>
    h.gql(
      `query($id: ID!, $args: JSONObject) { evaluateGate(toolId: $id, arguments: $args) { stops grant { id }
        requirement { quorum timeoutSeconds approvers excludeRequester escalateAfterSeconds } } }`,
      { id: toolId, args },
      key,
    )

  test('returns what a call would need, and calls, asks and uses up nothing', async () => {
    const tool = await gate.gated({ when: over100, quorum: 2, approvers: ['ADMIN'] })
    expect((await evaluate(tool.id, { amount: 100 })).data['evaluateGate']).toEqual({
      stops: false,
      requirement: null,
      grant: null,
    })
    expect((await evaluate(tool.id, { amount: 101 })).data['evaluateGate']).toMatchObject({
      stops: true,
      grant: null,
      requirement: { quorum: 2, timeoutSeconds: 300, approvers: [['ADMIN']] },
    })
    const { data } = await h.gql(
      'query($id: ID) { toolCalls(filter: { toolId: $id }) { nodes { id } } approvals(filter: { toolId: $id }) { nodes { id } } }',
      { id: tool.id },
    )
    expect([data['toolCalls'].nodes, data['approvals'].nodes, gate.paid(tool.name)]).toEqual([[], [], []])
  })

  test("names the grant that would let it pass, for the caller's key", async () => {
    const tool = await gate.gated({})
    const { id, approval } = await gate.call(tool.id)
    const grant = { scope: 'EXACT', holder: 'CALLER', expiresInSeconds: 60, maxUses: 1 }
    await gate.decide(approval.id, 'APPROVE', { grant })
    await gate.untilCall(id, ['SUCCEEDED'])
    for (let times = 0; times < 3; times++)
      expect((await evaluate(tool.id, { amount: 5 })).data['evaluateGate']).toMatchObject({
        stops: false,
        grant: { id: expect.stringMatching(/^grt_/) },
        requirement: { quorum: 1 },
      })
    expect((await evaluate(tool.id, { amount: 6 })).data['evaluateGate']).toMatchObject({
      stops: true,
      grant: null,
    })
    const { secret } = await gate.key({ role: 'ADMIN' })
    expect((await evaluate(tool.id, { amount: 5 }, secret)).data['evaluateGate'].stops).toBe(true)
    expect((await gate.call(tool.id))['status']).toBe('SUCCEEDED')
  })

  test('refuses what the tool would refuse, by path', async () => {
    const tool = await gate.gated({})
    const { errors } = await evaluate(tool.id, { amount: 'x' })
    expect(errors![0]!.extensions).toMatchObject({
      code: 'INVALID',
      issues: [{ path: ['arguments', 'amount'] }],
    })
    expect((await evaluate(tool.id, null)).errors![0]!.extensions).toMatchObject({ code: 'INVALID' })
  })
})

test('arguments and drafts that are nested too deeply are refused without being traversed', async () => {
  const tool = await gate.gated({})
  const deep = '{"a":'.repeat(500) + '1' + '}'.repeat(500)
  for (const [query, value] of [
    ['query($id: ID!, $v: JSONObject) { evaluateGate(toolId: $id, arguments: $v) { stops } }', deep],
    [
      'query($id: ID!, $v: GateInput!) { previewGate(toolId: $id, gate: $v) { stopped } }',
      `{"when":${deep}}`,
    ],
  ] as const) {
    const response = await fetch(`${h.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
      body: `{"query":${JSON.stringify(query)},"variables":{"id":"${tool.id}","v":${value}}}`,
    })
    const { errors } = (await response.json()) as { errors: { extensions: { code: string } }[] }
    expect(errors[0]!.extensions.code).toBe('INVALID')
  }
})

describe('previewGate', () => {
  const preview = (toolId: string, draft: object, last?: number) =>
    h.gql(
      `query($id: ID!, $gate: GateInput!, $last: Int) { previewGate(toolId: $id, gate: $gate, last: $last) {
        replayed stopped newlyStopped newlyPassing newlyStoppedCalls { arguments } newlyPassingCalls { arguments } } }`,
      { id: toolId, gate: draft, last },
    )

  test('replays a draft over the newest calls and compares it with the current gate', async () => {
    const tool = await gate.gated({ when: { properties: { to: { const: 'abroad' } }, required: ['to'] } })
    for (const args of [
      { amount: 50 },
      { amount: 150 },
      { amount: 50, to: 'abroad' },
      { amount: 150, to: 'abroad' },
    ])
      await gate.call(tool.id, args)
    const { data } = await preview(tool.id, { when: over100 })
    expect(data['previewGate']).toEqual({
      replayed: 4,
      stopped: 2,
      newlyStopped: 1,
      newlyPassing: 1,
      newlyStoppedCalls: [{ arguments: { amount: 150 } }],
      newlyPassingCalls: [{ arguments: { amount: 50, to: 'abroad' } }],
    })
    const newest = await preview(tool.id, { mode: 'NEVER' }, 1)
    expect(newest.data['previewGate']).toMatchObject({ replayed: 1, stopped: 0, newlyPassing: 1 })
    // The draft was not saved.
    expect((await gate.call(tool.id, { amount: 150 }))['status']).toBe('SUCCEEDED')
  })

  test('evaluates merged arguments, and skips calls that no longer fit', async () => {
    const tool = await gate.gated(null)
    await gate.call(tool.id, { amount: 1, to: 'home' })
    await h.mutate('updateTool', { id: tool.id, presetParameters: { to: 'abroad' } }, 'tool { version }')
    await gate.call(tool.id, { amount: 2 })
    const draft = { when: { properties: { to: { const: 'abroad' } }, required: ['to'] } }
    expect((await preview(tool.id, draft)).data['previewGate']).toMatchObject({ replayed: 2, stopped: 2 })
  })

  test.each([
    [{ mode: 'WHEN' }, undefined, ['gate', 'when']],
    [{ timeoutSeconds: 1 }, undefined, ['gate', 'timeoutSeconds']],
    [{}, 0, ['last']],
    [{}, 1001, ['last']],
  ])('%j with last %s is refused by path', async (draft, last, path) => {
    const tool = await gate.gated(null)
    const { errors } = await preview(tool.id, draft, last)
    expect(errors![0]!.extensions).toMatchObject({ code: 'INVALID', issues: [{ path }] })
  })
})

describe('the inbox', () => {
  const inbox = async (filter: string, args = '') => {
    const { data, errors } = await h.gql(
      `{ approvals(filter: { ${filter} } ${args}) { nodes { id status } pageInfo { hasNextPage endCursor } } }`,
    )
    if (errors) throw new Error(JSON.stringify(errors))
    return data['approvals'] as { nodes: { id: string; status: string }[]; pageInfo: any }
  }
  const ids = async (filter: string, args = '') => (await inbox(filter, args)).nodes.map((node) => node.id)
  const counts = async (filter: string) =>
    (await h.gql(`{ approvalTally(filter: { ${filter} }) { total { pending approved rejected expired } } }`))
      .data['approvalTally'].total

  test('is filtered by status, tool, agent and deadline, and counted', async () => {
    const tool = await gate.gated({ timeoutSeconds: 1000 })
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const ofAgent = await fixtures.start(agentId, `call ${tool.name} {"amount": 1}\nthen\nsay done`)
    const [asked] = await gate.pending(ofAgent)
    const calls = [
      await gate.call(tool.id),
      await gate.call(tool.id),
      await gate.call(tool.id),
      await gate.call(tool.id),
    ]
    const [approved, rejected, expired, pending] = calls.map((call) => call['approval'].id as string)
    await gate.decide(approved!, 'APPROVE')
    await gate.decide(rejected!, 'REJECT')
    await gate.bringForward(expired!, 'expiry')
    await gate.untilCall(calls[2]!['id'], ['EXPIRED'])
    const byTool = `toolId: "${tool.id}"`
    expect(await ids(byTool)).toEqual([pending, expired, rejected, approved, asked!['id']])
    expect(await ids(`${byTool}, statuses: [PENDING]`)).toEqual([pending, asked!['id']])
    expect(await ids(`${byTool}, statuses: [APPROVED]`)).toEqual([approved])
    expect(await ids(`${byTool}, statuses: [REJECTED]`)).toEqual([rejected])
    expect(await ids(`${byTool}, statuses: [EXPIRED]`)).toEqual([expired])
    expect(await ids(`${byTool}, statuses: [VOIDED]`)).toEqual([])
    expect(await ids(`agentId: "${agentId}"`)).toEqual([asked!['id']])
    const soon = (await gate.approval(pending!))['expiresAt']
    const before = new Date(new Date(soon).getTime() - 60_000).toISOString()
    expect(await ids(`${byTool}, statuses: [PENDING]`, `expiringBefore: "${soon}"`)).toContain(pending)
    expect(await ids(`${byTool}, statuses: [PENDING]`, `expiringBefore: "${before}"`)).toEqual([])
    expect(await counts(byTool)).toEqual({ pending: 2, approved: 1, rejected: 1, expired: 1 })
    expect(await counts(`agentId: "${agentId}"`)).toEqual({
      pending: 1,
      approved: 0,
      rejected: 0,
      expired: 0,
    })
    await h.mutate('cancelGeneration', { generationId: ofAgent }, 'generation { id }')
    expect(await ids(`${byTool}, statuses: [VOIDED]`)).toEqual([asked!['id']])
    expect(await counts(byTool)).toEqual({ pending: 1, approved: 1, rejected: 1, expired: 1 })
  })

  test('has pages that neither lose nor repeat, also while approvals are added and settled', async () => {
    const tool = await gate.gated({})
    const made: string[] = []
    for (let i = 0; i < 7; i++) made.unshift((await gate.call(tool.id))['approval'].id)
    const found: string[] = []
    for (let after = ''; ;) {
      const page = await inbox(`toolId: "${tool.id}", statuses: [PENDING]`, `first: 3${after}`)
      found.push(...page.nodes.map((node) => node.id))
      if (!page.pageInfo.hasNextPage) break
      after = `, after: "${page.pageInfo.endCursor}"`
      await gate.call(tool.id)
      await gate.decide(page.nodes.at(-1)!.id, 'REJECT')
    }
    expect(found).toEqual(made)
  })
})
