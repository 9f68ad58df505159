/** Platform tools: operations of Gatehouse as tools of agents, with presets, the gate and the caller's rights. */
import { beforeAll, describe, expect, test } from 'vitest'
import { callRaw, rpc } from '../support/bridge.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let count = 0

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

const shownTool = `tool { id name version ... on PlatformTool { inputSchema actions { action runtimeName inputSchema
  annotations { readOnlyHint destructiveHint } gate { mode source } } } }`

async function platformTool(actions: string[], more: object = {}): Promise<Record<string, any>> {
  const name = `own_${++count}`
  const made = await h.mutate('createTool', { name, config: { platform: { actions } }, ...more }, shownTool)
  if (!made['tool']) throw new Error(JSON.stringify(made))
  return made['tool']
}

/** A tool that serves as a document: its description can be changed. */
async function document(): Promise<string> {
  const config = { client: { inputSchema: objectSchema({}) } }
  const made = await h.mutate('createTool', { name: `doc_${++count}`, config }, 'tool { id }')
  return made['tool'].id
}

const descriptionOf = async (id: string) =>
  (await h.gql('query($id: ID!) { tool(id: $id) { description } }', { id })).data['tool'].description

const result = `toolCall { id name action status isError errorCode structuredContent approval { id status } }`

async function call(toolId: string, action: string | null, args: object, key?: string) {
  const input = { toolId, arguments: args, ...(action === null ? {} : { action }) }
  const made = await h.mutate('callTool', input, result, key)
  return (made['toolCall'] ?? made) as Record<string, any>
}

const keyOf = (role: 'ADMIN' | 'CALLER') => gate.key({ role })

describe('two tools over one action, each preset to its own document', () => {
  let first: string
  let second: string
  let tools: Record<string, any>[]
  let agentId: string

  beforeAll(async () => {
    ;[first, second] = [await document(), await document()]
    tools = [
      await platformTool(['update-tool'], { presetParameters: { id: first } }),
      await platformTool(['update-tool'], { presetParameters: { id: second } }),
    ]
    agentId = await fixtures.agent({ toolIds: tools.map((tool) => tool['id']), mcp: { enabled: true } })
  })

  test('the preset is not in what the model sees, and the name is {name}_{action}', () => {
    for (const tool of tools) {
      expect(tool['inputSchema']).toBeNull()
      const [action] = tool['actions']
      expect(action).toMatchObject({ action: 'update-tool', runtimeName: `${tool['name']}_update-tool` })
      expect(action.inputSchema.properties).toHaveProperty('description')
      expect(action.inputSchema.properties).not.toHaveProperty('id')
      expect(action.inputSchema.required ?? []).not.toContain('id')
    }
  })

  test('a model changes only the document of the tool that it calls', async () => {
    const id = await fixtures.start(
      agentId,
      `call ${tools[0]!['name']}_update-tool {"description":"by the model"}`,
    )
    const done = await h.until(id, ['COMPLETED'], 'toolCalls { action status errorCode structuredContent }')
    expect(done['toolCalls']).toMatchObject([{ action: 'update-tool', status: 'SUCCEEDED' }])
    expect(done['toolCalls'][0].structuredContent.tool).toMatchObject({ id: first })
    expect(await descriptionOf(first)).toBe('by the model')
    expect(await descriptionOf(second)).toBeNull()
  })

  test('a caller that sends the preset changes nothing else, and it is audited', async () => {
    const done = await call(tools[1]!['id'], 'update-tool', { id: first, description: 'stolen' })
    expect(done).toMatchObject({ status: 'SUCCEEDED', structuredContent: { tool: { id: second } } })
    expect(await descriptionOf(first)).toBe('by the model')
    const { data } = await h.gql('{ auditEntries(first: 10) { nodes { details } } }')
    expect(JSON.stringify(data['auditEntries'])).toContain('"droppedPresetKeys":["id"]')
  })

  test('the bridge lists and calls them by runtime name', async () => {
    const url = `${h.url}/mcp/${agentId}`
    const key = (await keyOf('ADMIN')).secret
    const { body } = await rpc(url, key, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const names = body['result'].tools.map((tool: { name: string }) => tool.name)
    expect(names.slice(0, 2)).toEqual(tools.map((tool) => `${tool['name']}_update-tool`))
    const called = await callRaw(url, key, names[1], { description: 'over MCP' })
    expect(called.body['result']).toMatchObject({ isError: false })
    expect(await descriptionOf(second)).toBe('over MCP')
  })
})

describe('rights', () => {
  test('a platform tool cannot do what its caller may not: direct, in a run, over the bridge', async () => {
    const id = await document()
    const tool = await platformTool(['update-tool', 'tools'], { presetParameters: { id } })
    const caller = (await keyOf('CALLER')).secret
    const direct = await call(tool['id'], 'update-tool', { description: 'no' }, caller)
    expect(direct).toMatchObject({ status: 'ERRORED', isError: true, errorCode: 'forbidden' })
    const agentId = await fixtures.agent({ toolIds: [tool['id']], mcp: { enabled: true } })
    const prompt = `call ${tool['name']}_update-tool {"description":"no"}`
    const started = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', caller)
    const done = await h.until(started['generation'].id, ['COMPLETED'], 'toolCalls { status errorCode }')
    expect(done['toolCalls']).toEqual([{ status: 'ERRORED', errorCode: 'forbidden' }])
    const name = `${tool['name']}_update-tool`
    const bridged = await callRaw(`${h.url}/mcp/${agentId}`, caller, name, { description: 'no' })
    expect(bridged.body['result']).toMatchObject({ isError: true })
    expect(await descriptionOf(id)).toBeNull()
  })

  test('a call that one key requests runs with its rights, whoever approves it', async () => {
    const id = await document()
    const tool = await platformTool(['update-tool'], {
      presetParameters: { id },
      gate: { autoApprove: false },
    })
    const caller = (await keyOf('CALLER')).secret
    const stopped = await call(tool['id'], 'update-tool', { description: 'no' }, caller)
    expect(stopped).toMatchObject({ status: 'AWAITING_APPROVAL' })
    await h.mutate(
      'decideApproval',
      { approvalId: stopped['approval'].id, verdict: 'APPROVE' },
      'approval { id }',
    )
    expect(await gate.untilCall(stopped['id'], ['ERRORED'])).toMatchObject({
      status: 'ERRORED',
      errorCode: 'forbidden',
    })
    expect(await descriptionOf(id)).toBeNull()
  })

  test('a key that was revoked while its call waited does nothing any more', async () => {
    const id = await document()
    const tool = await platformTool(['update-tool'], {
      presetParameters: { id },
      gate: { autoApprove: false },
    })
    const admin = await keyOf('ADMIN')
    const stopped = await call(tool['id'], 'update-tool', { description: 'no' }, admin.secret)
    await h.mutate('revokeApiKey', { id: admin.id }, 'apiKey { id }')
    await h.mutate(
      'decideApproval',
      { approvalId: stopped['approval'].id, verdict: 'APPROVE' },
      'approval { id }',
    )
    expect(await gate.untilCall(stopped['id'], ['ERRORED'])).toMatchObject({
      status: 'ERRORED',
      errorCode: 'forbidden',
    })
    expect(await descriptionOf(id)).toBeNull()
  })

  test('destructive actions are stopped by the gate unless the tool says otherwise', async () => {
    const tool = await platformTool(['delete-tool', 'tools'])
    expect(tool['actions']).toMatchObject([
      { action: 'delete-tool', annotations: { destructiveHint: true }, gate: { mode: 'ALWAYS' } },
      { action: 'tools', annotations: { readOnlyHint: true }, gate: { mode: 'NEVER' } },
    ])
    const id = await document()
    expect(await call(tool['id'], 'delete-tool', { id })).toMatchObject({ status: 'AWAITING_APPROVAL' })
    const open = await platformTool(['delete-tool'], { gate: { autoApprove: true } })
    expect(await call(open['id'], 'delete-tool', { id })).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('a grant', () => {
  test('for one action allows no other action of the same tool', async () => {
    const [one, other] = [await document(), await document()]
    const stops = { gate: { autoApprove: false } }
    const tool = await platformTool(['update-tool', 'delete-tool'], stops)
    const first = await call(tool['id'], 'update-tool', { id: one, description: 'a' })
    const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 600, maxUses: 10 }
    const verdict = { approvalId: first['approval'].id, verdict: 'APPROVE', grant }
    await h.mutate('decideApproval', verdict, 'approval { id }')
    const passes = await call(tool['id'], 'update-tool', { id: other, description: 'b' })
    expect(passes).toMatchObject({ status: 'SUCCEEDED' })
    const stopped = await call(tool['id'], 'delete-tool', { id: one })
    expect(stopped).toMatchObject({ status: 'AWAITING_APPROVAL' })
  })
})

describe('what is refused', () => {
  test.each([
    [{ actions: ['tools', 'no-such'] }, {}, 'config.platform.actions.1', 'not a platform action'],
    [{ actions: [] }, {}, 'config.platform.actions', ''],
    [
      { actions: ['tools'] },
      { presetParameters: { nobody: 1 } },
      'presetParameters.nobody',
      'of any of the actions',
    ],
    [{ actions: ['tools'] }, { presetParameters: { first: 'x' } }, 'presetParameters.first', 'integer'],
    [
      { actions: ['tools'] },
      { outputSchema: { type: 'object' } },
      'outputSchema',
      'each action of this tool has its own',
    ],
    [{ actions: ['decide-approval'] }, {}, 'config.platform.actions.0', 'not a platform action'],
    [{ actions: ['create-api-key'] }, {}, 'config.platform.actions.0', 'not a platform action'],
  ])('%j with %j', async (platform, more, path, words) => {
    const made = await h.mutate(
      'createTool',
      { name: `bad_${++count}`, config: { platform }, ...more },
      'tool { id }',
    )
    const issue = made['issues'].find((one: { path: string[] }) => one.path.join('.') === `input.${path}`)
    expect(issue?.message, JSON.stringify(made)).toContain(words)
  })

  test('a call without an action, with an unknown one, or with one where there is none', async () => {
    const tool = await platformTool(['tools'])
    expect(await call(tool['id'], null, {})).toMatchObject({
      issues: [{ path: ['input', 'action'], message: expect.stringContaining('it has: tools') }],
    })
    expect(await call(tool['id'], 'agents', {})).toMatchObject({
      issues: [{ path: ['input', 'action'], message: expect.stringContaining('is no action of this tool') }],
    })
    expect(await call(fixtures.tools.look, 'tools', { word: 'a' })).toMatchObject({
      issues: [{ path: ['input', 'action'], message: expect.stringContaining('http tool') }],
    })
  })

  test('arguments that do not fit, before anything is written', async () => {
    const tool = await platformTool(['update-tool'])
    expect(await call(tool['id'], 'update-tool', { id: 5 })).toMatchObject({
      issues: [{ path: ['input', 'arguments', 'id'] }],
    })
  })

  test('two tools of an agent whose actions have one name', async () => {
    const tool = await platformTool(['tools'])
    const config = { client: { inputSchema: objectSchema({}) } }
    const other = await h.mutate('createTool', { name: `${tool['name']}_tools`, config }, 'tool { id }')
    const input = { name: 'collides', toolIds: [tool['id'], other['tool'].id] }
    expect(await h.mutate('createAgent', input, 'agent { id }')).toMatchObject({
      issues: [{ message: expect.stringContaining('gives two tools the runtime name') }],
    })
  })

  test('the list of actions needs tools:List, and evaluateGate takes the action', async () => {
    const { data } = await h.gql('{ platformActions { name description } }')
    expect(data['platformActions'].map((one: { name: string }) => one.name)).toContain('call-tool')
    const tool = await platformTool(['delete-tool', 'tools'])
    const query = `query($id: ID!, $action: String) { evaluateGate(toolId: $id, action: $action,
      arguments: { id: "tool_x" }) { stops } }`
    const stops = await h.gql(query, { id: tool['id'], action: 'delete-tool' })
    expect(stops.data['evaluateGate'].stops).toBe(true)
    const lacks = await h.gql(query, { id: tool['id'] })
    expect(lacks.errors?.[0]?.message).toContain('is required')
  })
})
