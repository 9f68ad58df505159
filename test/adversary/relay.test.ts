/**
 * Resources and prompts of an upstream obey every rule: off by default, then policy, gate, tool call record and audit.
 */
import { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { transportV2 } from '../support/mcp-clients.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

const clients: Client[] = []

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 300 } }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const modern = await forFile(startModern())
const key: string = (await gate.key({ role: 'CALLER' })).secret
beforeEach(() => void modern.seen.splice(0))
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
})

let made = 0
/** Makes an agent with an upstream that has these relay settings; returns its address, and the tool. */
async function agentWith(relay: object | null, more: object = {}, own: object = {}) {
  const config = { mcp: { url: modern.url, ...(relay ? { relay } : {}) } }
  const { tool, ...refused } = await h.mutate(
    'createTool',
    { name: `far_${++made}`, config, ...more },
    'tool { id name }',
  )
  if (!tool) throw new Error(JSON.stringify(refused))
  const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true }, ...own })
  return { url: `${h.url}/mcp/${agentId}`, toolId: tool.id as string, name: tool.name as string }
}

async function connected(url: string, secret = key): Promise<Client> {
  const client = new Client(
    { name: 't', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(transportV2(url, secret, () => {}))
  clients.push(client)
  return client
}

const sent = (method: string) => modern.seen.filter((one) => one.method === method)
const all = { resources: ['*'], prompts: ['*'] }
const uri = 'test://one'

describe('an upstream without relay settings', () => {
  test('offers neither resources nor prompts, and is not asked', async () => {
    const { url, name } = await agentWith(null)
    const client = await connected(url)
    expect(client.getServerCapabilities()).not.toHaveProperty('resources')
    expect(client.getServerCapabilities()).not.toHaveProperty('prompts')
    await expect(client.readResource({ uri })).rejects.toThrow()
    await expect(client.getPrompt({ name: `${name}_greet` })).rejects.toThrow()
    expect([...sent('resources/read'), ...sent('prompts/get')]).toEqual([])
  })

  test('reads no resources where only prompts are relayed', async () => {
    const { url, name } = await agentWith({ prompts: ['gr*'] })
    const client = await connected(url)
    expect((await client.listPrompts()).prompts.map((one) => one.name)).toEqual([`${name}_greet`])
    await expect(client.readResource({ uri })).rejects.toThrow()
    expect(sent('resources/read')).toEqual([])
  })
})

describe('patterns', () => {
  test('allow what they name, and no path that leaves it', async () => {
    const { url } = await agentWith({ resources: ['test://public/*', 'test://one'] })
    const client = await connected(url)
    expect((await client.readResource({ uri: 'test://public/a' })).contents).toHaveLength(1)
    expect((await client.readResource({ uri })).contents).toHaveLength(1)
    for (const other of [
      'test://private/a',
      'test://public/../private/a',
      'test://public/%2e%2e/private/a',
      'test://public/..%2fprivate',
      'test://public/.\\..\\private',
      'test://onemore',
    ])
      await expect(client.readResource({ uri: other }), other).rejects.toMatchObject({ code: -32602 })
    expect(sent('resources/read')).toHaveLength(2)
  })

  test('of prompts that name another prompt hide this one', async () => {
    const { url, name } = await agentWith({ prompts: ['other'], resources: ['*'] })
    const client = await connected(url)
    await expect(client.getPrompt({ name: `${name}_greet` })).rejects.toThrow()
    expect(sent('prompts/get')).toEqual([])
  })
})

test('a policy without tools:Read, or without tools:Call, reads nothing', async () => {
  const { url, toolId, name } = await agentWith(all)
  for (const action of ['tools:Read', 'tools:Call']) {
    const statement = [
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: [action], resource: [`tool/${toolId}`] },
    ]
    const denied = await gate.key({ policy: { statement } })
    const client = await connected(url, denied.secret)
    await expect(client.readResource({ uri })).rejects.toThrow()
    await expect(client.getPrompt({ name: `${name}_greet` })).rejects.toThrow()
  }
  expect([...sent('resources/read'), ...sent('prompts/get')]).toEqual([])
})

test('a read is recorded as a tool call and audited, with its requester', async () => {
  const { url, toolId, name } = await agentWith(all)
  const reader = await gate.key({ role: 'CALLER' })
  const client = await connected(url, reader.secret)
  await client.readResource({ uri })
  await client.getPrompt({ name: `${name}_greet`, arguments: { who: 'you all' } })
  const { data } = await h.gql(
    `query($id: ID!) { toolCalls(filter: { toolId: $id }) { nodes { name action status source requestedBy arguments attempts { outcome } } }
      auditEntries(first: 5) { nodes { action outcome principalId resource } } }`,
    { id: toolId },
  )
  const of = {
    status: 'SUCCEEDED',
    source: 'BRIDGE',
    requestedBy: reader.id,
    attempts: [{ outcome: 'SUCCEEDED' }],
  }
  expect(data['toolCalls'].nodes).toEqual([
    {
      ...of,
      name: `${name}_prompts_get`,
      action: 'mcp:prompts/get',
      arguments: { name: 'greet', arguments: { who: 'you all' } },
    },
    { ...of, name: `${name}_resources_read`, action: 'mcp:resources/read', arguments: { uri } },
  ])
  const entry = {
    action: 'tools:Call',
    outcome: 'EXECUTED',
    principalId: reader.id,
    resource: `tool/${toolId}`,
  }
  expect(data['auditEntries'].nodes.slice(0, 2)).toEqual([entry, entry])
})

describe.each([
  ['of the tool', { gate: { autoApprove: false } }, {}],
  ['of the agent', {}, { gate: { autoApprove: false } }],
])('the gate %s', (_whose, more, own) => {
  test('stops a read until an approval; the same request then gets it, once', async () => {
    const { url, toolId } = await agentWith(all, more, own)
    const client = await connected(url)
    const pending = await client.readResource({ uri }).catch((error: unknown) => error)
    expect(pending).toMatchObject({
      data: { type: 'pending_approval', approval_id: expect.stringMatching(/^apr_/) },
    })
    expect(sent('resources/read')).toEqual([])
    const { data } = await h.gql(
      '{ approvals(filter: { statuses: [PENDING] }, first: 1) { nodes { id arguments tool { id } toolCall { id } } } }',
    )
    const [asked] = data['approvals'].nodes
    expect(asked).toMatchObject({ arguments: { uri }, tool: { id: toolId } })
    await gate.decide(asked.id, 'APPROVE')
    await gate.untilCall(asked.toolCall.id, ['SUCCEEDED'])
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ text: 'the text' })
    expect(sent('resources/read')).toHaveLength(1)
  })

  test('reports a rejection, and nothing was read', async () => {
    const { url, name } = await agentWith(all, more, own)
    const client = await connected(url)
    await client.getPrompt({ name: `${name}_greet` }).catch(() => {})
    const { data } = await h.gql('{ approvals(filter: { statuses: [PENDING] }, first: 1) { nodes { id } } }')
    await gate.decide(data['approvals'].nodes[0].id, 'REJECT', { reason: 'no' })
    const refused = await client.getPrompt({ name: `${name}_greet` }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ data: { type: 'approval_rejected' } })
    expect(sent('prompts/get')).toEqual([])
  })
})

test('a read is not an action that callTool or a model can name', async () => {
  const { toolId } = await agentWith(all)
  const answer = await gate.call(toolId, { uri }, { action: 'mcp:resources/read' })
  expect(answer).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'action'] }] })
})
