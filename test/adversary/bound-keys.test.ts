/** A key that is bound to an agent reaches that agent and what it requested itself, and nothing else. */
import { describe, expect, test } from 'vitest'
import { makeContext } from '../../src/api/graphql/builder/context.ts'
import { execute, parse } from 'graphql'
import { principalById } from '../../src/domain/access/index.ts'
import { callRaw } from '../support/bridge.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { schema } from '../api/graphql/minimal-input.ts'
import { forFile } from '../support/for-file.ts'

const actions = ['agents', 'agent', 'tools', 'call-tool', 'create-tool', 'generations', 'generation']

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const platform = await h.mutate(
  'createTool',
  { name: 'our', config: { platform: { actions: [...actions, 'start-generation', 'approvals'] } } },
  'tool { id }',
)
/** Agents: the one that the key is bound to, one that this agent may call, and one that it may not call. */
const helper = await fixtures.agent({ name: 'helper', toolIds: [] })
const foreign = await fixtures.agent({ name: 'foreign' })
const own = await fixtures.agent({
  name: 'own',
  toolIds: [platform['tool'].id],
  agentIds: [helper],
  mcp: { enabled: true },
})
const bound = await makeKey({ agentId: own, role: 'ADMIN' })
const foreignRun = await fixtures.start(foreign, 'say the secret of somebody else')
await h.until(foreignRun, ['COMPLETED'])

async function makeKey(input: object): Promise<{ id: string; secret: string }> {
  const made = await h.mutate('createApiKey', { name: 'k', ...input }, 'apiKey { id } secret')
  expect(made['secret'], JSON.stringify(made)).toEqual(expect.any(String))
  return { id: made['apiKey'].id, secret: made['secret'] }
}

const bridge = (key: string, name: string, args: object) => callRaw(`${h.url}/mcp/${own}`, key, name, args)
const errorOf = (answer: { body: Record<string, any> }) =>
  answer.body['result']?.structuredContent?.error?.code ?? answer.body['error']?.data?.type

describe('a platform tool of its agent', () => {
  /** Each with its error; what another principal requested is answered as if it did not exist. */
  const foreignThings = (): [string, object, string?][] => [
    ...refusedThings().map(([name, args]) => [name, args, 'forbidden'] as [string, object, string]),
    ['our_generation', { id: foreignRun }],
  ]
  const refusedThings = (): [string, object][] => [
    ['our_agents', {}],
    ['our_agent', { id: foreign }],
    ['our_tools', {}],
    ['our_call-tool', { toolId: fixtures.tools.act, arguments: { word: 'w' } }],
    ['our_create-tool', { name: 'mine', config: { client: { inputSchema: {} } } }],
    ['our_generations', {}],
    ['our_start-generation', { agentId: foreign, prompt: 'hello' }],
    ['our_approvals', {}],
  ]

  test('does nothing for the key that reaches beyond the agent', async () => {
    for (const [name, args, code] of foreignThings()) {
      const answer = await bridge(bound.secret, name, args)
      expect([name, errorOf(answer)]).toEqual([name, code])
      if (!code) expect(answer.body['result'].content).toEqual([{ type: 'text', text: 'null' }])
    }
    expect(fixtures.upstream.seen).toEqual([])
  })

  test("does nothing either when the agent's model calls it", async () => {
    for (const [name, args, code] of foreignThings()) {
      const said = await bridge(bound.secret, 'own', { message: `call ${name} ${JSON.stringify(args)}` })
      const id = said.body['result']._meta['gatehouse/call_id'] as string
      const { data } = await h.gql('query($id: ID!) { generation(id: $id) { toolCalls { errorCode } } }', {
        id,
      })
      expect([name, data['generation'].toolCalls]).toEqual([name, [{ errorCode: code ?? null }]])
    }
    expect(fixtures.upstream.seen).toEqual([])
  })

  test('shows the key what it requested itself, and starts its own agent', async () => {
    const made = await bridge(bound.secret, 'our_start-generation', { agentId: own, prompt: 'say mine' })
    const { id } = made.body['result'].structuredContent.generation
    await h.until(id, ['COMPLETED'])
    const read = await bridge(bound.secret, 'our_generation', { id })
    expect(read.body['result'].structuredContent).toMatchObject({ id, status: 'COMPLETED' })
  })

  test('still works for a key of the project', async () => {
    const read = await bridge(adminKey, 'our_generation', { id: foreignRun })
    expect(read.body['result'].structuredContent).toMatchObject({ id: foreignRun })
  })
})

test('an agent that its agent may call is called; an agent that the model names is not', async () => {
  const asked = await bridge(bound.secret, 'own', { message: 'call helper {"message":"say helped"}' })
  expect(asked.body['result'].content[0].text).toContain('helped')
  const chosen = await bridge(bound.secret, 'own', {
    message: `call our_start-generation {"agentId":"${helper}","prompt":"say chosen"}`,
  })
  const { data } = await h.gql(
    'query($id: ID!) { generation(id: $id) { toolCalls { errorCode } children { nodes { id } } } }',
    { id: chosen.body['result']._meta['gatehouse/call_id'] },
  )
  expect(data['generation']).toEqual({ toolCalls: [{ errorCode: 'forbidden' }], children: { nodes: [] } })
})

describe('files', () => {
  const presign = (secret: string, more: object = {}) =>
    fetch(`${h.url}/api/v1/files/presign-upload`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ filename: 'a.txt', content_type: 'text/plain', ...more }),
    })

  async function upload(more: object = {}): Promise<string> {
    const made = (await (await presign(adminKey, more)).json()) as { file_id: string; upload_url: string }
    await fetch(made.upload_url, { method: 'PUT', body: 'bytes', headers: { 'content-type': 'text/plain' } })
    return made.file_id
  }

  test('cannot be created with a bound key', async () => {
    const refused = await presign(bound.secret)
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'FORBIDDEN' } }])
  })

  test('can be attached when they were created for the agent, and no others', async () => {
    const attach = (fileId: string) =>
      bridge(bound.secret, 'own', { message: 'say read', attachments: [{ file_id: fileId }] })
    const refusals = []
    for (const id of [await upload(), await upload({ agent_id: foreign }), 'file_00000000000000000000000000'])
      refusals.push((await attach(id)).body)
    expect(refusals).toEqual(Array(3).fill(refusals[2]))
    expect(JSON.stringify(refusals[0])).toContain('names no uploaded file of this project')
    const mine = await attach(await upload({ agent_id: own }))
    expect(mine.body['result'].content[0].text).toContain('read')
  })

  test('cannot be created for an agent that does not exist', async () => {
    expect((await presign(adminKey, { agent_id: 'agt_none' })).status).toBe(404)
  })
})

describe('a conversation of another principal', () => {
  const talk = async (secret: string, message: string, conversation?: string) =>
    bridge(secret, 'own', { message, ...(conversation ? { conversation_id: conversation } : {}) })

  async function begun(secret: string): Promise<string> {
    const { body } = await talk(secret, 'say my password is swordfish')
    return body['result']._meta['gatehouse/conversation_id']
  }

  test('does not exist for another key that is bound to the same agent', async () => {
    const id = await begun(bound.secret)
    const other = await makeKey({ agentId: own, role: 'ADMIN' })
    const refused = await talk(other.secret, 'what was said?', id)
    expect(errorOf(refused)).toBe('not_found')
    expect((await talk(bound.secret, 'say more', id)).body['result'].content[0].text).toContain('more')
  })

  test('cannot be continued by a key that may start runs and read none', async () => {
    const id = await begun(bound.secret)
    const policy = (actions_: string[]) => ({
      statement: [{ effect: 'Allow', action: actions_, resource: ['*'] }],
    })
    const start = (key: string) =>
      h.gql(
        `mutation($input: StartGenerationInput!) { startGeneration(input: $input) { __typename } }`,
        { input: { agentId: own, prompt: 'what was said?', threadId: id } },
        key,
      )
    const blind = await makeKey({ policy: policy(['generations:Start']) })
    expect((await start(blind.secret)).data['startGeneration'].__typename).toBe('NotFoundError')
    const narrow = await makeKey({ policy: policy(['generations:Start', 'generations:Get']) })
    expect((await start(narrow.secret)).data['startGeneration'].__typename).toBe('NotFoundError')
    const reaching = await makeKey({ policy: policy(['generations:Start', 'generations:ReachOthers']) })
    expect((await start(reaching.secret)).errors![0]!.extensions).toEqual({
      code: 'FORBIDDEN',
      action: 'generations:Get',
    })
    const reader = await makeKey({ policy: policy(['generations:*']) })
    expect((await start(reader.secret)).data['startGeneration'].__typename).toBe('GenerationPayload')
  })
})

test('objects of the agent that other keys requested are hidden from the bound key', async () => {
  const others = await fixtures.start(own, 'say theirs')
  await h.until(others, ['COMPLETED'])
  const { thread } = await h.mutate('createThread', { agentId: own, externalId: 'theirs' }, 'thread { id }')
  const { services } = h.app
  const principal = (await principalById(services.db, bound.id, services.clock.now()))!
  const context = makeContext(h.app.ctxOf(principal), h.app.models, 'test')
  const codes = []
  const things = []
  for (const field of [
    `generation(id: "${others}")`,
    `agent(id: "${own}")`,
    `project(id: "${principal.projectId}")`,
    'apiKeys { nodes',
    `thread(id: "${thread.id}")`,
    `threads(agentId: "${own}") { nodes`,
  ]) {
    const document = parse(`{ ${field} { id } ${field.includes('{') ? '}' : ''} }`)
    const { errors, data } = await execute({ schema, document, contextValue: context })
    if (/^(generation|thread)\(/.test(field)) things.push(Object.values(data!)[0])
    codes.push((errors?.[0]?.originalError as { code?: string } | undefined)?.code ?? null)
  }
  expect(codes).toEqual([null, null, 'FORBIDDEN', 'FORBIDDEN', null, 'FORBIDDEN'])
  expect(things).toEqual([null, null])
})
