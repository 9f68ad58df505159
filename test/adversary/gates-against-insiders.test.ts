/** One person is one vote, program keys never vote, and a gate is opened only by an explicit permission. */
import { beforeAll, describe, expect, test } from 'vitest'
import { callRaw } from '../support/bridge.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { holdRow } from '../support/held-row.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { startTokenIssuer } from '../support/token-issuer.ts'
import { forFile } from '../support/for-file.ts'

const claims: Record<string, unknown> = {}
const provider = await forFile(startTokenIssuer(claims))
const h = await forFile(openHarness({ oidc: provider.oidc }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const projectId: string = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
Object.assign(claims, { aud: 'gatehouse', gatehouse_project: projectId, gatehouse_role: 'admin' })

/** A key with this role, made by another key. */
async function keyBy(secret: string, input: object): Promise<{ secret: string; id: string }> {
  const made = await h.mutate(
    'createApiKey',
    { name: 'made', ...input },
    'apiKey { id votes } secret',
    secret,
  )
  expect(made['secret'], JSON.stringify(made)).toEqual(expect.any(String))
  return { secret: made['secret'], id: made['apiKey'].id }
}

async function asked(policy: object, key?: string): Promise<{ id: string; name: string; callId: string }> {
  const tool = await gate.gated(policy)
  const call = await gate.call(tool.id, { amount: 1 }, {}, key)
  return { id: call['approval'].id, name: tool.name, callId: call['id'] }
}

/** The code of the refusal, or the status of the approval after the verdict. */
async function verdict(id: string, key: string, more: object = {}): Promise<string> {
  const { data, errors } = await h.gql(
    `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) {
      ... on ApprovalPayload { approval { status } } ... on Error { code } } }`,
    { input: { approvalId: id, verdict: 'APPROVE', ...more } },
    key,
  )
  return (
    errors?.[0]?.extensions?.['code'] ?? data['decideApproval'].code ?? data['decideApproval'].approval.status
  )
}

describe('a quorum counts people', () => {
  test('an admin who makes approver keys counts as one person, by whatever key and however long the chain', async () => {
    const admin = await gate.key({ role: 'ADMIN' })
    const one = await keyBy(admin.secret, { role: 'APPROVER' })
    const second = await keyBy(admin.secret, { role: 'ADMIN' })
    const grandchild = await keyBy(second.secret, { role: 'APPROVER' })
    const { id, name } = await asked({ quorum: 2 })
    expect(await verdict(id, one.secret)).toBe('PENDING')
    for (const { secret } of [grandchild, second, admin, one])
      expect(await verdict(id, secret)).toBe('CONFLICT')
    expect(gate.paid(name)).toEqual([])
    const other = await gate.key({ role: 'APPROVER' })
    expect(await verdict(id, other.secret)).toBe('APPROVED')
  })

  test('a person with a token counts as one, with the keys that this person made', async () => {
    const ada = () => provider.token({ sub: 'ada' })
    const made = await keyBy(await ada(), { role: 'APPROVER' })
    const { id } = await asked({ quorum: 2 })
    expect(await verdict(id, made.secret)).toBe('PENDING')
    expect(await verdict(id, await ada())).toBe('CONFLICT')
    expect(await verdict(id, await provider.token({ sub: 'grace' }))).toBe('APPROVED')
  })

  test('simultaneous votes of one person by different keys count once', async () => {
    const admin = await gate.key({ role: 'ADMIN' })
    const keys = await Promise.all([1, 2, 3].map(() => keyBy(admin.secret, { role: 'APPROVER' })))
    const { id } = await asked({ quorum: 2 })
    const answers = await Promise.all(keys.map(({ secret }) => verdict(id, secret)))
    expect(answers.toSorted()).toEqual(['CONFLICT', 'CONFLICT', 'PENDING'])
  })

  test('the requester is excluded with every key that this person made', async () => {
    const admin = await gate.key({ role: 'ADMIN' })
    const approver = await keyBy(admin.secret, { role: 'APPROVER' })
    const { id } = await asked({ excludeRequester: true }, admin.secret)
    expect(await verdict(id, approver.secret)).toBe('FORBIDDEN')
    const reverse = await asked(
      { excludeRequester: true },
      (await keyBy(admin.secret, { role: 'CALLER' })).secret,
    )
    expect(await verdict(reverse.id, admin.secret)).toBe('FORBIDDEN')
    expect(await verdict(id, adminKey)).toBe('APPROVED')
  })
})

test('a key that is marked as a program never decides, and shows that it does not', async () => {
  const program = await gate.key({ role: 'ADMIN', votes: false })
  const { data } = await h.gql('query($id: ID!) { node(id: $id) { ... on ApiKey { votes } } }', {
    id: program.id,
  })
  expect(data['node'].votes).toBe(false)
  const { id, name } = await asked({})
  expect(await verdict(id, program.secret)).toBe('FORBIDDEN')
  expect(await verdict(id, program.secret, { arguments: { amount: 2 } })).toBe('FORBIDDEN')
  const made = await keyBy(program.secret, { role: 'APPROVER' })
  expect(await verdict(id, made.secret)).toBe('FORBIDDEN')
  expect(gate.paid(name)).toEqual([])
})

describe('changing a gate', () => {
  const update = async (what: 'Tool' | 'Agent', input: object, key?: string): Promise<string> => {
    const { data, errors } = await h.gql(
      `mutation($input: Update${what}Input!) { update${what}(input: $input) { __typename ... on Error { code } } }`,
      { input },
      key,
    )
    const answer = data?.[`update${what}`]
    return errors?.[0]?.extensions?.['action'] ?? answer.code ?? answer.__typename
  }

  test('needs gates:Update, which no developer and no tools:* has; other fields of a tool do not', async () => {
    const developer = await gate.key({ role: 'DEVELOPER' })
    const custom = await gate.key({
      policy: { statement: [{ effect: 'Allow', action: ['tools:*', 'agents:*'], resource: ['*'] }] },
    })
    const tool = await gate.gated({ autoApprove: false })
    const hinted = await gate.gated(null, { annotations: { destructiveHint: true } })
    const agentId = await fixtures.agent({ gate: { autoApprove: false } })
    for (const { secret } of [developer, custom]) {
      const refused = [
        await update('Tool', { id: tool.id, gate: { autoApprove: true } }, secret),
        await update('Tool', { id: tool.id, gate: null }, secret),
        await update('Tool', { id: tool.id, agentsOnly: true }, secret),
        await update('Tool', { id: hinted.id, annotations: {} }, secret),
        await update('Agent', { id: agentId, gate: null }, secret),
      ]
      expect(refused).toEqual(refused.map(() => 'gates:Update'))
      expect(await update('Tool', { id: tool.id, description: 'new' }, secret)).toBe('ToolPayload')
      expect(await update('Agent', { id: agentId, instructions: 'new' }, secret)).toBe('AgentPayload')
    }
    const { data } = await h.gql('{ auditEntries(first: 20) { nodes { action outcome resource } } }')
    expect(data['auditEntries'].nodes).toContainEqual({
      action: 'gates:Update',
      outcome: 'DENIED',
      resource: `tool/${tool.id}`,
    })
  })

  test('includes renaming or presetting an argument that the gate judges', async () => {
    const developer = await gate.key({ role: 'DEVELOPER' })
    const when = { properties: { amount: { minimum: 100 } }, required: ['amount'] }
    const tool = await gate.gated({ mode: 'WHEN', when })
    const inputSchema = { type: 'object', properties: { sum: { type: 'number' } } }
    const config = { http: { url: `${fixtures.upstream.url}/${tool.name}`, inputSchema } }
    for (const change of [{ config }, { presetParameters: { amount: 1 } }])
      expect(await update('Tool', { id: tool.id, ...change }, developer.secret)).toBe('gates:Update')
    expect(await update('Tool', { id: tool.id, title: 'Pay' }, developer.secret)).toBe('ToolPayload')
    expect(await update('Tool', { id: tool.id, config })).toBe('ToolPayload')
  })

  test('is audited and emits an event, with the principal', async () => {
    const admin = await gate.key({ role: 'ADMIN' })
    const tool = await gate.gated({ autoApprove: false })
    const agentId = await fixtures.agent({ gate: { autoApprove: false } })
    await update('Tool', { id: tool.id, gate: { quorum: 2 } }, admin.secret)
    await update('Agent', { id: agentId, gate: { quorum: 3 } }, admin.secret)
    const told = await gate.feed(['GATE_CHANGED'], '... on GateChangedEvent { target decidedBy }', (events) =>
      events.some((event) => event['target'] === agentId),
    )
    for (const target of [tool.id, agentId])
      expect(told).toContainEqual(expect.objectContaining({ target, decidedBy: admin.id }))
    const { data } = await h.gql(
      '{ auditEntries(first: 10) { nodes { action outcome resource principalId } } }',
    )
    for (const resource of [`tool/${tool.id}`, `agent/${agentId}`])
      expect(data['auditEntries'].nodes).toContainEqual({
        action: 'gates:Update',
        outcome: 'ALLOWED',
        resource,
        principalId: admin.id,
      })
  })

  test.skipIf(!hasPostgres)('is not undone by an update that read the tool or agent before it', async () => {
    const database = await postgresDatabase()
    const own = await openHarness({ databaseUrl: database.url })
    try {
      const config = { client: { inputSchema: { type: 'object' } } }
      const { tool } = await own.mutate('createTool', { name: 't', config }, 'tool { id }')
      const { agent } = await own.mutate('createAgent', { name: 'a' }, 'agent { id }')
      const made = await own.mutate('createApiKey', { name: 'd', role: 'DEVELOPER' }, 'secret')
      for (const [name, id, more] of [
        ['updateTool', tool.id, { description: 'new' }],
        ['updateAgent', agent.id, { instructions: 'new' }],
      ] as const) {
        const what = name.slice('update'.length).toLowerCase()
        const held = await holdRow(database.url, `${what}s`, id)
        const gated = own.mutate(name, { id, gate: { autoApprove: false } }, `${what} { id }`)
        await held.waiting(1)
        const other = own.mutate(name, { id, ...more }, `${what} { id }`, made['secret'])
        await held.waiting(2)
        await held.release()
        await Promise.all([gated, other])
        const { data } = await own.gql(`{ ${what}(id: "${id}") { version gate { mode } } }`)
        expect(data[what]).toEqual({ version: 3, gate: { mode: 'ALWAYS' } })
      }
    } finally {
      await own.stop()
      await database.drop()
    }
  })
})

describe('a project where changes of gates need a second person', () => {
  let own: { id: string; ann: string; ben: string; annId: string; toolId: string; agentId: string }

  beforeAll(async () => {
    const { project } = await h.mutate('createProject', { name: 'careful' }, 'project { id }')
    const admin = async () => gate.key({ projectId: project.id, role: 'ADMIN' })
    const [ann, ben] = [await admin(), await admin()]
    const config = { client: { inputSchema: { type: 'object' } } }
    const { tool } = await h.mutate(
      'createTool',
      { name: 't', config, gate: { autoApprove: false } },
      'tool { id }',
      ann.secret,
    )
    const { agent } = await h.mutate(
      'createAgent',
      { name: 'a', gate: { autoApprove: false } },
      'agent { id }',
      ann.secret,
    )
    own = {
      id: project.id,
      ann: ann.secret,
      annId: ann.id,
      ben: ben.secret,
      toolId: tool.id,
      agentId: agent.id,
    }
    const made = await h.mutate(
      'updateProject',
      { id: project.id, gatesNeedSecond: true },
      'project { gatesNeedSecond }',
      ann.secret,
    )
    expect(made['project'].gatesNeedSecond).toBe(true)
  })

  const fields = 'gateChange { id status proposedBy decidedBy }'
  const propose = (input: object, key = own.ann) => h.mutate('proposeGateChange', input, fields, key)
  const decide = (id: string, key: string, word = 'APPROVE') =>
    h.mutate('decideGateChange', { id, verdict: word }, fields, key)
  const modeOf = async (id: string) => {
    const { data } = await h.gql(
      'query($id: ID!) { node(id: $id) { ... on Tool { gate { mode } } ... on Agent { own: gate { mode } } } }',
      { id },
      own.ann,
    )
    return (data['node'].gate ?? data['node'].own)?.mode ?? null
  }

  test('nobody changes one alone; other fields of a tool are changed as before', async () => {
    const open = { id: own.toolId, gate: { autoApprove: true } }
    expect(await h.mutate('updateTool', open, 'tool { id }', own.ann)).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('proposeGateChange'),
    })
    const free = { id: own.agentId, gate: null }
    expect(await h.mutate('updateAgent', free, 'agent { id }', own.ann)).toMatchObject({ code: 'CONFLICT' })
    const words = { id: own.toolId, description: 'other words' }
    expect((await h.mutate('updateTool', words, 'tool { id }', own.ann))['tool'].id).toBe(own.toolId)
    expect(await modeOf(own.toolId)).toBe('ALWAYS')
  })

  test('one person proposes and another confirms; the proposer cannot, by any key', async () => {
    const { gateChange } = await propose({
      targetId: own.toolId,
      gate: { autoApprove: true },
      note: 'why not',
    })
    const again = await keyBy(own.ann, { role: 'ADMIN' })
    for (const secret of [own.ann, again.secret])
      await expect(decide(gateChange.id, secret)).rejects.toThrow(/FORBIDDEN/)
    const program = await gate.key({ projectId: own.id, role: 'ADMIN', votes: false })
    await expect(decide(gateChange.id, program.secret)).rejects.toThrow(/FORBIDDEN/)
    expect(await modeOf(own.toolId)).toBe('ALWAYS')
    const done = await decide(gateChange.id, own.ben)
    expect(done['gateChange']).toMatchObject({ status: 'CONFIRMED', proposedBy: own.annId })
    expect(await modeOf(own.toolId)).toBe('NEVER')
    expect(await decide(gateChange.id, own.ben)).toMatchObject({ code: 'CONFLICT' })
  })

  test('of several simultaneous confirmations one succeeds', async () => {
    const { gateChange } = await propose({ targetId: own.agentId, removeGate: true })
    const answers = await Promise.all([1, 2, 3].map(() => decide(gateChange.id, own.ben)))
    expect(answers.filter((answer) => answer['gateChange'])).toHaveLength(1)
    expect(await modeOf(own.agentId)).toBeNull()
    const { data } = await h.gql(
      'query($id: ID!) { agent(id: $id) { version } }',
      { id: own.agentId },
      own.ann,
    )
    expect(data['agent'].version).toBe(2)
  })

  test('a proposal for a target that changed since is refused', async () => {
    const { gateChange } = await propose({ targetId: own.toolId, gate: { quorum: 2 } })
    await h.mutate('updateTool', { id: own.toolId, description: 'changed' }, 'tool { id }', own.ann)
    expect(await decide(gateChange.id, own.ben)).toMatchObject({ code: 'CONFLICT' })
    expect((await decide(gateChange.id, own.ann, 'REJECT'))['gateChange'].status).toBe('REJECTED')
  })

  test('two people are needed to remove the rule itself', async () => {
    const alone = await h.mutate(
      'updateProject',
      { id: own.id, gatesNeedSecond: false },
      'project { id }',
      own.ann,
    )
    expect(alone).toMatchObject({ issues: [{ path: ['input', 'gatesNeedSecond'] }] })
    const { gateChange } = await propose({ targetId: own.id })
    await expect(decide(gateChange.id, own.ann)).rejects.toThrow(/FORBIDDEN/)
    await decide(gateChange.id, own.ben)
    const open = { id: own.toolId, gate: { autoApprove: false } }
    expect((await h.mutate('updateTool', open, 'tool { id }', own.ann))['tool'].id).toBe(own.toolId)
  })
})

describe('a tool for agents only', () => {
  test('is not called directly, and is called through an agent, whose gate then applies', async () => {
    const tool = await gate.gated({ autoApprove: true }, { agentsOnly: true })
    const call = gate.call(tool.id, { amount: 1 })
    await expect(call).rejects.toThrow(/FORBIDDEN.*tools:Call/)
    const platform = await h.mutate(
      'createTool',
      { name: 'own', config: { platform: { actions: ['call-tool'] } } },
      'tool { id }',
    )
    const around = await gate.call(
      platform['tool'].id,
      { toolId: tool.id, arguments: { amount: 1 } },
      { action: 'call-tool' },
    )
    expect(around).toMatchObject({ isError: true, errorCode: 'forbidden' })
    expect(gate.paid(tool.name)).toEqual([])
    const agentId = await fixtures.agent({
      toolIds: [tool.id],
      gate: { mode: 'WHEN', when: { properties: { amount: { minimum: 10 } } } },
      mcp: { enabled: true },
    })
    const small = await callRaw(`${h.url}/mcp/${agentId}`, adminKey, tool.name, { amount: 1 })
    expect(small.body['result'].isError).toBe(false)
    const run = await fixtures.start(agentId, `call ${tool.name} {"amount": 50}`)
    expect(await gate.pending(run)).toHaveLength(1)
  })
})

describe('a model that wants to open a gate', () => {
  const loosen = async (platformGate: object | null, key: string) => {
    const target = await gate.gated({ autoApprove: false })
    const name = `our_${target.name}`
    const config = { platform: { actions: ['update-tool'] } }
    const made = await h.mutate('createTool', { name, config, gate: platformGate }, 'tool { id }')
    const agentId = await fixtures.agent({ toolIds: [made['tool'].id] })
    const args = JSON.stringify({ id: target.id, gate: { autoApprove: true } })
    const input = { agentId, prompt: `call ${name}_update-tool ${args}\nthen\nsay done` }
    const { generation } = await h.mutate('startGeneration', input, 'generation { id }', key)
    const ended = await h.until(generation.id, ['COMPLETED', 'AWAITING_APPROVAL'], 'toolCalls { errorCode }')
    const { data } = await h.gql('query($id: ID!) { tool(id: $id) { gate { mode } } }', {
      id: target.id,
    })
    return { ended, mode: data['tool'].gate.mode }
  }

  test('is asked about by default, also in a run of an admin', async () => {
    const { ended, mode } = await loosen(null, adminKey)
    expect([ended['status'], mode]).toEqual(['AWAITING_APPROVAL', 'ALWAYS'])
  })

  test('is refused where the operator lets the action pass, unless the policy of the requester names gates', async () => {
    const admin = await gate.key({ role: 'ADMIN' })
    const refused = await loosen({ autoApprove: true }, admin.secret)
    expect([refused.ended['toolCalls'][0].errorCode, refused.mode]).toEqual(['forbidden', 'ALWAYS'])
    const statement = [{ effect: 'Allow', action: ['*', 'gates:Update'], resource: ['*'] }]
    const named = await gate.key({ policy: { statement } })
    const opened = await loosen({ autoApprove: true }, named.secret)
    expect([opened.ended['toolCalls'][0].errorCode, opened.mode]).toEqual([null, 'NEVER'])
  })
})
