/** The JSON path without web requests responds as Yoga does, and both give the fields in the order of their selection. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness({ production: true }))
const small = await forFile(openHarness({ maxAnswerBytes: 64 * 1024, requestsPerMinute: 1_000_000 }))
const input = { name: 'ask', config: { client: { inputSchema: { type: 'object' } } } }
for (const one of [h, small]) {
  await one.mutate('createTool', input, 'tool { id }')
  for (const name of ['a', 'b', 'c'])
    await one.mutate('createAgent', { name, instructions: 'x'.repeat(40_000) }, 'agent { id }')
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

function post(at: Harness, body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> {
  const given = { 'content-type': 'application/json', authorization: `Bearer ${adminKey}`, ...headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${at.url}/graphql`, { method: 'POST', headers: given }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: text }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** The same meaning, but no spelling that the direct path takes: Yoga serves it. */
const spelledForYoga: Record<string, string> = {
  'application/json': 'application/json;q=1',
  'application/graphql-response+json': 'application/graphql-response+json;q=1',
  '*/*': '*/*;q=1',
}

/** What differs between two requests in any case. */
function comparable({ status, headers, body }: Answer) {
  if (headers['content-length']) expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  const {
    date: _date,
    ratelimit: _left,
    'keep-alive': _alive,
    'retry-after': _retry,
    'content-length': _length,
    ...rest
  } = headers
  const text = body
    .replaceAll(/"currentlyAvailable":\d+/g, '"currentlyAvailable":0')
    .replaceAll(/"retryAfterMs":\d+/g, '"retryAfterMs":0')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid')
  return { status, headers: rest, body: text }
}

const typed =
  'query($n: Int!, $kind: ToolKind) { agents(first: $n) { nodes { name } } tools(kind: $kind) { nodes { name } } }'
const bodies: [string, object | string][] = [
  ['a query', { query: '{ viewer { id name } }' }],
  ['variables', { query: typed, variables: { n: 2 } }],
  [
    'variables that are null',
    { query: '{ viewer { id } }', variables: null, operationName: null, extensions: {} },
  ],
  ['a missing variable', { query: typed, variables: {} }],
  ['variables of a wrong type', { query: typed, variables: { n: 'x', kind: 'NONE' } }],
  [
    'a name of one of two operations',
    { query: 'query A { viewer { id } } query B { viewer { name } }', operationName: 'B' },
  ],
  ['no name of two operations', { query: 'query A { viewer { id } } query B { viewer { name } }' }],
  ['an unknown name', { query: 'query A { viewer { id } }', operationName: 'C' }],
  ['a syntax error', { query: '{ viewer { id ' }],
  ['a syntax error with a value', { query: '{ viewer(a: "hidden" }' }],
  ['an unknown field', { query: '{ viewr { id } }' }],
  ['an unknown argument with a value', { query: '{ tools(frist: "hidden") { nodes { id } } }' }],
  ['too many tokens', { query: `{ ${'viewer { id } '.repeat(600)} }` }],
  [
    'too many aliases',
    { query: `{ ${Array.from({ length: 31 }, (_, i) => `a${i}: viewer { id }`).join(' ')} }` },
  ],
  ['too high a cost', { query: '{ generations(first: 100) { nodes { steps { toolCalls { id } } } } }' }],
  ['a too long alias', { query: `{ ${'a'.repeat(129)}: viewer { id } }` }],
  [
    'an error of a nullable field',
    { query: '{ viewer { id } tool(id: "tool_none") { id } node(id: "agt_none") { id } }' },
  ],
  ['a bad cursor', { query: '{ agents(after: "x") { nodes { id } } }' }],
  [
    'a mutation that is refused as data',
    {
      query: 'mutation { deleteAgent(input: {id: "agt_none"}) { __typename ... on Error { code message } } }',
    },
  ],
  ['introspection', { query: '{ __schema { queryType { name } } __type(name: "Tool") { kind } }' }],
  [
    'too much introspection',
    { query: '{ a: __schema { queryType { name } } b: __schema { queryType { name } } }' },
  ],
  ['feedCursor', { query: '{ viewer { project { feedCursor } } }' }],
  [
    'an unknown subscription',
    { query: 'subscription { generationEvents(generationId: "gen_none") { cursor } }' },
  ],
  ['characters beyond ASCII', { query: '{ viewer { id } } # é 漢 😀' }],
  ['no query', { variables: {} }],
  ['a query that is a number', { query: 7 }],
  ['variables that are a list', { query: '{ viewer { id } }', variables: [] }],
  ['variables that are a text', { query: '{ viewer { id } }', variables: 'x' }],
  ['a name that is a number', { query: '{ viewer { id } }', operationName: 7 }],
  ['an unknown parameter', { query: '{ viewer { id } }', id: 'x' }],
  ['extensions that are a list', { query: '{ viewer { id } }', extensions: [] }],
  ['a list of operations', [{ query: '{ viewer { id } }' }]],
  ['null', 'null'],
  ['a text', '"x"'],
  ['nothing', ''],
  ['invalid JSON', '{"query": hidden}'],
  ['a prototype', '{"query":"{ viewer { id } }","__proto__":{"a":1}}'],
]

describe.each(Object.entries(spelledForYoga))('asked for %s', (accept, forYoga) => {
  test.each(bodies)('%s gets the status, headers and body that Yoga gives', async (_what, given) => {
    const body = typeof given === 'string' ? given : JSON.stringify(given)
    const direct = await post(h, body, { accept })
    const yoga = await post(h, body, { accept: forYoga })
    expect(comparable(direct)).toEqual(comparable(yoga))
  })

  test('a response beyond its budget gets what Yoga gives', async () => {
    const body = JSON.stringify({ query: '{ agents(first: 3) { nodes { instructions } } }' })
    const direct = await post(small, body, { accept })
    expect(direct.body).toContain('RESPONSE_TOO_LARGE')
    expect(comparable(direct)).toEqual(comparable(await post(small, body, { accept: forYoga })))
  })

  test('a caller without a key, and one whose points are spent, get what Yoga gives', async () => {
    const poor = await openHarness({ costPerMinute: 1 })
    const query = JSON.stringify({ query: '{ viewer { id } }' })
    for (const authorization of [undefined, `Bearer ${adminKey}`])
      for (const body of [query, JSON.stringify({ query: '{ __schema { queryType { name } } }' })]) {
        const send = (as: string) =>
          post(poor, body, { accept: as, ...(authorization ? { authorization } : { authorization: '' }) })
        await send(accept)
        expect(comparable(await send(accept))).toEqual(comparable(await send(forYoga)))
      }
    await poor.stop()
  })
})

test('a BOM, another charset, a query string and an origin get what Yoga gives or are left to it', async () => {
  const query = JSON.stringify({ query: '{ viewer { id } }' })
  const plain = comparable(await post(h, query))
  expect(plain.status).toBe(200)
  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
  ])
    expect(comparable(await post(h, query, { 'content-type': type }))).toEqual(plain)
  const accept = { accept: 'application/json' }
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(query)])
  const direct = comparable(await post(h, marked, accept))
  expect(direct).toEqual(comparable(await post(h, marked, { accept: 'application/json;q=1' })))
})

test('browsers of an allowed origin get CORS headers on this path too', async () => {
  const open = await openHarness({ corsOrigins: ['https://app.example'] })
  const body = JSON.stringify({ query: '{ viewer { id } }' })
  const allowed = await post(open, body, { origin: 'https://app.example', accept: '*/*' })
  expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example')
  const refused = await post(open, body, { origin: 'https://evil.example', accept: '*/*' })
  expect(refused.headers['access-control-allow-origin'] ?? '').not.toContain('evil')
  await open.stop()
})

test('the cost that is cached for a text without variables is not that of another operation of the text', async () => {
  const query =
    'query Small { viewer { id } } query Large { generations(first: 100) { nodes { steps { toolCalls { id } } } } }'
  for (const name of ['Small', 'Large', 'Small', 'Large']) {
    const { body } = await post(h, JSON.stringify({ query, operationName: name }))
    expect(body.includes('complexity')).toBe(name === 'Large')
  }
})

test.each([...Object.values(spelledForYoga), ...Object.keys(spelledForYoga)])(
  'fields come in the order of the selection, whichever resolves first, asked for %s',
  async (accept) => {
    const query =
      '{ agents(first: 1) { nodes { name } } viewer { project { name } id } approvalTally { total { pending } } again: viewer { id } }'
    const { body } = await post(h, JSON.stringify({ query }), { accept })
    const { data } = JSON.parse(body) as { data: Record<string, any> }
    expect(Object.keys(data)).toEqual(['agents', 'viewer', 'approvalTally', 'again'])
    expect(Object.keys(data['viewer'])).toEqual(['project', 'id'])
  },
)

test('more texts than are kept, each with a fault, all get their own errors', async () => {
  const ask = async (i: number) => {
    const { body } = await post(h, JSON.stringify({ query: `{ viewer { id } unknown${i} }` }))
    expect(body).toContain(`unknown${i}\\"`)
  }
  for (let i = 0; i < 1100; i += 10) await Promise.all(Array.from({ length: 10 }, (_, j) => ask(i + j)))
  await ask(0)
})
