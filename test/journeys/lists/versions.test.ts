/** Every version of a tool and an agent is kept: what changed, by whom, and nothing that the reader may not see. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesBetween } from '../../../src/core/json.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import { statementsDuring } from '../../support/statements.ts'

let deployment: Deployment
beforeAll(async () => void (deployment = await openDeployment('PGlite')))
afterAll(() => deployment?.close())

const fields = `nodes { version createdAt author { name } definition changes { path before after } }
  pageInfo { endCursor hasNextPage }`

async function versionsOf(field: 'tool' | 'agent', id: string, args = '', key?: string): Promise<any> {
  const { data, errors } = await deployment.replicas[0]!.gql(
    `query($id: ID!) { ${field}(id: $id) { versions${args} { ${fields} } } }`,
    { id },
    key,
  )
  if (errors) throw Object.assign(new Error(JSON.stringify(errors)), errors[0]!.extensions)
  return data[field].versions
}

async function secretOf(role: string): Promise<string> {
  return (await deployment.replicas[0]!.mutate('createApiKey', { name: role, role }, 'secret'))['secret']
}

async function changedTool(): Promise<string> {
  const h = deployment.replicas[0]!
  const inputSchema = { type: 'object', properties: { n: { type: 'string' }, token: { type: 'string' } } }
  const http = {
    url: `${deployment.fixtures.upstream.url}/v`,
    headers: { 'x-key': 'header one' },
    inputSchema,
  }
  const input = { name: 'versioned', presetParameters: { token: 'preset one' }, config: { http } }
  const { tool } = await h.mutate('createTool', input, 'tool { id }')
  const developer = await secretOf('DEVELOPER')
  const change = (edit: object) =>
    h.mutate('updateTool', { id: tool.id, ...edit }, 'tool { version }', developer)
  await change({ description: 'Pays', timeoutMs: 5000 })
  await change({
    presetParameters: { token: 'preset two' },
    config: { http: { ...http, headers: { 'x-key': 'header two', 'x-new': 'header new' } } },
  })
  return tool.id
}

test('a tool: each change with its author, the places and both values', async () => {
  const id = await changedTool()
  const { nodes } = await versionsOf('tool', id)
  expect(nodes.map((node: any) => [node.version, node.author.name])).toEqual([
    [3, 'DEVELOPER'],
    [2, 'DEVELOPER'],
    [1, expect.any(String)],
  ])
  expect(nodes[0].changes).toEqual([
    { path: '/presetParameters/token', before: 'preset one', after: 'preset two' },
    { path: '/http/headers/x-key', before: 'header one', after: 'header two' },
    { path: '/http/headers/x-new', before: null, after: 'header new' },
  ])
  expect(nodes[1].changes).toEqual([
    { path: '/description', before: null, after: 'Pays' },
    { path: '/timeoutMs', before: null, after: 5000 },
  ])
  expect(nodes[2]).toMatchObject({ changes: [], definition: { name: 'versioned', description: null } })
})

test('a reader without tools:Update learns that presets and headers changed, and no value of any version', async () => {
  const [tool] = await deployment.rows(`select id from tools where name = 'versioned'`)
  const { nodes } = await versionsOf('tool', tool!['id'], '', await secretOf('VIEWER'))
  const hidden = '[masked]'
  expect(nodes[0].changes).toEqual([
    { path: '/presetParameters/token', before: hidden, after: hidden },
    { path: '/http/headers/x-key', before: hidden, after: hidden },
    { path: '/http/headers/x-new', before: null, after: hidden },
  ])
  expect(nodes[0].definition).toMatchObject({
    presetParameters: { token: hidden },
    inputSchema: { properties: { n: { type: 'string' } } },
  })
  expect(nodes[0].definition.inputSchema.properties).not.toHaveProperty('token')
  expect(JSON.stringify(nodes)).not.toMatch(/preset (one|two)|header (one|two|new)|\\u0000/)
})

test('pages have every version once, with the change from a version of the next page', async () => {
  const [tool] = await deployment.rows(`select id from tools where name = 'versioned'`)
  const first = await versionsOf('tool', tool!['id'], '(first: 2)')
  expect(first.pageInfo.hasNextPage).toBe(true)
  expect(first.nodes[1].changes).toHaveLength(2)
  const rest = await versionsOf('tool', tool!['id'], `(first: 2, after: "${first.pageInfo.endCursor}")`)
  expect([...first.nodes, ...rest.nodes].map((node: any) => node.version)).toEqual([3, 2, 1])
  const last = await versionsOf('tool', tool!['id'], '(last: 2)')
  expect(last.nodes.map((node: any) => node.version)).toEqual([2, 1])
  expect(last.nodes[0].changes).toHaveLength(2)
  for (const id of ['x', '1; drop', '99999999999'])
    await expect(
      versionsOf(
        'tool',
        tool!['id'],
        `(after: "${Buffer.from(JSON.stringify([1, 1, id])).toString('base64url')}")`,
      ),
    ).rejects.toMatchObject({ code: 'BAD_CURSOR' })
})

test('an agent: settings, name and gate, of the operator and of others', async () => {
  const h = deployment.replicas[0]!
  const agentId = await deployment.fixtures.agent({ name: 'clerk', instructions: 'Be brief.' })
  const admin = await secretOf('ADMIN')
  const changed = await h.mutate(
    'updateAgent',
    { id: agentId, name: 'head clerk', instructions: 'Be long.', gate: { mode: 'ALWAYS' } },
    'agent { version }',
    admin,
  )
  expect(changed['agent'].version).toBe(2)
  const { nodes } = await versionsOf('agent', agentId)
  expect(nodes.map((node: any) => node.version)).toEqual([2, 1])
  expect(nodes[0].author).toEqual({ name: 'ADMIN' })
  expect(nodes[0].changes).toEqual(
    expect.arrayContaining([
      { path: '/name', before: 'clerk', after: 'head clerk' },
      { path: '/instructions', before: 'Be brief.', after: 'Be long.' },
    ]),
  )
  expect(nodes[1].definition).toMatchObject({ name: 'clerk', instructions: 'Be brief.' })
})

test('a change that is refused leaves no version, and of two at once each has its own', async () => {
  const h = deployment.replicas[0]!
  const agentId = await deployment.fixtures.agent({ name: 'twice' })
  const update = (input: object) => h.mutate('updateAgent', { id: agentId, ...input }, 'agent { version }')
  expect(await update({ name: 'clerk taken' })).toMatchObject({ agent: { version: 2 } })
  await deployment.fixtures.agent({ name: 'taken' })
  expect(await update({ name: 'taken' })).toMatchObject({ code: 'NAME_TAKEN' })
  await Promise.all([update({ instructions: 'a' }), update({ temperature: 0.5 })])
  const { nodes } = await versionsOf('agent', agentId)
  expect(nodes.map((node: any) => node.version)).toEqual([4, 3, 2, 1])
  const stored = await deployment.rows(`select definition from agents where id = '${agentId}'`)
  const { name: _name, ...newest } = nodes[0].definition
  expect(newest).toEqual(stored[0]!['definition'])
})

test('a version that an older release wrote without history is kept when it is replaced', async () => {
  const h = deployment.replicas[0]!
  const agentId = await deployment.fixtures.agent({ name: 'old', instructions: 'one' })
  await deployment.rows(`update agents set version = 2, definition = jsonb_set(definition, '{instructions}', '"two"')
    where id = '${agentId}'`)
  await h.mutate('updateAgent', { id: agentId, instructions: 'three' }, 'agent { version }')
  const { nodes } = await versionsOf('agent', agentId)
  expect(
    nodes.map((node: any) => [node.version, node.author?.name ?? null, node.definition.instructions]),
  ).toEqual([
    [3, expect.any(String), 'three'],
    [2, null, 'two'],
    [1, expect.any(String), 'one'],
  ])
})

test('a page of versions costs the same few statements, however many there are', async () => {
  const [tool] = await deployment.rows(`select id from tools where name = 'versioned'`)
  const db = deployment.replicas[0]!.app.services.db
  const seen = await statementsDuring(db, () => versionsOf('tool', tool!['id']))
  expect(seen.filter((text) => /tool_versions/.test(text))).toHaveLength(2)
  expect(seen.filter((text) => /from subjects where id in/.test(text))).toHaveLength(1)
})

test('differences are the deepest places, with their JSON Pointers, and never more than the maximum', () => {
  const from = { same: 1, list: [1, 2, { a: 'b' }], gone: { x: 1 }, 'a/b~c': null, kind: [1] }
  const to = { same: 1, list: [1, 3, { a: 'c' }, 4], new: [], 'a/b~c': 0, kind: { 0: 1 } }
  expect(changesBetween(from, to, 100)).toEqual([
    { path: '/list/1', before: 2, after: 3 },
    { path: '/list/2/a', before: 'b', after: 'c' },
    { path: '/list/3', before: undefined, after: 4 },
    { path: '/new', before: undefined, after: [] },
    { path: '/a~1b~0c', before: null, after: 0 },
    { path: '/kind', before: [1], after: { 0: 1 } },
    { path: '/gone', before: { x: 1 }, after: undefined },
  ])
  expect(changesBetween(from, to, 2)).toHaveLength(2)
  expect(changesBetween(JSON.parse('{"__proto__":1}'), {}, 9)).toEqual([
    { path: '/__proto__', before: 1, after: undefined },
  ])
  expect(changesBetween(1, 2, 9)).toEqual([{ path: '', before: 1, after: 2 }])
})
