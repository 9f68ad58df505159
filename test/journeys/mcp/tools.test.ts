/** Foreign MCP servers as tools: discovered, called by models, people and MCP clients, gated, and unreachable. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { describeWithPeers, hasPeers, peerTest } from '../../support/peers.ts'
import { makeFixtures, objectSchema } from '../../support/fixtures.ts'
import { startEverything, startModern } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

let count = 0

const payTool = (description: string, properties: object = {}) => ({
  name: 'pay',
  description,
  inputSchema: {
    type: 'object',
    properties: { amount: { type: 'number' }, account: { type: 'string' }, ...properties },
    required: ['amount', 'account'],
  },
})
const said = (text: string) => ({ content: [{ type: 'text', text }] })
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const everything = hasPeers ? await forFile(startEverything('streamableHttp')) : null
const modern = await forFile(startModern())
modern.tools.set('pay', { tool: payTool('Pays.'), run: (args) => said(`paid ${JSON.stringify(args)}`) })
modern.tools.set('look', {
  tool: { name: 'look', annotations: { readOnlyHint: true } },
  run: () => said('looked'),
})
modern.tools.set('drop', {
  tool: { name: 'drop', annotations: { destructiveHint: true } },
  run: () => said('dropped'),
})
modern.tools.set('break', { tool: { name: 'break' }, run: () => ({ ...said('it broke'), isError: true }) })

const callsOf = (name: string) =>
  modern.seen.filter((one) => one.method === 'tools/call' && one.params.name === name)

const fields = `tool { id name version ... on McpTool { url allow deny trustHints inputSchema gates { action gate { mode } }
  actions { action runtimeName title description inputSchema annotations { readOnlyHint destructiveHint }
    gate { mode source } } } }`

async function mcpTool(mcp: object, more: object = {}): Promise<Record<string, any>> {
  const made = await h.mutate('createTool', { name: `srv${++count}`, config: { mcp }, ...more }, fields)
  if (!made['tool']) throw new Error(JSON.stringify(made))
  return made['tool']
}

const shown = `toolCall { id name action status isError errorCode content structuredContent
  approval { id status voidReason } }`

async function call(toolId: string, action: string, args: object = {}): Promise<Record<string, any>> {
  const made = await h.mutate('callTool', { toolId, action, arguments: args }, shown)
  return made['toolCall'] ?? made
}

describeWithPeers('the reference server', () => {
  test('is one record with all its tools, which are discovered when it is saved', async () => {
    const tool = await mcpTool({ url: everything!.url })
    const names = tool['actions'].map((one: any) => one.runtimeName)
    expect(names).toContain(`${tool['name']}_get-sum`)
    expect(names.length).toBeGreaterThan(8)
    expect(tool['inputSchema']).toBeNull()
    expect(await call(tool['id'], 'get-sum', { a: 2, b: 3 })).toMatchObject({
      name: `${tool['name']}_get-sum`,
      action: 'get-sum',
      status: 'SUCCEEDED',
      content: [{ type: 'text', text: expect.stringContaining('5') }],
    })
    const image = await call(tool['id'], 'get-tiny-image')
    expect(image['content'].map((block: any) => block.type)).toEqual(['text', 'image', 'text'])
  })

  test('a model uses its tools by runtime name, and only those that are allowed', async () => {
    const tool = await mcpTool({ url: everything!.url, allow: ['get-sum', 'echo'], deny: ['echo'] })
    expect(tool['actions'].map((one: any) => one.action)).toEqual(['get-sum'])
    const agentId = await fixtures.agent({ toolIds: [tool['id']] })
    const sum = `${tool['name']}_get-sum`
    const id = await fixtures.start(agentId, `call ${sum} {"a":20,"b":22}`)
    const done = await h.until(id, ['COMPLETED'], 'toolCalls { name action status content }')
    expect(done['toolCalls']).toMatchObject([{ name: sum, action: 'get-sum', status: 'SUCCEEDED' }])
    expect(JSON.stringify(done['toolCalls'][0].content)).toContain('42')
    const other = await fixtures.start(agentId, `call ${tool['name']}_echo {"message":"x"}`)
    const refused = await h.until(other, ['COMPLETED'], 'toolCalls { status errorCode }')
    expect(refused['toolCalls']).toEqual([{ status: 'ERRORED', errorCode: 'unknown_tool' }])
  })

  test('a chosen tool and a stop condition go by runtime name', async () => {
    const tool = await mcpTool({ url: everything!.url })
    const name = `${tool['name']}_get-sum`
    const settings = { toolIds: [tool['id']], stopConditions: [{ hasToolCall: name }] }
    await fixtures.agent({ ...settings, toolChoice: { tool: name } })
    const wrong = { name: 'wrong', toolIds: [tool['id']], toolChoice: { tool: 'get-sum' } }
    expect(await h.mutate('createAgent', wrong, 'agent { id }')).toMatchObject({
      issues: [{ path: ['input', 'toolChoice', 'tool'] }],
    })
  })
})

describe('presets', () => {
  test('are hidden from the schema of an action that has them, always override, and are left out elsewhere', async () => {
    const tool = await mcpTool({ url: modern.url }, { presetParameters: { account: 'shared' } })
    const pay = tool['actions'].find((one: any) => one.action === 'pay')
    expect(Object.keys(pay.inputSchema.properties)).toEqual(['amount'])
    const done = await call(tool['id'], 'pay', { amount: 3, account: 'mine' })
    expect(done).toMatchObject({ content: [{ text: 'paid {"amount":3,"account":"shared"}' }] })
    expect(callsOf('pay').at(-1)!.params.arguments).toEqual({ amount: 3, account: 'shared' })
    await call(tool['id'], 'look')
    expect(callsOf('look').at(-1)!.params.arguments).toEqual({})
  })

  test('arguments are checked before anything is sent', async () => {
    const tool = await mcpTool({ url: modern.url })
    const before = callsOf('pay').length
    expect(await call(tool['id'], 'pay', { amount: 'x' })).toMatchObject({
      issues: expect.arrayContaining([expect.objectContaining({ path: ['input', 'arguments', 'amount'] })]),
    })
    expect(callsOf('pay')).toHaveLength(before)
  })
})

describe('the gate', () => {
  test('is that of the action, else of the tool, else what the server calls destructive', async () => {
    const gates = [
      { action: 'pay', gate: { mode: 'WHEN', when: { properties: { amount: { minimum: 100 } } } } },
    ]
    const tool = await mcpTool({ url: modern.url, gates })
    const modes = Object.fromEntries(tool['actions'].map((one: any) => [one.action, one.gate.mode]))
    expect(modes).toEqual({ pay: 'WHEN', look: 'NEVER', drop: 'ALWAYS', break: 'NEVER' })
    expect(await call(tool['id'], 'pay', { amount: 5, account: 'a' })).toMatchObject({ status: 'SUCCEEDED' })
    expect(await call(tool['id'], 'drop')).toMatchObject({ status: 'AWAITING_APPROVAL' })
    const stopped = await call(tool['id'], 'pay', { amount: 500, account: 'a' })
    expect(stopped).toMatchObject({ status: 'AWAITING_APPROVAL' })
    await gate.decide(stopped['approval'].id, 'APPROVE')
    expect(await gate.untilCall(stopped['id'], ['SUCCEEDED'])).toMatchObject({ isError: false })
    expect(callsOf('pay').at(-1)!.params._meta['gatehouse/call_id']).toBe(stopped['id'])
  })

  test('an approval is void and asked again when the server has changed the tool since', async () => {
    const tool = await mcpTool({ url: modern.url }, { gate: { autoApprove: false } })
    const stopped = await call(tool['id'], 'pay', { amount: 1, account: 'a' })
    const before = callsOf('pay').length
    modern.tools.get('pay')!.tool = payTool('Pays.', { copy: { type: 'boolean' } })
    // The upstream sends no notification: the check before the run finds the change.
    await gate.decide(stopped['approval'].id, 'APPROVE')
    const asked = await gate.untilCall(stopped['id'], ['AWAITING_APPROVAL'])
    expect(asked['approval'].id).not.toBe(stopped['approval'].id)
    expect(callsOf('pay')).toHaveLength(before)
    const old = await h.gql('query($id: ID!) { approval(id: $id) { status voidReason } }', {
      id: stopped['approval'].id,
    })
    expect(old.data['approval']).toEqual({ status: 'VOIDED', voidReason: 'TOOL_CHANGED' })
    await gate.decide(asked['approval'].id, 'APPROVE')
    expect(await gate.untilCall(stopped['id'], ['SUCCEEDED'])).toMatchObject({ isError: false })
    modern.tools.get('pay')!.tool = payTool('Pays.')
  })

  test('an approval stands when the server has changed what describes the tool, and says so to clients', async () => {
    const tool = await mcpTool({ url: modern.url }, { gate: { autoApprove: false } })
    const stopped = await call(tool['id'], 'pay', { amount: 1, account: 'a' })
    const amount = { type: 'number', description: 'In euros.' }
    modern.tools.get('pay')!.tool = {
      ...payTool('Pays, as ever.', { amount }),
      annotations: { title: 'Pay', openWorldHint: true },
    } as ReturnType<typeof payTool>
    await gate.decide(stopped['approval'].id, 'APPROVE')
    expect(await gate.untilCall(stopped['id'], ['SUCCEEDED', 'AWAITING_APPROVAL'])).toMatchObject({
      status: 'SUCCEEDED',
      approval: { id: stopped['approval'].id },
    })
    const served = await h.gql(
      `query($id: ID!) { tool(id: $id) { ... on McpTool { actions { description } } } }`,
      {
        id: tool['id'],
      },
    )
    expect(served.data['tool'].actions).toContainEqual({ description: 'Pays, as ever.' })
    modern.tools.get('pay')!.tool = payTool('Pays.')
  })

  test('an approved call whose tool the server has taken away does not run', async () => {
    const tool = await mcpTool({ url: modern.url }, { gate: { autoApprove: false } })
    const stopped = await call(tool['id'], 'look')
    const taken = modern.tools.get('look')!
    modern.tools.delete('look')
    const before = callsOf('look').length
    await gate.decide(stopped['approval'].id, 'APPROVE')
    const gone = await gate.untilCall(stopped['id'], ['ERRORED'])
    expect(gone).toMatchObject({ isError: true, errorCode: 'tool_deleted' })
    expect(callsOf('look')).toHaveLength(before)
    modern.tools.set('look', taken)
  })
})

describe('over MCP', () => {
  test('its tools are listed and called like our own, with their errors', async () => {
    const tool = await mcpTool({ url: modern.url }, { name: 'far' })
    const agentId = await fixtures.agent({ toolIds: [tool['id']], mcp: { enabled: true } })
    const url = `${h.url}/mcp/${agentId}`
    const { secret } = await gate.key({ role: 'CALLER' })
    const { body } = await rpc(url, secret, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const names = body['result'].tools.map((one: any) => one.name)
    expect(names.slice(0, 4)).toEqual(['far_break', 'far_drop', 'far_look', 'far_pay'])
    const looked = await callRaw(url, secret, 'far_look', {})
    expect(looked.body['result']).toMatchObject({ content: [{ text: 'looked' }], isError: false })
    const broke = await callRaw(url, secret, 'far_break', {})
    expect(broke.body['result']).toMatchObject({ content: [{ text: 'it broke' }], isError: true })
  })
})

describe('names', () => {
  test('that collide when a server changes are reported, and the first tool is still called', async () => {
    const own = await startModern()
    own.tools.set('one', { tool: { name: 'one' }, run: () => said('theirs') })
    const tool = await mcpTool({ url: own.url }, { name: 'near' })
    const config = { client: { inputSchema: objectSchema({}) } }
    const client = await h.mutate('createTool', { name: 'near_two', config }, 'tool { id }')
    const agentId = await fixtures.agent({ toolIds: [tool['id'], client['tool'].id] })
    const text = 'query($id: ID!) { agent(id: $id) { collidingNames } }'
    const colliding = async () => (await h.gql(text, { id: agentId })).data['agent'].collidingNames
    expect(await colliding()).toEqual([])
    own.tools.set('two', { tool: { name: 'two' }, run: () => said('theirs, too') })
    await h.mutate('refreshUpstream', { toolId: tool['id'] }, 'tool { id }')
    expect(await colliding()).toEqual(['near_two'])
    const id = await fixtures.start(agentId, 'call near_two {}')
    const done = await h.until(id, ['COMPLETED'], 'toolCalls { content }')
    expect(JSON.stringify(done['toolCalls'])).toContain('theirs, too')
    await own.kill()
  })

  test('of a server that was not reached yet may be chosen all the same', async () => {
    const tool = await mcpTool({ url: 'http://127.0.0.1:9/mcp' }, { name: 'unseen' })
    const settings = { toolIds: [tool['id']], stopConditions: [{ hasToolCall: 'unseen_any' }] }
    await fixtures.agent(settings)
    const other = { name: 'other', toolIds: [tool['id']], stopConditions: [{ hasToolCall: 'seen_any' }] }
    expect(await h.mutate('createAgent', other, 'agent { id }')).toMatchObject({
      issues: [{ path: ['input', 'stopConditions', '0', 'hasToolCall'] }],
    })
  })
})

describe('a server that goes away', () => {
  test('keeps its tools, fails with unreachable, and works again when it is back', async () => {
    const server = await startModern()
    server.tools.set('one', { tool: { name: 'one' }, run: () => said('one') })
    const tool = await mcpTool({ url: server.url })
    expect(await call(tool['id'], 'one')).toMatchObject({ status: 'SUCCEEDED' })
    await server.kill()
    expect(await call(tool['id'], 'one')).toMatchObject({ status: 'ERRORED', errorCode: 'unreachable' })
    const text = 'query($id: ID!) { tool(id: $id) { ... on McpTool { actions { action } } } }'
    const { data } = await h.gql(text, { id: tool['id'] })
    expect(data['tool'].actions).toEqual([{ action: 'one' }])
    await server.restart()
    await expect.poll(() => call(tool['id'], 'one')).toMatchObject({ status: 'SUCCEEDED' })
    await server.kill()
  })

  test('that cannot be reached is saved all the same, without tools', async () => {
    const tool = await mcpTool({ url: 'http://127.0.0.1:9/mcp' })
    expect(tool['actions']).toEqual([])
    expect(await call(tool['id'], 'any')).toMatchObject({
      issues: [{ path: ['input', 'action'], message: expect.stringContaining('is no action of this tool') }],
    })
  })
})

describe('what is refused at save', () => {
  test.each([
    [{ url: 'ftp://x/mcp' }, 'url'],
    [{ url: 'http://127.0.0.1:9/{{secret:NOPE}}' }, 'url'],
    [{ url: 'http://127.0.0.1:9/', headers: { 'mcp-session-id': 'x' } }, 'headers.mcp-session-id'],
    [{ url: 'http://127.0.0.1:9/', headers: { a: '{{secret:NOPE}}' } }, 'headers.a'],
    [{ url: 'http://127.0.0.1:9/', gates: [{ action: 'a', gate: { mode: 'WHEN' } }] }, 'gates.0.gate.when'],
    [
      {
        url: 'http://127.0.0.1:9/',
        auth: { clientCredentials: { clientId: 'c', clientSecret: 'NOPE', issuer: 'https://as.test' } },
      },
      'auth',
    ],
  ])('%j', async (mcp, path) => {
    const made = await h.mutate('createTool', { name: `bad${++count}`, config: { mcp } }, 'tool { id }')
    const paths = (made['issues'] ?? []).map((issue: any) => issue.path.join('.'))
    expect(paths, JSON.stringify(made)).toContain(`input.config.mcp.${path}`)
  })

  test('an outputSchema, and an update to another kind', async () => {
    const config = { mcp: { url: modern.url } }
    const made = await h.mutate('createTool', { name: 'out', config, outputSchema: {} }, 'tool { id }')
    expect(made).toMatchObject({ issues: [{ path: ['input', 'outputSchema'] }] })
    const tool = await mcpTool({ url: modern.url })
    const client = { client: { inputSchema: objectSchema({}) } }
    const changed = await h.mutate('updateTool', { id: tool['id'], config: client }, 'tool { id }')
    expect(changed).toMatchObject({ issues: [{ path: ['input', 'config'] }] })
  })

  peerTest('an update of the title does not discover again, another URL is another server', async () => {
    const own = await startModern()
    own.tools.set('one', { tool: { name: 'one' }, run: () => said('one') })
    const tool = await mcpTool({ url: own.url })
    const methods = () => own.seen.map(({ method }) => method)
    const discoveries = () => methods().filter((method) => method === 'tools/list').length
    // One more when it listens, and its worker may have begun one beside that of the mutation: none is left to come when the row
    // waits for the next minutes.
    const rests = sql`select 1 from upstreams where id = ${tool['id']} and wake_at > now() + interval '2 minutes'`
    const isQuiet = async () =>
      methods().includes('subscriptions/listen') &&
      methods().lastIndexOf('tools/list') > methods().indexOf('subscriptions/listen') &&
      (await query(h.app.services.db, rests)).length === 1
    await expect.poll(isQuiet).toBe(true)
    const before = discoveries()
    const named = await h.mutate('updateTool', { id: tool['id'], title: 'Far away' }, fields)
    expect(named['tool']).toMatchObject({ version: 2, actions: expect.any(Array) })
    expect(named['tool'].actions).toHaveLength(1)
    expect(discoveries()).toBe(before)
    const config = { mcp: { url: everything!.url } }
    const moved = await h.mutate('updateTool', { id: tool['id'], config }, fields)
    expect(moved['tool'].actions.map((one: any) => one.action)).toContain('get-sum')
    await own.kill()
  })
})
