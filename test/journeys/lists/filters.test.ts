/** Lists with a filter have exactly what matches it, of this project only, and pages of the feed join the subscription. */
import { describe, expect, test } from 'vitest'
import { callRaw } from '../../support/bridge.ts'
import { openDeployment } from '../../support/deployment.ts'
import { forFile } from '../../support/for-file.ts'

/** Names of what the test made, to ids. */
const ids: Record<string, any> = {}

async function list(
  field: string,
  type: string,
  filter: object,
  selected = 'id',
  key?: string,
): Promise<any[]> {
  const { data, errors } = await deployment.replicas[0]!.gql(
    `query($filter: ${type}) { ${field}(filter: $filter, first: 100) { nodes { ${selected} } } }`,
    { filter },
    key,
  )
  if (errors) throw Object.assign(new Error(errors[0]!.message), errors[0]!.extensions)
  return data[field].nodes
}

/** The names of the generations that match, newest first. */
async function runs(filter: object): Promise<string[]> {
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  const found = await list('generations', 'GenerationFilter', filter)
  return found.map(({ id }) => names.get(id) ?? id)
}

const minute = (n: number) => `2026-01-01T00:0${n}:00.000Z`

const deployment = await forFile(openDeployment('PGlite'))
const h = deployment.replicas[0]!
const { fixtures } = deployment
const adminKey = await h.mutate('createApiKey', { name: 'k', role: 'ADMIN' }, 'apiKey { id } secret')
const own = { secret: adminKey['secret'], keyId: adminKey['apiKey'].id }
ids['helper'] = await fixtures.agent({ name: 'returns_helper', toolIds: [fixtures.tools.look] })
ids['desk'] = await fixtures.agent({ name: 'Refund 100%', agentIds: [ids['helper']] })
ids['done'] = await fixtures.start(ids['helper'], 'call look {"word":"a"}')
await h.until(ids['done'], ['COMPLETED'])
ids['asks'] = await fixtures.start(ids['desk'], 'call ask {"word":"a"}')
await h.until(ids['asks'], ['REQUIRES_ACTION'])
const nesting = { agentId: ids['desk'], prompt: 'call returns_helper {"message":"say a"}' }
const started = await h.mutate('startGeneration', nesting, 'generation { id }', own.secret)
ids['nested'] = started['generation'].id
await h.until(ids['nested'], ['COMPLETED'])
const { generation } = (
  await h.gql('query($id: ID!) { generation(id: $id) { children { nodes { id } } } }', {
    id: ids['nested'],
  })
).data
ids['child'] = generation.children.nodes[0].id
ids['cancelled'] = await fixtures.start(ids['desk'], 'call ask {"word":"b"}')
await h.until(ids['cancelled'], ['REQUIRES_ACTION'])
await h.mutate('cancelGeneration', { generationId: ids['cancelled'] }, 'generation { id }')
await h.until(ids['cancelled'], ['CANCELLED'])
// Each generation begins in a minute of its own, in this order.
for (const [i, name] of ['done', 'asks', 'nested', 'child', 'cancelled'].entries())
  await deployment.rows(
    `update generations set created_at = '2026-01-01T00:0${i}:00Z' where id = '${ids[name]}'`,
  )
const direct = await h.mutate(
  'callTool',
  { toolId: fixtures.tools.act, arguments: { word: 'd' } },
  'toolCall { id }',
)
ids['direct'] = direct['toolCall'].id

describe('generations', () => {
  test.each<[string, () => object, string[]]>([
    ['nothing', () => ({}), ['cancelled', 'child', 'nested', 'asks', 'done']],
    ['one status', () => ({ statuses: ['COMPLETED'] }), ['child', 'nested', 'done']],
    [
      'several statuses, open and final',
      () => ({ statuses: ['CANCELLED', 'REQUIRES_ACTION'] }),
      ['cancelled', 'asks'],
    ],
    ['statuses that nothing has', () => ({ statuses: ['FAILED', 'RUNNING', 'EXPIRED', 'QUEUED'] }), []],
    ['no status at all', () => ({ statuses: [] }), []],
    ['a beginning, which is included', () => ({ createdAfter: minute(3) }), ['cancelled', 'child']],
    ['an end, which is not', () => ({ createdBefore: minute(3) }), ['nested', 'asks', 'done']],
    ['both', () => ({ createdAfter: minute(1), createdBefore: minute(2) }), ['asks']],
    [
      'a time before all history',
      () => ({ createdAfter: '0000-01-01T00:00:00Z', createdBefore: '0000-01-02T00:00:00Z' }),
      [],
    ],
    ['who requested', () => ({ requestedBy: own.keyId }), ['child', 'nested']],
    ['an agent', () => ({ agentId: ids['helper'] }), ['child', 'done']],
    ['only roots', () => ({ rootOnly: true }), ['cancelled', 'nested', 'asks', 'done']],
    [
      'roots of an agent in a status',
      () => ({ rootOnly: true, agentId: ids['desk'], statuses: ['COMPLETED'] }),
      ['nested'],
    ],
    [
      'a part of an agent’s name in other letters, or of the first line',
      () => ({ search: 'RETURNS_H' }),
      ['child', 'nested', 'done'],
    ],
    ['a text with signs of patterns', () => ({ search: '100%' }), ['cancelled', 'nested', 'asks']],
    ['a text that only a pattern would find', () => ({ search: 'R%d' }), []],
    ['the id of a generation, with what is below it', () => ({ search: ids['nested'] }), ['child', 'nested']],
    ['the id of an agent', () => ({ search: ids['helper'] }), ['child', 'done']],
    ['the id of a thread', () => ({ search: ids['asks']!.replace('gen_', 'thr_') }), ['asks']],
  ])('by %s', async (_what, filter, expected) => {
    expect(await runs(filter())).toEqual(expected)
  })

  test('a search without a word, and one that is too long, are refused', async () => {
    for (const search of ['', 'a'.repeat(201)])
      await expect(list('generations', 'GenerationFilter', { search })).rejects.toMatchObject({
        code: 'INVALID',
      })
  })

  test('agents of another project are not searched, and its generations are not listed', async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const input = { name: 'k', role: 'ADMIN', projectId: project.id }
    const { secret } = await h.mutate('createApiKey', input, 'secret')
    for (const filter of [{ search: 'returns' }, { agentId: ids['helper'] }, { requestedBy: own.keyId }])
      expect(
        await list('generations', 'GenerationFilter', filter, 'id', secret),
        JSON.stringify(filter),
      ).toEqual([])
  })
})

test('tool calls by generation, agent, tool, statuses and time', async () => {
  const calls = async (filter: object) =>
    (await list('toolCalls', 'ToolCallFilter', filter, 'name status')).map(
      ({ name, status }) => `${name} ${status}`,
    )
  expect(await calls({ generationId: ids['asks'] })).toEqual(['ask AWAITING_CLIENT'])
  expect(await calls({ agentId: ids['helper'] })).toEqual(['look SUCCEEDED'])
  expect((await calls({ agentId: ids['desk'] })).toSorted()).toEqual([
    'ask AWAITING_CLIENT',
    'ask CANCELLED',
    'returns_helper SUCCEEDED',
  ])
  expect((await calls({ statuses: ['AWAITING_CLIENT', 'CANCELLED'] })).toSorted()).toEqual([
    'ask AWAITING_CLIENT',
    'ask CANCELLED',
  ])
  expect(await calls({ toolId: deployment.fixtures.tools.act, statuses: ['SUCCEEDED'] })).toEqual([
    'act SUCCEEDED',
  ])
  await deployment.rows(
    `update tool_calls set created_at = '2026-01-01T00:07:00Z' where id = '${ids['direct']}'`,
  )
  expect(await calls({ createdAfter: minute(7), createdBefore: minute(8) })).toEqual(['act SUCCEEDED'])
})

test('calls that MCP clients made through an agent are calls of that agent', async () => {
  await h.mutate('updateAgent', { id: ids['helper'], mcp: { enabled: true } }, 'agent { id }')
  const { body } = await callRaw(`${h.url}/mcp/${ids['helper']}`, own.secret, 'look', { word: 'm' })
  expect(body).toMatchObject({ result: { isError: false } })
  const found = await list('toolCalls', 'ToolCallFilter', { agentId: ids['helper'] }, 'source')
  expect(found.map(({ source }) => source)).toEqual(['BRIDGE', 'GENERATION'])
})

test('the audit by action, principal, resource, outcome and time', async () => {
  const entries = (filter: object) =>
    list('auditEntries', 'AuditFilter', filter, 'principalId action resource outcome createdAt')
  const { tool } = await h.mutate(
    'createTool',
    { name: 'noted', config: { client: { inputSchema: {} } } },
    'tool { id }',
    own.secret,
  )
  const resource = `tool/${tool.id}`
  const [made] = await entries({ resource })
  expect(made).toMatchObject({ principalId: own.keyId, action: 'tools:Create', resource, outcome: 'ALLOWED' })
  const byKey = await entries({ principalId: own.keyId })
  expect(byKey.length).toBeGreaterThan(0)
  expect(new Set(byKey.map((entry) => entry.principalId))).toEqual(new Set([own.keyId]))
  expect(await entries({ action: 'tools:Create', principalId: own.keyId })).toEqual([made])
  const ran = await entries({ outcome: 'EXECUTED' })
  expect(ran.length).toBeGreaterThan(0)
  expect(new Set(ran.map((entry) => entry.outcome))).toEqual(new Set(['EXECUTED']))
  expect(await entries({ resource, createdBefore: made.createdAt })).toEqual([])
  expect(await entries({ resource, createdAfter: made.createdAt })).toEqual([made])
})

test('tools and agents by a part of their name', async () => {
  const named = async (field: string, name: string) => {
    const { data, errors } = await deployment.replicas[0]!.gql(
      `query($name: String) { ${field}(name: $name) { nodes { name } } }`,
      { name },
    )
    return errors?.[0]?.extensions ?? data[field].nodes.map((node: { name: string }) => node.name)
  }
  expect(await named('tools', 'LOO')).toEqual(['look'])
  expect(await named('tools', '_')).toEqual([])
  expect(await named('agents', 'refund')).toEqual(['Refund 100%'])
  for (const field of ['tools', 'agents'])
    for (const text of ['', 'a'.repeat(101)])
      expect(await named(field, text)).toMatchObject({ code: 'INVALID', issues: [{ path: ['name'] }] })
})
