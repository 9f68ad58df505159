/** Prompts, resources and input requests relayed between upstreams and MCP clients, and who may use them. */
import { inputRequired, type InputRequest } from '@modelcontextprotocol/server'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { gateFixtures, type GateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { connectV1, connectV2 } from '../../support/mcp-clients.ts'
import { modernRpc } from '../../support/mcp-wire.ts'
import { peerTest as test } from '../../support/peers.ts'
import { makeFixtures, type Fixtures } from '../../support/fixtures.ts'
import {
  startEverything,
  startModern,
  type ModernServer,
  type RunningServer,
} from '../../support/upstream-servers.ts'

let h: Harness
let fixtures: Fixtures
let gate: GateFixtures
let modern: ModernServer
let everything: RunningServer
let agentId: string
let toolId: string

const relayAll = { resources: ['*'], prompts: ['*'] }
const said = (text: string) => ({ content: [{ type: 'text', text }] })
/** What a person answers to the question. */
const accept = (name: string) => ({ action: 'accept' as const, content: { name } })
const question: InputRequest = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who are you?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
}

beforeAll(async () => {
  h = await openHarness()
  fixtures = await makeFixtures(h)
  gate = gateFixtures(h, fixtures)
  ;[everything, modern] = await Promise.all([startEverything('streamableHttp'), startModern()])
  modern.tools.set('greet', {
    tool: { name: 'greet' },
    run: (_args, mcp) => {
      const name = mcp.mcpReq.inputResponses?.user?.content?.name
      return name ? said(`Hello, ${name}`) : inputRequired({ inputRequests: { user: question } })
    },
  })
  const make = async (name: string, url: string) =>
    (await h.mutate('createTool', { name, config: { mcp: { url, relay: relayAll } } }, 'tool { id }'))['tool']
      .id as string
  toolId = await make('far', modern.url)
  const toolIds = [toolId, await make('every', everything.url)]
  agentId = await fixtures.agent({ toolIds, mcp: { enabled: true } })
})
afterAll(async () => {
  await Promise.all([fixtures?.close(), everything?.kill(), modern?.kill()])
  await h?.stop()
})

const agentUrl = () => `${h.url}/mcp/${agentId}`
const connected = (key: string, capabilities: object = {}) => connectV2(agentUrl(), key, { capabilities })

const callerKey = async () => (await gate.key({ role: 'CALLER' })).secret
const ledger = async (name: string) => {
  const query = '{ toolCalls(first: 1) { nodes { name status attempt attempts { outcome } } } }'
  const { data } = await h.gql(query)
  expect(data['toolCalls'].nodes[0].name).toBe(name)
  return data['toolCalls'].nodes[0]
}

describe('prompts and resources', () => {
  test('of all upstreams are listed, prompts under our names, and read from the upstream that has them', async () => {
    const client = await connected(await callerKey())
    const { prompts } = await client.listPrompts()
    expect(prompts.map((prompt) => prompt.name)).toEqual(
      expect.arrayContaining(['far_greet', 'every_simple-prompt']),
    )
    const got = await client.getPrompt({ name: 'far_greet', arguments: { who: 'you all' } })
    expect(got.messages[0]!.content).toMatchObject({ text: 'Hello you all' })
    const { resources } = await client.listResources()
    expect(resources.map((one) => one.uri)).toContain('test://one')
    expect((await client.readResource({ uri: 'test://one' })).contents[0]).toMatchObject({ text: 'the text' })
    expect((await client.readResource({ uri: 'test://any-other' })).contents[0]).toMatchObject({
      text: 'the text',
    })
    await expect(client.readResource({ uri: 'nobody://has' })).rejects.toMatchObject({ code: -32602 })
    await expect(client.getPrompt({ name: 'greet' })).rejects.toThrow()
    await client.close()
  })

  test('do not exist for a key that may not call their tool', async () => {
    const policy = {
      statement: [
        { effect: 'Allow', action: ['*'], resource: ['*'] },
        { effect: 'Deny', action: ['tools:Call'], resource: [`tool/${toolId}`] },
      ],
    }
    const { secret } = await gate.key({ policy })
    const client = await connected(secret)
    const { prompts } = await client.listPrompts()
    expect(prompts.map((prompt) => prompt.name)).not.toContain('far_greet')
    await expect(client.getPrompt({ name: 'far_greet' })).rejects.toThrow()
    await expect(client.readResource({ uri: 'test://one' })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })
})

describe('a tool that requires input', () => {
  test('gets the response in the next round, as one call with two attempts', async () => {
    const client = await connected(await callerKey(), { elicitation: {} })
    client.setRequestHandler('elicitation/create', () => accept('Ada'))
    const result = await client.callTool({ name: 'far_greet', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello, Ada' }])
    expect(await ledger('far_greet')).toMatchObject({
      status: 'SUCCEEDED',
      attempt: 2,
      attempts: [{ outcome: 'AWAITING_CLIENT' }, { outcome: 'SUCCEEDED' }],
    })
    await client.close()
  })

  test('takes no response of another caller, or with a changed requestState', async () => {
    const [mine, other] = [await callerKey(), await callerKey()]
    const send = (key: string, more: object = {}) => {
      const params = { name: 'far_greet', arguments: {}, ...more }
      return modernRpc(agentUrl(), key, 'tools/call', params, { elicitation: {} })
    }
    const asked = (await send(mine)).body['result']
    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { user: question } })
    const inputResponses = { user: { action: 'accept', content: { name: 'Eve' } } }
    const { requestState } = asked
    expect((await send(other, { requestState, inputResponses })).body['error']).toMatchObject({
      code: -32602,
    })
    const changed = requestState.slice(0, -2) + (requestState.endsWith('A') ? 'BB' : 'AA')
    expect((await send(mine, { requestState: changed, inputResponses })).body['error']).toMatchObject({
      code: -32602,
    })
    expect(await ledger('far_greet')).toMatchObject({ status: 'AWAITING_CLIENT' })
    const twice = await Promise.all([1, 2, 3].map(() => send(mine, { requestState, inputResponses })))
    expect(twice.map(({ body }) => body['result'].content?.[0].text)).toEqual(Array(3).fill('Hello, Eve'))
    expect(await ledger('far_greet')).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
  })

  test('is refused for a client without the capability, and in a run of the agent', async () => {
    const client = await connected(await callerKey())
    await expect(client.callTool({ name: 'far_greet', arguments: {} })).rejects.toMatchObject({
      code: -32021,
    })
    await client.close()
    const id = await fixtures.start(agentId, 'call far_greet {}')
    const done = await h.until(id, ['COMPLETED'], 'toolCalls { status errorCode }')
    expect(done['toolCalls']).toEqual([{ status: 'ERRORED', errorCode: 'upstream_error' }])
  })
})

describe('a legacy client', () => {
  test('gets the request on its own stream, from upstreams of both protocol eras', async () => {
    const { client } = await connectV1(agentUrl(), await callerKey(), { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => accept('Bob'))
    const modernOne = await client.callTool({ name: 'far_greet', arguments: {} })
    expect(modernOne.content).toEqual([{ type: 'text', text: 'Hello, Bob' }])
    const listed = (await client.listTools()).tools.map((tool) => tool.name)
    const elicits = listed.find((name) => name.startsWith('every_') && name.includes('elicitation'))
    if (elicits) {
      const legacyOne = await client.callTool({ name: elicits, arguments: {} })
      expect(JSON.stringify(legacyOne.content)).toContain('Bob')
    }
    await client.close()
  })
})

describe.skipIf(!hasPostgres)('two replicas', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let pair: Harness[]

  beforeAll(async () => {
    database = await postgresDatabase()
    pair = [
      await openHarness({ databaseUrl: database.url }),
      await openHarness({ databaseUrl: database.url }),
    ]
  })
  afterAll(async () => {
    await Promise.all(pair.map((one) => one.stop()))
    await database.drop()
  })

  test('a legacy client may send its response to the other one', async () => {
    const [first, second] = pair as [Harness, Harness]
    const config = { mcp: { url: modern.url, relay: relayAll } }
    const { tool } = await first.mutate('createTool', { name: 'far', config }, 'tool { id }')
    const { agent } = await first.mutate(
      'createAgent',
      { name: 'a', toolIds: [tool.id], mcp: { enabled: true } },
      'agent { id }',
    )
    const { secret } = await first.mutate('createApiKey', { name: 'k', role: 'CALLER' }, 'secret')
    const reroute: typeof fetch = (input, init) => {
      const isResponse = typeof init?.body === 'string' && init.body.includes('"result"')
      return fetch(isResponse ? String(input).replace(first.url, second.url) : input, init)
    }
    const url = `${first.url}/mcp/${agent.id}`
    const options = { capabilities: { elicitation: {} }, fetch: reroute }
    const { client } = await connectV1(url, secret, options)
    client.setRequestHandler(ElicitRequestSchema, () => accept('Cy'))
    const result = await client.callTool({ name: 'far_greet', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello, Cy' }])
    await client.close()
  })
})
