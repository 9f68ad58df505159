/** A server.json of an MCP registry becomes a tool: pinned, served only after a review, and replaced only when that is asked for. */
import { beforeEach, describe, expect, test } from 'vitest'
import { forFile } from '../support/for-file.ts'
import { openHarness } from '../support/harness.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

const h = await forFile(openHarness())
let server: ModernServer
beforeEach(async () => {
  server = await startModern()
  for (const name of ['read_note', 'drop_note'])
    server.tools.set(name, { tool: { name, description: `${name}.` }, run: () => ({ content: [] }) })
  return () => server.kill()
})

let made = 0
const unused = () => `io.github.example/notes-${made++}`
const described = { description: 'Notes of a team', version: '1.0.0' }
/** A server.json whose remote is the server of the test. */
const notes = (more: object = {}, remote: object = {}) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: unused(),
  title: 'Notes',
  ...described,
  remotes: [{ type: 'streamable-http', url: server.url, ...remote }],
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tool: 'a publisher' } },
  ...more,
})
const fields = `changes { path before after } tool { id name title version registryEntry { name version } gate { mode }
  ... on McpTool { url headers allow actions { action gate { mode } } upstream { status tools { name } } } }`
const importing = (given: object, more: object = {}, key?: string) =>
  h.mutate('importServer', { server: given, ...more }, fields, key)
const refused = async (given: object, more: object = {}) => {
  const answer = await h.gql(
    `mutation($input: ImportServerInput!) { importServer(input: $input) { __typename
      ... on ValidationError { issues { path message } } ... on Error { code message } } }`,
    { input: { server: given, ...more } },
  )
  return answer.data['importServer']
}
const faultsOf = async (given: object, more: object = {}): Promise<Record<string, string>> => {
  const { issues = [], ...rest } = await refused(given, more)
  expect(rest['code']).toBe('INVALID')
  return Object.fromEntries(
    issues.map((one: { path: string[]; message: string }) => [one.path.join('.'), one.message]),
  )
}
const call = (toolId: string, action: string) =>
  h.gql(
    `mutation($input: CallToolInput!) { callTool(input: $input) { ... on ToolCallPayload { toolCall { status } }
      ... on Error { code message } } }`,
    { input: { toolId, action, arguments: {} } },
  )
const allow = (id: string, names: string[]) =>
  h.mutate('updateTool', { id, config: { mcp: { url: server.url, allow: names } } }, 'tool { id }')

describe('an imported server', () => {
  test('is pinned, serves nothing before its review, and asks about each call after it', async () => {
    const given = notes()
    const { tool, changes } = await importing(given)
    expect(changes).toEqual([])
    expect(tool).toMatchObject({
      name: given.name.split('/')[1],
      title: 'Notes',
      registryEntry: { name: given.name, version: '1.0.0' },
      gate: { mode: 'ALWAYS' },
      url: server.url,
      allow: [],
      actions: [],
      upstream: { status: 'CONNECTED', tools: [{ name: 'drop_note' }, { name: 'read_note' }] },
    })
    expect((await call(tool.id, 'read_note')).data['callTool']).toMatchObject({ code: 'INVALID' })
    await allow(tool.id, ['read_note'])
    expect((await call(tool.id, 'read_note')).data['callTool'].toolCall.status).toBe('AWAITING_APPROVAL')
    expect((await call(tool.id, 'drop_note')).data['callTool']).toMatchObject({ code: 'INVALID' })
    expect(server.seen.filter(({ method }) => method === 'tools/call')).toEqual([])
  })

  test('is replaced only when that is asked for, shows what changed, and is reviewed again', async () => {
    const given = notes()
    const { tool } = await importing(given)
    await allow(tool.id, ['read_note'])
    const later = { ...given, version: '1.1.0', title: 'Notes 2' }
    expect(await refused(later)).toMatchObject({ code: 'NAME_TAKEN', __typename: 'NameTakenError' })
    const replaced = await importing(later, { replace: true })
    expect(replaced['tool']).toMatchObject({
      id: tool.id,
      version: 3,
      allow: [],
      gate: { mode: 'ALWAYS' },
      registryEntry: { version: '1.1.0' },
    })
    expect(replaced['changes']).toEqual([
      { path: '/title', before: 'Notes', after: 'Notes 2' },
      { path: '/registryEntry/version', before: '1.0.0', after: '1.1.0' },
      { path: '/mcp/allow/0', before: 'read_note', after: null },
    ])
    expect(await importing(later, { replace: true })).toMatchObject({ changes: [], tool: { version: 3 } })
  })

  test('keeps gates at a replacement, and no credentials for another address', async () => {
    const given = notes()
    const { tool } = await importing(given)
    const issuer = 'https://login.example.com'
    const auth = { authorizationCode: { clientId: 'c', issuer } }
    const gates = [{ action: 'drop_note', gate: { quorum: 2 } }]
    await h.mutate(
      'updateTool',
      {
        id: tool.id,
        config: {
          mcp: { url: server.url, auth, gates, allow: ['drop_note'], trustHints: true, login: 'PER_PERSON' },
        },
      },
      'tool { id }',
    )
    const { changes } = await importing(
      { ...given, remotes: [{ type: 'sse', url: `${server.url}?sse` }] },
      { replace: true },
    )
    expect(changes.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['/mcp/url', '/mcp/auth', '/mcp/allow/0', '/mcp/trustHints']),
    )
    expect(JSON.stringify(changes)).not.toMatch(/quorum|PER_PERSON/)
  })

  test('asks for values of variables and headers, and takes secrets only as such', async () => {
    await h.mutate(
      'setSecret',
      { name: 'NOTES_KEY', value: 'k-123', allowedHosts: ['127.0.0.1'] },
      'secret { id }',
    )
    const headers = [
      { name: 'X-API-Key', description: 'The key of your team', isRequired: true, isSecret: true },
      { name: 'X-Region', default: 'eu', choices: ['eu', 'us'] },
      { name: 'X-Trace', value: 'team {team}', isRequired: true, variables: { team: { isRequired: true } } },
      { name: 'X-Fixed', value: '{not_a_variable}' },
      { name: 'X-Optional', description: 'May be left out' },
    ]
    const url = `${server.url}?tenant={tenant}`
    const given = notes({}, { url, headers, variables: { tenant: { default: 't1' } } })
    expect(await faultsOf(given)).toEqual({
      'input.values.X-API-Key': 'is required: The key of your team',
      'input.values.team': 'is required',
    })
    const values = { 'X-API-Key': 'k-123', 'X-Region': 'asia', team: 'a', nothing: 'x' }
    expect(await faultsOf(given, { values })).toEqual({
      'input.values.X-API-Key': expect.stringContaining('{{secret:NAME}}'),
      'input.values.X-Region': 'must be one of eu, us',
      'input.values.nothing': expect.stringContaining('tenant, X-API-Key, X-Region, team, X-Optional'),
    })
    const right = { 'X-API-Key': '{{secret:NOTES_KEY}}', team: 'a' }
    const { tool } = await importing(given, { values: right })
    expect(tool).toMatchObject({
      url: `${server.url}?tenant=t1`,
      headers: {
        'X-API-Key': '{{secret:NOTES_KEY}}',
        'X-Region': 'eu',
        'X-Trace': 'team a',
        'X-Fixed': '{not_a_variable}',
      },
      upstream: { status: 'CONNECTED' },
    })
    expect(server.seen.at(-1)!.headers).toMatchObject({ 'x-api-key': 'k-123', 'x-trace': 'team a' })
    expect(
      await faultsOf(notes({}, { headers }), { values: { ...right, 'X-API-Key': '{{secret:NONE}}' } }),
    ).toEqual({
      'input.server.remotes.0.headers.X-API-Key': expect.stringContaining('NONE'),
    })
  })

  test('never chooses itself which secret is sent', async () => {
    const stolen = { name: 'X-A', value: '{open}{secret:NOTES_KEY}}', variables: { open: { default: '{' } } }
    for (const header of [{ name: 'X-A', value: '{{secret:NOTES_KEY}}' }, stolen])
      expect(await faultsOf(notes({}, { headers: [header] }))).toEqual({
        'input.server.remotes.0': expect.stringContaining('only values may name secrets'),
      })
  })

  test('prefers Streamable HTTP, and is one of two imports at once', async () => {
    const remotes = [
      { type: 'sse', url: 'https://mcp.example.com/sse' },
      { type: 'streamable-http', url: server.url },
    ]
    const given = { ...notes(), remotes }
    const both = await Promise.all([refused(given), refused(given)])
    expect(both.map(({ __typename }) => __typename).toSorted()).toEqual([
      'NameTakenError',
      'ServerImportPayload',
    ])
    const { tool } = await importing(given, { name: 'second_notes' })
    expect(tool).toMatchObject({ name: 'second_notes', url: server.url })
    expect(await faultsOf({ ...given, version: '2.0.0' }, { replace: true })).toEqual({
      'input.name': expect.stringContaining('several tools'),
    })
    const third = await importing({ ...given, version: '2.0.0' }, { name: 'second_notes', replace: true })
    expect(third['tool']).toMatchObject({ id: tool.id, registryEntry: { version: '2.0.0' } })
  })

  test('belongs to its project, and takes no other tool’s place', async () => {
    const given = notes()
    const { tool } = await importing(given)
    const { project } = await h.mutate('createProject', { name: 'another' }, 'project { id }')
    const key = async (role: string) =>
      (await h.mutate('createApiKey', { projectId: project.id, name: role, role }, 'secret'))[
        'secret'
      ] as string
    const theirs = await importing(given, { replace: true }, await key('DEVELOPER'))
    expect(theirs['tool'].id).not.toBe(tool.id)
    const answer = await h.gql(
      `mutation($input: ImportServerInput!) { importServer(input: $input) { __typename } }`,
      { input: { server: given } },
      await key('VIEWER'),
    )
    expect(answer.errors?.[0]?.extensions?.['code']).toBe('FORBIDDEN')
    await h.mutate('createTool', { name: 'own', config: { mcp: { url: server.url } } }, 'tool { id }')
    expect(await refused(notes(), { name: 'own', replace: true })).toMatchObject({ code: 'NAME_TAKEN' })
  })
})

describe('a server that runs on a machine', () => {
  const packaged = (one: object) => ({
    name: unused().replace('notes', 'Local.Notes'),
    ...described,
    packages: [one],
  })
  const stdio = { transport: { type: 'stdio' } }
  const commands: [string, object][] = [
    [
      'npx -y @example/notes@1.0.2 --mode local',
      {
        registryType: 'npm',
        registryBaseUrl: 'https://registry.npmjs.org',
        identifier: '@example/notes',
        version: '1.0.2',
        packageArguments: [
          { type: 'named', name: '--mode', default: 'local' },
          { type: 'named', name: '--port' },
        ],
      },
    ],
    ['uvx notes-server@0.5.0', { registryType: 'pypi', identifier: 'notes-server', version: '0.5.0' }],
    [
      "docker run -i --rm -e TOKEN --mount 'type=bind,src={from}' docker.io/example/notes:1.0.2 '<folder>'",
      {
        registryType: 'oci',
        identifier: 'docker.io/example/notes:1.0.2',
        runtimeArguments: [{ type: 'named', name: '--mount', value: 'type=bind,src={from}' }],
        packageArguments: [{ type: 'positional', valueHint: 'folder' }],
        environmentVariables: [{ name: 'TOKEN', isSecret: true }],
      },
    ],
    [
      String.raw`dnx Notes@1.0.0 --yes -- 'a; rm -rf $HOME'\''s'`,
      {
        registryType: 'nuget',
        identifier: 'Notes',
        version: '1.0.0',
        packageArguments: [{ type: 'positional', value: "a; rm -rf $HOME's" }],
      },
    ],
  ]
  test.each(commands)('is refused with its command: %s', async (command, one) => {
    const faults = await faultsOf(packaged({ ...stdio, ...one }))
    expect(faults['input.server.remotes']).toMatch(/gatehouse connect local-notes-\d+ -- /)
    expect(faults['input.server.remotes']).toContain(` -- ${command}"`)
  })

  test('has no command when its registry is unknown, or its version open', async () => {
    const one = { ...stdio, registryType: 'npm', identifier: 'notes', version: '1.0.0' }
    for (const more of [
      { registryType: 'mcpb' },
      { registryType: 'constructor' },
      { registryBaseUrl: 'https://npm.example.com' },
      { version: undefined },
      { transport: { type: 'sse' } },
    ])
      expect((await faultsOf(packaged({ ...one, ...more })))['input.server.remotes']).toContain(
        'no package is of npm',
      )
  })
})

describe('a server.json is refused', () => {
  const wrong: [string, () => object, string][] = [
    ['without a version', () => notes({ version: undefined }), 'input.server.version'],
    ['of an earlier form', () => notes({ version: undefined, version_detail: {} }), 'input.server.version'],
    ['with a range', () => notes({ version: '^1.0' }), 'input.server.version'],
    ['with "latest"', () => notes({ version: 'latest' }), 'input.server.version'],
    ['with a wildcard', () => notes({ version: '1.x' }), 'input.server.version'],
    ['with a name of no namespace', () => notes({ name: 'notes' }), 'input.server.name'],
    ['over plain http', () => notes({}, { url: 'http://mcp.example.com/mcp' }), 'input.server.remotes.0.url'],
    ['of another scheme', () => notes({}, { url: 'connector:notes' }), 'input.server.remotes.0.url'],
    ['with an unknown transport', () => notes({}, { type: 'websocket' }), 'input.server.remotes.0.type'],
    ['with what may change a call', () => notes({}, { auth: {} }), 'input.server.remotes.0.auth'],
    [
      'with a name of the protocol',
      () => notes({}, { headers: [{ name: 'Mcp-Session-Id', value: 'x' }] }),
      'input.server.remotes.0.headers.Mcp-Session-Id',
    ],
    [
      'with __proto__',
      () => notes({}, { headers: [{ name: '__proto__', value: 'x' }] }),
      'input.server.remotes.0.headers.0.name',
    ],
    [
      'with a header twice',
      () =>
        notes(
          {},
          {
            headers: [
              { name: 'A', value: 'x' },
              { name: 'a', value: 'y' },
            ],
          },
        ),
      'input.server.remotes.0.headers.1.name',
    ],
    [
      'with 10,000 headers',
      () => notes({}, { headers: Array.from({ length: 10_000 }, (_, i) => ({ name: `h${i}` })) }),
      'input.server.remotes.0.headers',
    ],
    ['without remotes and packages', () => ({ name: unused(), ...described }), 'input.server.remotes'],
  ]
  test.each(wrong)('%s', async (_name, given, path) => {
    expect(Object.keys(await faultsOf(given()))).toEqual([path])
  })

  test('when its template names what every object has', async () => {
    for (const name of ['constructor', '__proto__', 'toString'])
      expect(Object.keys(await faultsOf(notes({}, { url: `https://mcp.example.com/{${name}}` })))).toEqual([
        'input.server.remotes.0.url',
      ])
  })
})
