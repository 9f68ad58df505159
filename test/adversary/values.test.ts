/**
 * One table of values against all doors: what is sent is what the tool gets, what the ledger and the approver have and what
 * comes back, to the last digit, or it is refused with its path and nothing is sent.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClient } from '../../client/index.ts'
import { readJson, writeJson } from '../../src/core/json.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { acceptStream, envelope, modernProtocol, startSession } from '../support/mcp-wire.ts'
import { startRawProvider } from '../support/raw-provider.ts'
import { testKey } from '../support/strict-provider.ts'
import { framesOf, type Wire } from '../support/wire-frames.ts'
import { forFile } from '../support/for-file.ts'

const id = '2512292042121000001'

/** As it is sent, as the tool gets it. Null: refused. */
const values: [sent: string, got: string | null][] = [
  ['0', '0'],
  ['-0', '0'],
  ['1.0', '1'],
  ['1e3', '1000'],
  ['-1.50', '-1.5'],
  ['0.1', '0.1'],
  ['0.30000000000000004', '0.30000000000000004'],
  ['9007199254740991', '9007199254740991'],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740993', '9007199254740993'],
  [id, id],
  [`-${id}`, `-${id}`],
  ['18446744073709551615', '18446744073709551615'],
  ['100000000000000000000', '100000000000000000000'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['12345678901234567.5', '12345678901234567.5'],
  ['0.12345678901234567891', '0.12345678901234567891'],
  ['123456789012345678901e2', '12345678901234567890100'],
  ['1e22', '1e+22'],
  ['5e-324', '5e-324'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ['1e309', null],
  ['-1e400', null],
  ['1e-400', null],
  ['7'.repeat(401), null],
  ['""', '""'],
  [`"${id}"`, `"${id}"`],
  ['"é 😀"', '"é 😀"'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['"a\\u0000b"', '"a\ufffdb"'],
  ['"\\ud83d"', '"\ufffd"'],
  ['"\\ude00\\ud83d"', '"\ufffd\ufffd"'],
  ['"\\\\u0000"', '"\\\\u0000"'],
  ['"__proto__"', '"__proto__"'],
  ['"<\\u2028>"', '"<\u2028>"'],
  ['null', 'null'],
  ['[]', '[]'],
  [`[[${id}],{"a":[${id}]}]`, `[[${id}],{"a":[${id}]}]`],
  ['{"a":1,"a":2}', '{"a":2}'],
  [`{"__proto__":{"x":${id}},"constructor":1}`, `{"__proto__":{"x":${id}},"constructor":1}`],
  ['{"k\\u0000":1}', '{"k\ufffd":1}'],
]

const h = await forFile(openHarness())
const provider = await forFile(startRawProvider())
const upstream = await forFile(
  startLoopback(({ body }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"got":${body}}`)
  }),
)
const make = async (name: string, more: object = {}) => {
  const config = {
    http: { url: `${upstream.url}/${name}`, method: 'POST', inputSchema: { type: 'object' } },
  }
  const input = { name, idempotent: true, config, ...more }
  return (await h.mutate('createTool', input, 'tool { id }'))['tool'].id as string
}
const echo = await make('echo', { gate: { autoApprove: true } })
const paid = await make('paid', { gate: { autoApprove: false } })
const teller = { name: 'teller', toolIds: [echo], mcp: { enabled: true } }
const agent = await h.mutate('createAgent', teller, 'agent { id }')
const agentUrl = `${h.url}/mcp/${agent['agent'].id}`
const session: Record<string, string> = await startSession(agentUrl, adminKey)

/** The text of the response. */
async function post(url: string, body: string, headers: Record<string, string> = {}): Promise<string> {
  const own = { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` }
  return (await fetch(url, { method: 'POST', headers: { ...own, ...headers }, body })).text()
}

const selected = `{ __typename ... on ToolCallPayload { toolCall { status arguments structuredContent } }
  ... on ValidationError { issues { path message } } ... on Error { message } }`
const mutation = `mutation($input: CallToolInput!) { callTool(input: $input) ${selected} }`

/** A request of GraphQL whose variables are a text. */
const request = (variables: string) => `{"query":${JSON.stringify(mutation)},"variables":${variables}}`
const inputOf = (value: string) => `{"input":{"toolId":"${echo}","arguments":{"v":${value}}}}`

const message = (value: string, more = '') =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"v":${value}}${more}}}`

function overSocket(value: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${h.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const payload = `{"authorization":"Bearer ${adminKey}"}`
    socket.on('open', () => socket.send(`{"type":"connection_init","payload":${payload}}`))
    socket.on('error', reject)
    socket.on('message', (data: Buffer) => {
      const text = data.toString()
      const { type } = JSON.parse(text) as { type: string }
      if (type === 'connection_ack')
        socket.send(`{"id":"1","type":"subscribe","payload":${request(inputOf(value))}}`)
      if (type !== 'next' && type !== 'error') return
      resolve(text)
      socket.close()
    })
  })
}

/** Each sends the value as the argument `v` of a call and returns the text of the answer. */
const doors: Record<string, (value: string) => Promise<string>> = {
  'a variable of GraphQL': (value) => post(`${h.url}/graphql`, request(inputOf(value))),
  'a variable of GraphQL, with another Accept': (value) =>
    post(`${h.url}/graphql`, request(inputOf(value)), { accept: 'application/json;q=0.9, text/*;q=0.1' }),
  'a variable inside a literal': (value) => {
    const query = `mutation($v: JSON) { callTool(input: {toolId: "${echo}", arguments: {v: $v}}) ${selected} }`
    return post(`${h.url}/graphql`, `{"query":${JSON.stringify(query)},"variables":{"v":${value}}}`)
  },
  'a variable over a socket': overSocket,
  REST: (value) => post(`${h.url}/api/v1/tools/${echo}/call`, `{"input":{"v":${value}}}`),
  'the bridge, plain': (value) => post(agentUrl, message(value)),
  'the bridge, in a session': (value) => post(agentUrl, message(value), { ...session, accept: acceptStream }),
  'the bridge, modern': (value) =>
    post(agentUrl, message(value, `,"_meta":${JSON.stringify(envelope())}`), {
      accept: acceptStream,
      'mcp-protocol-version': modernProtocol,
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    }),
  'the client': async (value) => {
    const client = createClient({ url: h.url, key: adminKey })
    try {
      const input = readJson(inputOf(value)) as { input: never }
      return writeJson(await client.callTool((input as { input: { toolId: string } }).input))
    } finally {
      client.close()
    }
  },
}

test.each(Object.keys(doors))(
  'through %s every value arrives as it was sent, or is refused',
  async (door) => {
    for (const [sent, got] of values) {
      const about = `${door}: ${sent.slice(0, 60)}`
      const before = upstream.seen.length
      const answer = await doors[door]!(sent).catch((error: unknown) => String(error))
      if (got === null) {
        expect(upstream.seen.length, about).toBe(before)
        expect(answer, about).toMatch(/cannot be kept exactly/)
        // The client cannot even hold such a number; every other door names its place.
        if (door !== 'the client') expect(answer, about).toMatch(/v\b/)
        continue
      }
      expect(
        upstream.seen.slice(before).map(({ body }) => body),
        about,
      ).toEqual([`{"v":${got}}`])
      expect(answer, about).toContain(`"got":{"v":${got}}`)
      expect(answer, about).not.toContain('gatehouse-')
    }
  },
)

test('a literal of GraphQL keeps the digits of its numbers', async () => {
  const query = (value: string) =>
    `mutation { callTool(input: {toolId: "${echo}", arguments: {v: ${value}}}) ${selected} }`
  const send = (value: string) => post(`${h.url}/graphql`, JSON.stringify({ query: query(value) }))
  for (const [sent, got] of values.filter(([text]) => /^[-\d["]/.test(text) && !text.includes('{'))) {
    const answer = await send(sent)
    // GraphQL itself refuses halves of surrogate pairs.
    if (/ude00\\ud83d|"\\ud83d"/.test(sent)) expect(answer, sent).toContain('GRAPHQL_PARSE_FAILED')
    else if (got === null) expect(answer, sent).toMatch(/errors|INVALID/)
    else expect(answer, sent).toContain(`"got":{"v":${got}}`)
  }
})

test('a key of idempotency never takes two ids for one, and takes one id for itself', async () => {
  const call = (value: string, key: string) =>
    post(
      `${h.url}/graphql`,
      request(`{"input":{"toolId":"${echo}","idempotencyKey":"${key}","arguments":{"v":${value}}}}`),
    )
  const before = upstream.seen.length
  expect(await call(id, 'k')).toContain(`"got":{"v":${id}}`)
  expect(await call('2512292042121000002', 'k')).toContain('IdempotencyConflictError')
  expect(await call(`${id}.0`, 'k')).toContain(`"got":{"v":${id}}`)
  expect(upstream.seen.length).toBe(before + 1)
})

const approvals = `{ approvals(filter: { statuses: [PENDING] }) { nodes { id digest arguments summary { text } } } }`

/** The value as the approver reads it, and the body that the tool got after the verdict. */
async function approved(value: string, edit?: string): Promise<{ question: string; body: string }> {
  const input = `{"input":{"toolId":"${paid}","idempotencyKey":"${randomUUID()}","arguments":{"v":${value}}}}`
  await post(`${h.url}/graphql`, request(input))
  const question = await post(`${h.url}/graphql`, JSON.stringify({ query: approvals }))
  const [{ id: approvalId, digest }] = (JSON.parse(question) as any).data.approvals.nodes
  const decide = `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename ... on Error { message } } }`
  const edited = edit === undefined ? '' : `,"arguments":{"v":${edit}}`
  const verdict = `{"approvalId":"${approvalId}","verdict":"APPROVE","expectedDigest":"${digest}"${edited}}`
  const before = upstream.seen.length
  const decided = await post(
    `${h.url}/graphql`,
    `{"query":${JSON.stringify(decide)},"variables":{"input":${verdict}}}`,
  )
  expect(decided).toContain('ApprovalPayload')
  await expect.poll(() => upstream.seen.length).toBe(before + 1)
  return { question, body: upstream.seen.at(-1)!.body }
}

test('what an approver reads, edits and approves is what the tool gets, and nothing is void', async () => {
  for (const [sent, got] of values.filter(([, kept]) => kept !== null)) {
    const { question, body } = await approved(sent)
    expect(question, sent).toContain(`"arguments":{"v":${got}}`)
    expect(body, sent).toBe(`{"v":${got}}`)
  }
  for (const edit of [id, '"\\u0000"', `{"a":[${id}]}`])
    expect((await approved('1', edit)).body).toBe(writeJson(readJson(`{"v":${edit}}`)))
})

const wires: Wire[] = ['openai', 'anthropic', 'google', 'compatible']

test.each(wires)('what a model of %s sends is what the tool gets, and what it sees again', async (kind) => {
  const { baseUrl } = provider.settings(kind)
  await h.mutate('setSecret', { name: `KEY_${kind}`, value: testKey }, 'secret { name }')
  const record = {
    name: kind,
    kind: kind.toUpperCase(),
    baseUrl,
    secretName: `KEY_${kind}`,
    defaultModel: 'm',
  }
  expect((await h.mutate('setProvider', record, 'provider { name }'))['__typename']).toBe(
    'SetProviderPayload',
  )
  const made = await h.mutate(
    'createAgent',
    { name: `by_${kind}`, model: `${kind}/m`, toolIds: [echo] },
    'agent { id }',
  )
  for (const [sent, got] of values) {
    const call = { name: 'echo', arguments: '{"v":"@@"}', id: `call_${randomUUID().slice(0, 8)}` }
    const own = framesOf(kind, {
      calls: [{ ...call, arguments: kind === 'google' ? call.arguments : `{"v":${sent}}` }],
    })
    provider.requests.length = 0
    provider.script(
      { chunks: own.map((frame) => frame.replace('"@@"', () => sent)) },
      { chunks: framesOf(kind, { text: 'done' }) },
    )
    const before = upstream.seen.length
    const input = { agentId: made['agent'].id, prompt: 'go' }
    const started = await h.mutate('startGeneration', input, 'generation { id }')
    const ended = await h.until(started['generation'].id, ['COMPLETED', 'FAILED'])
    const about = `${kind}: ${sent.slice(0, 60)}`
    expect(ended['status'], about).toBe('COMPLETED')
    const again = provider.requests[1]!
    expect(again, about).not.toContain('gatehouse-')
    if (got === null) {
      expect(upstream.seen.length, about).toBe(before)
      expect(again, about).toContain('cannot be kept exactly: send it as a text')
      continue
    }
    expect(
      upstream.seen.slice(before).map(({ body }) => body),
      about,
    ).toEqual([`{"v":${got}}`])
    // The history has the call and the result: as JSON, or as JSON in a text.
    const plain = (text: string) => text.replaceAll(/\\+/g, '\\').replaceAll('\\"', '"')
    expect(plain(again).split(`"v":${plain(got)}`).length, about).toBeGreaterThanOrEqual(3)
  }
})

const forms = {
  JSON: { type: 'application/json', body: (text: string) => text },
  events: { type: 'text/event-stream', body: (text: string) => `id: ${id}\ndata: ${text}\n\n` },
}

test.each(Object.keys(forms) as (keyof typeof forms)[])(
  'a foreign MCP server gets every value, and what it answers as %s is kept',
  async (form) => {
    const bodies: string[] = []
    const foreign = await startLoopback(({ method, body }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end()
      const { id: requestId, method: name } = JSON.parse(body) as { id?: number; method: string }
      if (requestId === undefined) return void response.writeHead(202).end()
      if (name === 'tools/call') bodies.push(body)
      const args = /"arguments":(\{.*\}),"_meta"/s.exec(body)?.[1] ?? '{}'
      const results: Record<string, string> = {
        initialize:
          '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}',
        'tools/list': `{"tools":[{"name":"pay","inputSchema":{"type":"object","properties":{"v":{"maximum":${id}}}}}]}`,
        'tools/call': `{"content":[],"structuredContent":{"got":${args}},"_meta":{"n":${id}}}`,
      }
      const found = results[name]
      const answer = found ? `"result":${found}` : '"error":{"code":-32601,"message":"none"}'
      const { type, body: formed } = forms[form]
      response.writeHead(200, { 'content-type': type })
      response.end(formed(`{"jsonrpc":"2.0","id":${JSON.stringify(requestId)},${answer}}`))
    })
    try {
      const config = { mcp: { url: foreign.url } }
      const made = await h.mutate('createTool', { name: `far_${form}`, config }, 'tool { id }')
      const toolId = made['tool'].id as string
      const read = 'tool { ... on McpTool { upstream { status notes error { message } } } }'
      const { tool } = await h.mutate('refreshUpstream', { toolId }, read)
      expect(tool.upstream).toEqual({ status: 'CONNECTED', notes: [], error: null })
      const call = (value: string) =>
        post(
          `${h.url}/graphql`,
          request(`{"input":{"toolId":"${toolId}","action":"pay","arguments":{"v":${value}}}}`),
        )
      for (const [sent, got] of values) {
        bodies.length = 0
        const answer = await call(sent)
        const isAbove = /^[1-9]\d{19,}$/.test(sent) || /^[1-9].*e(?:2|22|308)$/.test(sent)
        if (got === null || isAbove) {
          expect(bodies, sent).toEqual([])
          continue
        }
        expect(bodies[0] ?? answer, sent).toContain(`"arguments":{"v":${got}}`)
        expect(answer, sent).toContain(`"structuredContent":{"got":{"v":${got}}}`)
      }
      expect(await call('2512292042121000002')).toContain('must not be above the maximum')
    } finally {
      await foreign.close()
    }
  },
)
