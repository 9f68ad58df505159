/** Two callers of one project: neither reads, cancels, answers or writes into what the other requested, in any API. */
import { describe, expect, test } from 'vitest'
import { query as queryRows } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { callRaw } from '../support/bridge.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { runApis } from '../support/run-apis.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

type Shown = Record<string, any>
interface Caller {
  id: string
  secret: string
}

/** The owner of everything, another caller with the same rights, and one whose policy reaches others. */

const callerActions = ['*:Get', '*:List', 'generations:*', 'tools:Call', 'events:Subscribe', 'files:Create']
const policyOf = (action: string[]) => ({ statement: [{ effect: 'Allow', action, resource: ['*'] }] })

async function makeKey(input: object): Promise<Caller> {
  const made = await h.mutate('createApiKey', { name: 'k', ...input }, 'apiKey { id } secret')
  return { id: made['apiKey'].id, secret: made['secret'] }
}

async function start(key: string, prompt: string, more: object = {}): Promise<string> {
  const input = { agentId: door.agent.id, prompt, ...more }
  return (await h.mutate('startGeneration', input, 'generation { id }', key))['generation'].id
}

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const schema = { type: 'object', properties: { word: { type: 'string' } } }
const config = { http: { url: `${fixtures.upstream.url}/pay`, inputSchema: schema } }
const gate = { autoApprove: false }
const gatedTool: string = (await h.mutate('createTool', { name: 'pay', config, gate }, 'tool { id }'))['tool']
  .id
const toolIds = [...Object.values(fixtures.tools), gatedTool]
const sharedId = await fixtures.agent({ name: 'shared', toolIds, mcp: { enabled: true } })
const door = { url: h.url, key: adminKey, agent: { id: sharedId, name: 'shared' } }
const [owner, other] = [await makeKey({ role: 'CALLER' }), await makeKey({ role: 'CALLER' })]
const reaching = await makeKey({ policy: policyOf(callerActions) })
const prompt = 'call ask {"word":"w"}\ncall pay {"word":"w"}\nthen\nsay done'
const generation = await start(owner.secret, prompt, { externalThreadId: 'chat-7' })
const found = await h.until(
  generation,
  ['REQUIRES_ACTION'],
  'threadId requiredAction { toolCalls { id } approvals { id toolCall { id } } }',
)
const { toolCalls, approvals } = found['requiredAction']
const direct = await h.mutate(
  'callTool',
  { toolId: gatedTool, arguments: { word: 'w' } },
  'toolCall { id }',
  owner.secret,
)
const upload = { filename: 'a.txt', contentType: 'text/plain' }
const file = await h.mutate('presignUpload', upload, 'file { id } uploadUrl', owner.secret)
await fetch(file['uploadUrl'], { method: 'PUT', body: 'mine' })
/** What the owner requested: ids by what they are of. */
const ids: Record<'generation' | 'thread' | 'toolCall' | 'approval' | 'file' | 'asked' | 'direct', string> = {
  generation,
  thread: found['threadId'],
  toolCall: toolCalls[0].id,
  approval: approvals[0].id,
  asked: approvals[0].toolCall.id,
  direct: direct['toolCall'].id,
  file: file['file'].id,
}
const run = { id: generation, externalId: 'chat-7' }

const read = async (kind: string, id: string, key: string) => {
  const { data, errors } = await h.gql(`query($id: ID!) { ${kind}(id: $id) { id } }`, { id }, key)
  return errors?.[0]?.extensions?.['code'] ?? data?.[kind]?.id ?? null
}

/** What the owner's run is waiting for: a caller that may not touch it leaves it as it is. */
async function untouched(): Promise<void> {
  const { data } = await h.gql(
    `query($id: ID!) { generation(id: $id) { status requiredAction { toolCalls { id } approvals { id } }
      thread { generations { nodes { id } } messages(first: 50) { nodes { id } } } } }`,
    { id: ids.generation },
  )
  expect(data['generation']).toMatchObject({
    status: 'REQUIRES_ACTION',
    requiredAction: { toolCalls: [{ id: ids.toolCall }], approvals: [{ id: ids.approval }] },
    thread: { generations: { nodes: [{ id: ids.generation }] } },
  })
}

const kinds = ['generation', 'thread', 'toolCall', 'approval', 'file'] as const

describe('GraphQL', () => {
  test.each(kinds)(
    'a %s is read by its owner and by a key that reaches others, and by nobody else',
    async (kind) => {
      expect(await read(kind, ids[kind], owner.secret)).toBe(ids[kind])
      expect(await read(kind, ids[kind], reaching.secret)).toBe(ids[kind])
      expect(await read(kind, ids[kind], other.secret)).toBeNull()
      expect(await read('node', ids[kind], other.secret)).toBeNull()
    },
  )

  test.each(['asked', 'direct'] as const)('the call %s is not read by another caller', async (name) => {
    expect(await read('toolCall', ids[name], owner.secret)).toBe(ids[name])
    expect(await read('toolCall', ids[name], other.secret)).toBeNull()
    const { data } = await h.gql('{ auditEntries(first: 1) { nodes { action resource outcome } } }')
    const denial = { action: 'toolCalls:Get', resource: `toolCall/${ids[name]}`, outcome: 'DENIED' }
    expect(data['auditEntries'].nodes).toEqual([denial])
  })

  test('lists hold only what is the reader’s own', async () => {
    const agent = door.agent.id
    const query = `query($agent: ID!) { generations { nodes { id } }
      threads(agentId: $agent) { nodes { id generations { nodes { id } } } } }`
    const lists = async (key: string) => {
      const { data, errors } = await h.gql(query, { agent }, key)
      expect(errors).toBeUndefined()
      return [data['generations'].nodes, data['threads'].nodes]
    }
    const nodes = [{ id: ids.generation }]
    const all = [nodes, [{ id: ids.thread, generations: { nodes } }]]
    expect(await lists(owner.secret)).toEqual(all)
    expect(await lists(reaching.secret)).toEqual(all)
    expect(await lists(other.secret)).toEqual([[], []])
  })

  test('a policy that lists calls, approvals and files lists its own, and all with generations:ReachOthers', async () => {
    const actions = ['toolCalls:List', 'approvals:List', 'files:List']
    const narrow = await makeKey({ policy: policyOf(actions) })
    const query = '{ toolCalls { nodes { id } } approvals { nodes { id } } files { nodes { id } } }'
    const counts = async (key: string) => {
      const { data } = await h.gql(query, {}, key)
      return ['toolCalls', 'approvals', 'files'].map((name) => data[name].nodes.length > 0)
    }
    expect(await counts(narrow.secret)).toEqual([false, false, false])
    expect(await counts(reaching.secret)).toEqual([true, true, true])
    const counting = await h.gql('{ approvalTally { total { pending } } }', {}, narrow.secret)
    expect(counting.data['approvalTally']).toEqual({ total: { pending: 0 } })
  })

  test.each<[string, () => [string, object, string]]>([
    [
      'submitToolOutputs',
      () => [
        'submitToolOutputs',
        { generationId: ids.generation, outputs: [{ toolCallId: ids.toolCall, output: 'forged' }] },
        'outcomes { status }',
      ],
    ],
    ['cancelGeneration', () => ['cancelGeneration', { generationId: ids.generation }, 'generation { id }']],
    ['cancelToolCall', () => ['cancelToolCall', { toolCallId: ids.direct }, 'toolCall { id }']],
    [
      'startGeneration in the thread',
      () => [
        'startGeneration',
        { agentId: door.agent.id, threadId: ids.thread, prompt: 'what was said?' },
        'generation { id }',
      ],
    ],
    [
      'startGeneration with the file',
      () => [
        'startGeneration',
        { agentId: door.agent.id, prompt: 'read', attachments: [{ fileId: ids.file }] },
        'generation { id }',
      ],
    ],
  ])('%s is refused', async (_name, made) => {
    const [name, input, fields] = made()
    const outcome = await h
      .mutate(name, input, fields, other.secret)
      .then((answer: Shown) => answer['__typename'] as string)
      .catch((error: Error) => error.message)
    expect(outcome).toMatch(/NotFoundError|NOT_FOUND|ValidationError/)
    await untouched()
    expect(await read('toolCall', ids.direct, owner.secret)).toBe(ids.direct)
  })

  test('a stream of the run is refused, and the feed of a caller is its own', async () => {
    const events = 'subscription($id: ID!) { generationEvents(generationId: $id) { cursor } }'
    await expect(h.collect(events, { id: ids.generation }, () => true, other.secret)).rejects.toThrow(
      /No generation with the id/,
    )
    const mine = await start(other.secret, 'say mine')
    await h.until(mine, ['COMPLETED'])
    const feed = `subscription { projectEvents(after: "0") { type
      ... on GenerationEvent { generationId } } }`
    const seen = await h.collect(
      feed,
      {},
      (all) => all.some(({ type, generationId }) => type === 'GENERATION_COMPLETED' && generationId === mine),
      other.secret,
    )
    expect(seen.filter(({ generationId }) => generationId).map((one) => one.generationId)).toEqual(
      seen.filter(({ generationId }) => generationId).map(() => mine),
    )
    const page = await h.gql('{ projectEvents(first: 100) { nodes { __typename } } }', {}, other.secret)
    expect(page.errors, JSON.stringify(page)).toBeUndefined()
    expect(JSON.stringify(page.data)).not.toContain('ApprovalRequested')
    expect(page.data['projectEvents'].nodes.length).toBeGreaterThan(0)
    const own = await h.gql('{ projectEvents(first: 100) { nodes { __typename } } }', {}, owner.secret)
    expect(JSON.stringify(own.data)).toContain('ApprovalRequested')
    expect(JSON.stringify(own.data)).not.toMatch(/ToolCreated|AgentCreated|ApiKeyCreated/)
  })

  test('the name that both chose for a thread is a thread for each', async () => {
    const mine = await start(other.secret, 'say hello', { externalThreadId: 'chat-7' })
    const { threadId } = await h.until(mine, ['COMPLETED'], 'threadId')
    expect(threadId).not.toBe(ids.thread)
    await untouched()
  })
})

const apis = Object.keys(runApis) as (keyof typeof runApis)[]

describe.each(apis)('%s', (name) => {
  const api = runApis[name]
  const asOther = () => ({ ...door, key: other.secret })

  test.runIf(api.answer)('refuses an output for the call of another caller', async () => {
    const { code } = await api.answer!(asOther(), run, ids.toolCall, 'forged')
    expect(code).toMatch(/^(forbidden|not_found|invalid|task_not_found|run_not_found)/i)
    await untouched()
  })

  test.runIf(api.decide)('refuses a verdict of another caller', async () => {
    const { code } = await api.decide!(asOther(), run, ids.approval, true)
    expect(code).toMatch(/^(forbidden|not_found|invalid|task_not_found|run_not_found)/i)
    await untouched()
  })
})

/** Requests that name the owner's run or thread, by path; all with the other caller's key. */
const requests: [string, () => [path: string, init: RequestInit]][] = [
  ['REST reads the run', () => [`/api/v1/agents/${door.agent.id}/generate/${ids.generation}`, {}]],
  ['Responses reads it', () => [`/v1/responses/resp_${ids.generation.slice(4)}_0`, {}]],
  [
    'Responses cancels it',
    () => [`/v1/responses/resp_${ids.generation.slice(4)}_0/cancel`, { method: 'POST' }],
  ],
  ['the chat resumes its stream', () => ['/api/chat/shared/chat-7/stream', {}]],
  [
    'CopilotKit stops the thread',
    () => ['/copilotkit/agent/shared/stop/chat-7', { method: 'POST', body: '{}' }],
  ],
]

describe('other requests', () => {
  test.each(requests)('%s: refused', async (_name, made) => {
    const [path, init] = made()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${other.secret}` }
    const response = await fetch(`${h.url}${path}`, { ...init, headers, signal: AbortSignal.timeout(90_000) })
    const text = await response.text()
    expect([response.status, text], text).toSatisfy(
      ([status]) => [204, 403, 404].includes(status as number) || !text.includes(ids.generation.slice(4)),
    )
    await untouched()
  })

  test.each(['GetTask', 'CancelTask'])('A2A %s is refused', async (method) => {
    const response = await fetch(`${h.url}/a2a/shared`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${other.secret}`,
        'a2a-version': '1.0',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id: ids.generation } }),
    })
    expect(((await response.json()) as Shown)['error']).toBeTruthy()
    await untouched()
  })

  test('MCP neither continues the thread nor waits for the call', async () => {
    const talk = (name: string, args: object) =>
      callRaw(`${h.url}/mcp/${door.agent.id}`, other.secret, name, args)
    const continued = await talk('shared', { message: 'what was said?', conversation_id: ids.thread })
    expect(JSON.stringify(continued.body)).toMatch(/not_found|does not exist/i)
    const waited = await talk('approval_wait', { tool_call_id: ids.direct })
    expect(JSON.stringify(waited.body)).toMatch(/not_found|does not exist|error/i)
    // Word for word as for a call that does not exist.
    const nobodys = ids.direct.replace(/.{6}$/, '000000')
    const unknown = await talk('approval_wait', { tool_call_id: nobodys })
    const plain = (body: unknown, id: string) => JSON.stringify(body).replaceAll(id, '<id>')
    expect(plain(waited.body, ids.direct)).toBe(plain(unknown.body, nobodys))
    await untouched()
  })
})

test('a key reaches what keys that were made with it requested, and not the other way round', async () => {
  const policy = policyOf(['*:Get', 'generations:Start', 'generations:Get', 'keys:Create', 'agents:Get'])
  const parent = await makeKey({ policy })
  const made = await h.mutate('createApiKey', { name: 'child', policy }, 'secret', parent.secret)
  const child = made['secret'] as string
  const theirs = await start(child, 'say child')
  const own = await start(parent.secret, 'say parent')
  expect(await read('generation', theirs, parent.secret)).toBe(theirs)
  expect(await read('generation', own, child)).toBeNull()
})

test('a key of an earlier release reaches what it reached, unless it has the role of a caller', async () => {
  const reads = policyOf(['generations:Get', 'generations:List'])
  for (const [input, expected] of [
    [{ policy: reads }, 1],
    [{ role: 'DEVELOPER' }, 1],
    [{ role: 'CALLER' }, 0],
  ] as const) {
    const key = await makeKey(input)
    await queryRows(h.app.services.db, sql`update api_keys set policy_version = null where id = ${key.id}`)
    await queryRows(
      h.app.services.db,
      sql`update api_keys set policy = replace(policy::text, '"generations:ReachOthers"', '"keys:Get"')::jsonb
        where id = ${key.id}`,
    )
    const filter = { requestedBy: owner.id }
    const list = 'query($f: GenerationFilter) { generations(filter: $f) { nodes { id } } }'
    const { data } = await h.gql(list, { f: filter }, key.secret)
    expect([input, data['generations'].nodes.length]).toEqual([input, expected])
  }
})
