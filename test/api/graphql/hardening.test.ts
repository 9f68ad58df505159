/** Untrusted HTTP requests: other content types and origins, huge, deep and costly documents, no key. */
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { getIntrospectionQuery } from 'graphql'
import { operationLimits } from '../../../src/api/graphql/builder/builder.ts'
import { silentLog, type Log } from '../../../src/core/log.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { openAcknowledged, openRaw } from './raw-socket.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness({ production: true, graphiql: false }))

const bearer = { authorization: `Bearer ${adminKey}` }
const json = { 'content-type': 'application/json' }
const viewer = JSON.stringify({ query: '{ viewer { name } }' })

function post(body: RequestInit['body'], headers: Record<string, string> = {}, at = h): Promise<Response> {
  return fetch(`${at.url}/graphql`, {
    method: 'POST',
    headers: { ...bearer, ...json, ...headers },
    body: body ?? null,
  })
}

async function messages(query: string, variables: object = {}): Promise<string[]> {
  const result = await h.gql(query, variables)
  return (result.errors ?? []).map((error) => error.message)
}

describe('only JSON is taken', () => {
  test.each([
    'application/x-www-form-urlencoded',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/graphql',
    '',
  ])('a POST as "%s" is refused with 415 and does nothing', async (type) => {
    const response = await post(viewer, { 'content-type': type })
    expect(response.status).toBe(415)
    expect(await response.json()).toEqual({ errors: [{ message: 'POST takes application/json only.' }] })
  })

  test('a form and a multipart upload that a browser sends without asking are refused with 415', async () => {
    const form = new URLSearchParams({ query: '{ viewer { name } }' })
    const upload = new FormData()
    upload.append('operations', viewer)
    upload.append('map', '{}')
    for (const body of [form, upload]) {
      const response = await fetch(`${h.url}/graphql`, { method: 'POST', headers: bearer, body })
      expect(response.status).toBe(415)
    }
  })

  test('a connection stays open for longer than the load balancer before it keeps its own', async () => {
    const response = await fetch(`${h.url}/healthz`)
    expect(response.headers.get('keep-alive')).toBe('timeout=65')
  })

  test('a mutation by GET is refused with 405 and does nothing', async () => {
    const query = encodeURIComponent('mutation { createProject(input: {name: "by-get"}) { __typename } }')
    const response = await fetch(`${h.url}/graphql?query=${query}`, { headers: bearer })
    expect(response.status).toBe(405)
    const projects = await h.gql('{ projects { nodes { name } } }')
    expect(projects.data['projects'].nodes).not.toContainEqual({ name: 'by-get' })
  })

  test('several operations in one array are refused', async () => {
    const response = await post(`[${viewer},${viewer}]`)
    expect(response.status).toBe(400)
    expect(await response.text()).not.toContain('operator')
  })

  test('a body that is not JSON is refused with 400 and is not repeated', async () => {
    const response = await post('{"query": hidden}')
    expect(response.status).toBe(400)
    expect(await response.text()).not.toMatch(/hidden|SyntaxError/)
  })
})

describe('browsers of other sites', () => {
  const names = (response: Response) =>
    [...response.headers.keys()].filter((name) => name.startsWith('access-control'))

  test('get no CORS headers when no origin is configured, not even on a preflight', async () => {
    const origin = { origin: 'https://evil.example' }
    expect(names(await post(viewer, origin))).toEqual([])
    const preflight = await fetch(`${h.url}/graphql`, {
      method: 'OPTIONS',
      headers: { ...origin, 'access-control-request-method': 'POST' },
    })
    expect(names(preflight)).toEqual([])
  })

  test('get them for configured origins only, and never with credentials', async () => {
    const open = await openHarness({ corsOrigins: ['https://app.example', 'https://other.example'] })
    const allowed = await post(viewer, { origin: 'https://app.example' }, open)
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(allowed.headers.get('access-control-allow-credentials')).not.toBe('true')
    const refused = await post(viewer, { origin: 'https://evil.example' }, open)
    expect(names(refused)).toEqual([])
    await open.stop()
  })
})

describe('documents are bounded', () => {
  test.each([
    ['lists', '[', ']'],
    ['objects', '{a:', '}'],
    ['lists behind a comment with a quote', '# "\n[', ']'],
  ])('in the depth of %s in a value, without a stack trace in the log', async (_what, open, close) => {
    const problems: unknown[] = []
    const own = await openHarness(
      {},
      { log: { ...silentLog, error: (...what: unknown[]) => void problems.push(what) } },
    )
    const levels = 600
    const query = `{ __typename(x: ${open.repeat(levels)}1${close.repeat(levels)}) }`
    const response = await post(JSON.stringify({ query }), {}, own)
    expect(await response.json()).toMatchObject({
      errors: [{ message: 'The document is nested deeper than 500 levels.' }],
    })
    expect(problems).toEqual([])
    await own.stop()
  })

  const deep = (levels: number) =>
    `{ generation(id: "gen_x") ${'{ agent { tools { id } } toolCalls { generation '.repeat(levels)} { id } ${'} }'.repeat(levels)} }`

  test.each([
    ['depth', deep(8), /depth of \d+; at most 15/],
    [
      'aliases',
      `{ ${Array.from({ length: 31 }, (_, i) => `a${i}: viewer { id }`).join(' ')} }`,
      /Aliases limit of 30/,
    ],
    ['tokens', `{ ${'viewer { id } '.repeat(600)} }`, /more that 2000 tokens/],
    [
      'directives',
      `{ viewer { id ${'@include(if: true) '.repeat(51)} } }`,
      /Directives limit of 50|can only be used once/,
    ],
    [
      'breadth',
      `{ ${['tools', 'agents', 'files', 'apiKeys', 'webhooks', 'generations', 'approvals', 'secrets']
        .map((name) => `${name} { nodes { id } } `.repeat(operationLimits.breadth / 24 + 1))
        .join('')} }`,
      /breadth of \d+; at most 600/,
    ],
    [
      'complexity',
      '{ tools(first: 100) { nodes { id name description title version createdAt updatedAt } } generations(first: 100) { nodes { steps { toolCalls { id } } } } }',
      /complexity of \d+; at most 150000/,
    ],
  ])('too much %s is refused before anything runs', async (_what, query, message) => {
    const [first] = await messages(query)
    expect(first).toMatch(message)
  })

  test('many directives over different fields are refused', async () => {
    const fields = Array.from(
      { length: 51 },
      () => 'viewer { id } ... @include(if: true) { viewer { name } }',
    ).join(' ')
    expect((await messages(`{ ${fields} }`))[0]).toMatch(/Directives limit of 50/)
  })

  test('a page size in a variable counts as much as one in the document', async () => {
    const query = 'query($n: Int) { generations(first: $n) { nodes { steps { toolCalls { id } } } } }'
    expect(await messages(query, { n: 5 })).toEqual([])
    expect((await messages(query, { n: 100 }))[0]).toMatch(/complexity of \d+/)
    // Sent again: a cost computed with a small number must not be cached for the large one.
    expect(await messages(query, { n: 5 })).toEqual([])
  })

  test('the operation that is named is counted, not the first of the document', async () => {
    const query = `query Small { viewer { id } } query Large { generations(first: 100) { nodes { steps { toolCalls { id } } } } }`
    const response = await post(JSON.stringify({ query, operationName: 'Large' }))
    expect(await response.text()).toMatch(/complexity of \d+/)
    const small = await post(JSON.stringify({ query, operationName: 'Small' }))
    expect(await small.json()).toMatchObject({ data: { viewer: {} } })
  })

  test('fragments that double themselves a hundred times are counted at once', async () => {
    const fragments = Array.from(
      { length: 100 },
      (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`,
    )
    // Counted one by one they would be 2^100.
    const found = await messages(`{ ...F0 } ${fragments.join(' ')} fragment F100 on Query { viewer { id } }`)
    expect(found[0]).toMatch(/breadth|complexity/)
  })

  test('a subscription that costs too much is refused when it opens', async () => {
    const many = 'toolCalls { generation { steps { toolCalls { generation { toolCalls { id } } } } } }'
    const query = `subscription { generationEvents(generationId: "gen_x") { ... on RequiresActionEvent { ${many} } } }`
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send({ id: '1', type: 'subscribe', payload: { query } })
    expect(await socket.next()).toMatchObject({
      payload: {
        errors: [{ message: expect.stringMatching(/complexity of \d+/), extensions: { code: 'INVALID' } }],
      },
    })
    socket.ws.close()
  })

  test('introspection works with a key, and a deep one is refused', async () => {
    const full = await h.gql(getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }))
    expect(full.errors).toBeUndefined()
    expect(full.data['__schema'].types.length).toBeGreaterThan(50)
    const nest = 'fields { type { '.repeat(5) + 'name' + ' } }'.repeat(5)
    expect((await messages(`{ __schema { types { ${nest} } } }`))[0]).toMatch(/introspection depth/i)
  })
})

describe('bodies are bounded', () => {
  const big = JSON.stringify({ query: '{ viewer { name } }', variables: { x: 'x'.repeat(1024 * 1024) } })

  test('one beyond 1 MiB is refused with 413, and one just below is accepted', async () => {
    expect((await post(big)).status).toBe(413)
    const rest = 1024 * 1024 - Buffer.byteLength(viewer)
    expect((await post(viewer + ' '.repeat(rest))).status).toBe(200)
  })

  test('one beyond 1 MiB that is sent in chunks without a length is refused with 413', async () => {
    const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
      const request = httpRequest(
        `${h.url}/graphql`,
        { method: 'POST', headers: { ...bearer, ...json } },
        (response) => {
          let body = ''
          response.on('data', (chunk) => (body += chunk))
          response.on('end', () => resolve({ status: response.statusCode!, body }))
        },
      )
      request.on('error', reject)
      for (let i = 0; i < 64; i++) request.write(' '.repeat(64 * 1024))
      request.end()
    })
    expect(await answered).toMatchObject({ status: 413, body: expect.stringContaining('1048576 bytes') })
  })

  test('a client that never ends its body is cut off, and the server goes on', async () => {
    const request = httpRequest(`${h.url}/graphql`, { method: 'POST', headers: { ...bearer, ...json } })
    const gone = new Promise((resolve) => request.on('close', resolve).on('error', () => {}))
    const status = new Promise((resolve) =>
      request.on('response', (response) => resolve(response.statusCode)),
    )
    request.write(' '.repeat(1024 * 1024 + 1))
    expect(await status).toBe(413)
    await gone
    expect((await post(viewer)).status).toBe(200)
  })

  test('variables nested a hundred thousand deep give a typed error and do not stop the server', async () => {
    const levels = 100_000
    const nested = '['.repeat(levels) + ']'.repeat(levels)
    const query = 'mutation($i: CallToolInput!) { callTool(input: $i) { __typename ... on Error { code } } }'
    for (const input of [nested, `{"toolId":"tool_x","arguments":{"a":${nested}}}`]) {
      const response = await post(`{"query":${JSON.stringify(query)},"variables":{"i":${input}}}`)
      const { data, errors } = (await response.json()) as any
      expect(errors?.[0].extensions.code ?? data.callTool.code).toMatch(/^(INVALID|NOT_FOUND)$/)
    }
    expect((await post(viewer)).status).toBe(200)
  })

  test('a document nested a thousand deep gives an error and does not stop the server', async () => {
    expect((await messages(`{ a(b: ${'['.repeat(900)}${']'.repeat(900)}) }`)).length).toBeGreaterThan(0)
    expect(
      (await messages(`{ viewer ${'{ project '.repeat(600)}{ id }${' }'.repeat(600)} }`)).length,
    ).toBeGreaterThan(0)
    expect((await post(viewer)).status).toBe(200)
  })
})

describe('errors tell no internals', () => {
  test('an unexpected error is masked over HTTP, SSE and sockets, with a number that is also in the log', async () => {
    const logged: { errorId?: string; err?: unknown }[] = []
    const log: Log = { debug() {}, info() {}, warn() {}, error: (fields) => void logged.push(fields) }
    const broken = await openHarness({ databaseUrl: null }, { log })
    const socket = await openAcknowledged(broken.url, adminKey)
    await broken.gql('{ viewer { id } }')
    const fault = () => {
      throw new Error('PGlite closed at pool.ts: select 1')
    }
    Object.assign(broken.app.services.db, { execute: async () => fault(), select: fault })
    const seen = []
    const overHttp = await broken.gql('{ tools { nodes { id } } }')
    seen.push(overHttp.errors![0]!)
    const sse = await fetch(`${broken.url}/graphql`, {
      method: 'POST',
      headers: { ...bearer, ...json, accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { projectEvents { cursor } }' }),
    })
    const event = /^data: (.*)$/m.exec(await sse.text())
    seen.push(JSON.parse(event![1]!).errors[0])
    socket.send({
      id: '1',
      type: 'subscribe',
      payload: { query: 'subscription { projectEvents { cursor } }' },
    })
    const answer = await socket.next((message) => message.id === '1')
    seen.push((answer.type === 'error' ? answer.payload : answer.payload.errors)[0])
    for (const error of seen) {
      const { errorId, ...rest } = error.extensions!
      expect(rest).toEqual({ code: 'INTERNAL' })
      expect(error.message).toBe(`Unexpected error. Its number is ${errorId}.`)
      expect(JSON.stringify(error)).not.toMatch(/PGlite|select|closed|stack|\.ts/i)
      expect(logged).toContainEqual({ errorId, err: expect.any(Error) })
    }
    const late = await openRaw(broken.url)
    late.send({ type: 'connection_init', payload: { authorization: 'Bearer gh_unknown' } })
    expect(await late.closed).toEqual({ code: 1013, reason: 'Try again later' })
    await broken.stop()
  })

  test('nothing is suggested and no value is repeated', async () => {
    const faulty: [string, object][] = [
      ['{ viewr { id } }', {}],
      ['{ viewer { nam } }', {}],
      ['{ tools(kind: HTTPX) { nodes { id } } }', {}],
      ['{ tools(frist: 1) { nodes { id } } }', {}],
      ['{ node(id: "x") { name } }', {}],
      ['query($k: ToolKind) { tools(kind: $k) { nodes { id } } }', { k: 'HTPT-hidden' }],
      [
        'mutation($i: SetSecretInput!) { setSecret(input: $i) { __typename } }',
        { i: { name: 'A', value: { hidden: 1 } } },
      ],
      [
        'mutation($i: SetSecretInput!) { setSecret(input: $i) { __typename } }',
        { i: { nmae: 'A', value: 'hidden' } },
      ],
      ['mutation { setSecret(input: {name: "A", value: [hidden]}) { __typename } }', {}],
      ['mutation { setSecret(input: {name: "A", value: 424242}) { __typename } }', {}],
      ['mutation { setSecret(input: {name: "A", value: {a: "hidden"}}) { __typename } }', {}],
      ['mutation { setSecret(input: {name: "A" value: "b"}) "hidden" }', {}],
    ]
    for (const [query, variables] of faulty) {
      const found = await messages(query, variables)
      expect(found.length, query).toBeGreaterThan(0)
      expect(found.join('\n'), query).not.toMatch(/Did you mean|Suggestion|hidden|424242/)
    }
  })

  test('an invalid variable is refused with its path and the expected type', async () => {
    const query = 'mutation($i: CreateToolInput!) { createTool(input: $i) { __typename } }'
    const result = await h.gql(query, {
      i: { name: 7, config: { http: { url: 'u', method: 'PSOT', inputSchema: 1 } } },
    })
    const { code, issues, ...rest } = result.errors![0]!.extensions!
    expect([code, rest]).toEqual(['INVALID', {}])
    expect(issues).toHaveLength(3)
    expect(issues).toEqual(
      expect.arrayContaining([
        { path: ['i', 'name'], message: 'must be a String' },
        {
          path: ['i', 'config', 'http', 'method'],
          message: 'must be one of DELETE, GET, HEAD, PATCH, POST, PUT',
        },
        { path: ['i', 'config', 'http', 'inputSchema'], message: 'must be a JSONSchema' },
      ]),
    )
  })
})

describe('who is asking', () => {
  test('a missing, malformed, wrong, expired and revoked key get 401 with the same message', async () => {
    const soon = new Date(Date.now() + 400).toISOString()
    const make = async (input: object) =>
      (await h.mutate('createApiKey', { name: 'k', role: 'VIEWER', ...input }, 'secret apiKey { id }')) as any
    const expiring = await make({ expiresAt: soon })
    const revoked = await make({})
    expect((await h.gql('{ viewer { id } }', {}, revoked.secret)).status).toBe(200)
    await h.mutate('revokeApiKey', { id: revoked.apiKey.id }, 'apiKey { id }')
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(soon))
    const headers = [
      {},
      { authorization: '' },
      { authorization: adminKey },
      { authorization: 'Bearer' },
      { authorization: `Basic ${adminKey}` },
      { authorization: 'Bearer gh_wrong' },
      { authorization: `Bearer ${'x'.repeat(5000)}` },
      { authorization: `Bearer ${expiring.secret}` },
      { authorization: `Bearer ${revoked.secret}` },
    ]
    const answers = new Set<string>()
    for (const given of headers) {
      const response = await fetch(`${h.url}/graphql`, {
        method: 'POST',
        headers: { ...json, ...(given as Record<string, string>) },
        body: JSON.stringify({ query: '{ viewer { id } }' }),
      })
      const body = (await response.json()) as any
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(body.errors[0].extensions).toEqual({ code: 'UNAUTHENTICATED' })
      answers.add(body.errors[0].message)
    }
    expect(answers.size).toBe(1)
  })

  test('without a key every root field is refused, introspection too, except __typename', async () => {
    const { data } = await h.gql('{ __typename }', {}, '')
    expect(data['__typename']).toBe('Query')
    for (const query of [
      '{ viewer { id } }',
      '{ projects { nodes { id } } }',
      '{ node(id: "proj_x") { id } }',
      '{ __schema { queryType { name } } }',
      '{ __type(name: "Query") { name } }',
    ]) {
      const refused = await h.gql(query, {}, '')
      expect(refused).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    }
  })

  test('a key that sends too many requests gets 429 and the time of the next try', async () => {
    const slow = await openHarness({ requestsPerMinute: 2 })
    await slow.gql('{ __typename }')
    await slow.gql('{ __typename }')
    const response = await post(viewer, {}, slow)
    const body = (await response.json()) as any
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(body.errors[0].extensions).toEqual({ code: 'LIMITED', retryAfterMs: expect.any(Number) })
    await slow.stop()
  })
})

describe('characters that cannot be stored', () => {
  const texts = {
    NUL: 'a\u0000b',
    'the first half of a pair': 'a\ud800b',
    'the second half of a pair': '\udc00',
  }

  test.each(Object.entries(texts))('%s in any input gives a typed result', async (_what, text) => {
    const schema = { type: 'object', properties: { [text]: { type: 'string', description: text } } }
    const attempts: [string, object][] = [
      ['createProject', { name: text }],
      ['createApiKey', { name: text, role: 'VIEWER' }],
      ['revokeApiKey', { id: text }],
      ['setSecret', { name: 'S', value: text }],
      ['deleteSecret', { name: text }],
      ['createTool', { name: 'c1', description: text, config: { client: { inputSchema: schema } } }],
      [
        'createTool',
        { name: 'c2', presetParameters: { [text]: text }, config: { client: { inputSchema: {} } } },
      ],
      ['createAgent', { name: text, instructions: text }],
      ['createAgent', { name: 'fine', instructions: text, outputSchema: schema }],
      ['deleteAgent', { id: text }],
      ['callTool', { toolId: `tool_${text}`, arguments: {} }],
      ['startGeneration', { agentId: 'agt_x', prompt: text, idempotencyKey: text }],
      ['cancelGeneration', { generationId: `gen_${text}` }],
      ['deleteProvider', { name: text }],
      ['setProvider', { name: 'p', kind: 'OPENAI', defaultModel: text }],
    ]
    for (const [name, input] of attempts) {
      const done = await h.mutate(name, input, '__typename')
      expect(done['__typename'], `${name} ${JSON.stringify(input)}`).toMatch(
        /^(ValidationError|NotFoundError|NameTakenError|\w+Payload)$/,
      )
    }
    for (const query of [
      'query($t: ID!) { tool(id: $t) { id } }',
      'query($t: ID!) { node(id: $t) { id } }',
      'query($t: ID!) { tools(projectId: $t) { nodes { id } } }',
      'query($t: ID!) { generations(filter: { agentId: $t }) { nodes { id } } }',
    ]) {
      for (const id of [text, `tool_${text}`, `proj_${text}`]) {
        const { status, errors } = await h.gql(query, { t: id })
        expect(status).toBeLessThan(500)
        expect(errors?.[0]?.extensions?.['code'] ?? 'INVALID', query).toMatch(/^(INVALID|NOT_FOUND)$/)
      }
    }
    const listed = await h.gql(
      '{ agents(first: 100) { nodes { name instructions } } tools(first: 100) { nodes { name description } } }',
    )
    expect(listed.errors).toBeUndefined()
  })
})

describe('headers', () => {
  test('every response forbids browsers to guess its type', async () => {
    for (const path of ['/graphql?query={__typename}', '/healthz', '/readyz', '/nothing', '/metrics']) {
      const response = await fetch(h.url + path)
      expect(response.headers.get('x-content-type-options'), path).toBe('nosniff')
    }
    expect((await post(viewer)).headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('an event stream tells proxies not to buffer it', async () => {
    const stop = new AbortController()
    const response = await fetch(`${h.url}/graphql`, {
      method: 'POST',
      headers: { ...bearer, ...json, accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { projectEvents { cursor } }' }),
      signal: stop.signal,
    })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    stop.abort()
  })

  test('no page is served to a browser in production', async () => {
    const response = await fetch(`${h.url}/graphql`, { headers: { accept: 'text/html' } })
    expect(await response.text()).not.toMatch(/<html|<script/i)
  })
})
