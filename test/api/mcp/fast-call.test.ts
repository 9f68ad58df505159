/** A plain tools/call is served without the SDK's server: its response is the one that the SDK gives, whatever was asked. */
import { inputRequired } from '@modelcontextprotocol/server'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { describe, expect, test } from 'vitest'
import { plainCallOf, plainReply } from '../../../src/api/mcp/delivery/fast-reply.ts'
import { makeGatedAgent } from '../../support/gated-agent.ts'
import { openHarness } from '../../support/harness.ts'
import { acceptStream, envelope, modernProtocol, tasksCapability } from '../../support/mcp-wire.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startModern } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

/** An agent with the tools of `far` and others, and one with each profile of errors. */
const paths: Record<string, string> = {}

const text = (said: string, more: object = {}) => ({ content: [{ type: 'text', text: said, ...more }] })
const refuses = (code: number, data?: object) => () => {
  throw Object.assign(new Error('refused'), { code, ...(data ? { data } : {}) })
}
const question = {
  method: 'elicitation/create' as const,
  params: {
    mode: 'form' as const,
    message: 'Who?',
    requestedSchema: { type: 'object' as const, properties: {} },
  },
}

/** What the tools of the upstream return. */
const behaviours: Record<string, () => unknown> = {
  texts: () => ({ content: [...text('one').content, ...text('"two" \u2028 \ud83d\ude00').content] }),
  nothing: () => ({ content: [] }),
  image: () => ({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] }),
  link: () => ({ content: [{ type: 'resource_link', uri: 'test://one', name: 'one' }] }),
  annotated: () => text('noted', { annotations: { priority: 1 }, _meta: { a: 1 } }),
  structured: () => ({ ...text('{}'), structuredContent: { b: 1, a: { '10': 1, '2': [null, 'x'] } } }),
  list: () => ({ ...text('[]'), structuredContent: [1, 2] }),
  number: () => ({ ...text('7'), structuredContent: 7 }),
  proto: () => ({ ...text('p'), structuredContent: JSON.parse('{"__proto__":{"a":1},"b":2}') as object }),
  meta: () => ({ ...text('m'), _meta: { 'example.com/a': 1, progressToken: 7 } }),
  failing: () => ({ ...text('it broke'), isError: true }),
  coded: () => ({
    ...text('it broke'),
    isError: true,
    structuredContent: { error: { code: 'odd', message: 'x' } },
  }),
  asks: () => inputRequired({ inputRequests: { user: question } }),
  lacks: refuses(-32021, { requiredCapabilities: { sampling: {} } }),
  refuses: refuses(-32602),
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

interface CallRequest {
  headers: Record<string, string>
  body: unknown
}

function post(path: string, { headers, body }: CallRequest, contentType: string): Promise<Answer> {
  const given = { 'content-type': contentType, 'x-agent-api-key': agent.callerKey, ...headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${h.url}${path}`, { method: 'POST', headers: given }, (response) => {
      let said = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: said }),
      )
    })
    request.on('error', reject)
    request.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

/** What differs between two calls in any case: their ids, times and signed states. */
function comparable({ status, headers, body }: Answer) {
  if (headers['content-length']) expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  const { date: _date, ratelimit: _left, 'content-length': _length, ...rest } = headers
  const same = body
    .replaceAll(/(call|apr|gen|thr)_[0-9a-z]{10,}/g, '$1')
    .replaceAll(/"requestState":"[^"]+"/g, '"requestState"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid')
  return { status, headers: rest, body: same }
}

const bySdk = 'application/json; charset=utf-8'

/** Expects that the SDK says the same; tells what, and whether the request is recognised as a plain call. */
async function compare(
  asked: CallRequest,
  path = paths['AUTO']!,
): Promise<{ isPlain: boolean; body: string }> {
  const body = typeof asked.body === 'string' ? (JSON.parse(asked.body) as unknown) : asked.body
  const isPlainAs = (contentType: string) => {
    const headers = { 'content-type': contentType, ...asked.headers }
    return plainCallOf({ http: { method: 'POST', headers } as never, body }) !== null
  }
  expect(isPlainAs(bySdk)).toBe(false)
  const served = await post(path, asked, bySdk)
  const direct = await post(path, asked, 'application/json')
  expect(comparable(direct)).toEqual(comparable(served))
  expect(direct.body).not.toContain('internal_error')
  return { isPlain: isPlainAs('application/json'), body: direct.body }
}

const message = (params: unknown, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params,
  ...more,
})
const headersFor = (name: string, more: object = {}) => ({
  accept: acceptStream,
  'mcp-protocol-version': modernProtocol,
  'mcp-method': 'tools/call',
  'mcp-name': name,
  ...more,
})
const modern = (
  name: string,
  args?: unknown,
  more: { headers?: object; meta?: object; params?: object } = {},
): CallRequest => ({
  headers: headersFor(name, more.headers),
  body: message({
    name,
    ...(args === undefined ? {} : { arguments: args }),
    _meta: { ...envelope(), ...more.meta },
    ...more.params,
  }),
})
const legacy = (name: string, args?: unknown, headers: Record<string, string> = {}): CallRequest => ({
  headers,
  body: message({ name, ...(args === undefined ? {} : { arguments: args }) }),
})

const calls: [string, string, unknown?][] = [
  ['a call that succeeds', 'echo', { word: 'w' }],
  ['an argument of every kind of character', 'echo', { word: 'é漢\ud83d\ude00\u0000"\\' }],
  ['a missing argument', 'echo', {}],
  ['no arguments', 'echo'],
  ['an argument of a wrong type', 'echo', { word: 7 }],
  ['an unknown argument', 'echo', { word: 'w', more: 1 }],
  ['a service that fails', 'fail', { word: 'w' }],
  ['a service that cannot be reached', 'closed', {}],
  ['an output that does not fit', 'strict', {}],
  ['a header that is missing', 'headed', { word: 'w' }],
  ['a gate', 'pay', { word: 'gated' }],
  ['approval_wait without an id', 'approval_wait', {}],
  ['approval_wait for an unknown call', 'approval_wait', { call_id: 'call_none' }],
  ['an unknown tool', 'nothing_here', {}],
  ['the name of a member of every object', 'constructor', {}],
  ['an idempotency key of a wrong type', 'echo', { word: 'w', idempotency_key: 7 }],
  ['attachments of a wrong type', 'echo', { word: 'w', attachments: 'x' }],
  ...Object.keys(behaviours).map((name): [string, string, unknown] => [
    `${name} of an upstream`,
    `far_${name}`,
    {},
  ]),
]

describe.each(['AUTO', 'SPEC', 'SEED'])('with the profile %s of errors', (profile) => {
  test.each(calls)('%s: a modern client gets what the SDK responds', async (_what, name, args) => {
    expect((await compare(modern(name, args), paths[profile])).isPlain).toBe(true)
  })

  test.each(calls)(
    '%s: a legacy caller without a stream gets what the SDK responds',
    async (_what, name, args) => {
      expect((await compare(legacy(name, args), paths[profile])).isPlain).toBe(true)
    },
  )
})

test('what the compared responses say', async () => {
  const said = async (asked: CallRequest) => (await compare(asked)).body
  expect(await said(modern('echo', { word: 'w' }))).toContain('done: /echo')
  expect(await said(legacy('echo', { word: 'w' }))).toContain('done: /echo')
  expect(await said(modern('pay', { word: 'said' }))).toContain('"resultType":"input_required"')
  expect(await said(legacy('pay', { word: 'said' }))).toContain('pending_approval')
  expect(await said(modern('far_image', {}))).toContain('"mimeType":"image/png"')
  expect(await said(modern('far_annotated', {}))).toContain('"priority":1')
  expect(await said(modern('far_meta', {}))).toContain('example.com/a')
  expect(await said(modern('far_proto', {}))).toContain('"b":2')
  const asks = modern('far_asks', {}, { meta: envelope({ elicitation: {} }) })
  expect(await said(asks)).toContain('elicitation/create')
})

test('a repeat with a key is the same response, and with other arguments a conflict', async () => {
  const word = { word: 'kept', idempotency_key: 'k1' }
  await compare(modern('echo', word))
  await compare(legacy('echo', word))
  await compare(modern('echo', { ...word, word: 'other' }))
  await compare(legacy('echo', { ...word, word: 'other' }))
  expect(agent.upstream.seen.filter(({ body }) => body.includes('kept'))).toHaveLength(1)
})

const id = (given: unknown) => ({
  ...modern('echo', { word: 'w' }),
  body: { ...(modern('echo', { word: 'w' }).body as object), id: given },
})

test.each([
  ['a text as its id', id('a "quoted" \u2028 id')],
  ['an empty id', id('')],
  ['a negative id', id(-5)],
  ['the largest id', id(Number.MAX_SAFE_INTEGER)],
  [
    'the name of the client',
    modern(
      'echo',
      { word: 'w' },
      { meta: { 'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' } } },
    ),
  ],
  [
    'other capabilities',
    modern(
      'far_asks',
      {},
      { meta: envelope({ elicitation: {}, roots: { listChanged: true }, extensions: { x: {} } }) },
    ),
  ],
  ...['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'].map((version): [string, CallRequest] => [
    `the legacy version ${version}`,
    legacy('echo', { word: 'w' }, { 'mcp-protocol-version': version, accept: 'application/json' }),
  ]),
])('with %s a call gets what the SDK responds, and is plain', async (_what, asked) => {
  expect((await compare(asked)).isPlain).toBe(true)
})

const without = (name: string) => {
  const { [name]: _left, ...headers } = modern('echo', { word: 'w' }).headers
  return { ...modern('echo', { word: 'w' }), headers }
}
const whole = (more: object, leave?: string) => {
  const { headers, body } = modern('echo', { word: 'w' })
  const changed: Record<string, unknown> = { ...(body as object), ...more }
  if (leave) delete changed[leave]
  return { headers, body: changed }
}
const meta = (more: object) => modern('echo', { word: 'w' }, { meta: more })
const mcp = { inlineHoldMs: 30, roundHoldMs: 30, taskAfterMs: 10_000 }
const h = await forFile(openHarness({ toolTimeoutMs: 1500 } as never, { mcp }))
const agent = await forFile(makeGatedAgent(h))
const far = await forFile(startModern())
for (const [name, run] of Object.entries(behaviours)) far.tools.set(name, { tool: { name }, run })
const make = async (name: string, config: object, more: object = {}) =>
  (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id as string
const http = { url: 'http://127.0.0.1:9/x', method: 'POST', inputSchema: { type: 'object' } }
const headed = objectSchema({ word: { type: 'string', 'x-mcp-header': 'Word' } })
const toolIds = [
  ...Object.values(agent.tools),
  await make('far', { mcp: { url: far.url } }),
  await make('closed', { http }),
  await make('headed', { http: { ...http, url: `${agent.upstream.url}/headed`, inputSchema: headed } }),
  await make(
    'strict',
    { http: { ...http, url: `${agent.upstream.url}/strict` } },
    {
      outputSchema: objectSchema({ a: { type: 'string' } }, ['a']),
    },
  ),
]
for (const errorProfile of ['AUTO', 'SPEC', 'SEED']) {
  const input = { name: `all ${errorProfile}`, toolIds, mcp: { enabled: true, errorProfile } }
  paths[errorProfile] = `/mcp/${(await h.mutate('createAgent', input, 'agent { id }'))['agent'].id}`
}

const key = (name: string) => `io.modelcontextprotocol/${name}`

test.each<[string, CallRequest]>([
  ['no protocol version in its headers', without('mcp-protocol-version')],
  ['no method in its headers', without('mcp-method')],
  ['no name in its headers', without('mcp-name')],
  [
    'another method in its headers',
    modern('echo', { word: 'w' }, { headers: { 'mcp-method': 'tools/list' } }),
  ],
  ['another name in its headers', modern('echo', { word: 'w' }, { headers: { 'mcp-name': 'fail' } })],
  ['an encoded name', modern('echo', { word: 'w' }, { headers: { 'mcp-name': '=?base64?ZWNobw==?=' } })],
  [
    'a version that nobody serves',
    modern(
      'echo',
      {},
      { headers: { 'mcp-protocol-version': '2099-01-01' }, meta: { [key('protocolVersion')]: '2099-01-01' } },
    ),
  ],
  ['two versions', modern('echo', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } })],
  ['a version that is no text', meta({ [key('protocolVersion')]: 7 })],
  ['capabilities that are no object', meta({ [key('clientCapabilities')]: [] })],
  [
    'capabilities of a wrong type',
    meta({ [key('clientCapabilities')]: { elicitation: 'yes', extensions: 5 } }),
  ],
  ['capabilities that are null', meta({ [key('clientCapabilities')]: null })],
  ['a client of a wrong type', meta({ [key('clientInfo')]: 'me' })],
  ['support for tasks', meta(envelope(tasksCapability))],
  ['a progress token', meta({ progressToken: 1 })],
  ['a log level', meta({ [key('logLevel')]: 'debug' })],
  ['a key in its meta', meta({ 'gatehouse/idempotency_key': 'in-meta' })],
  ['a requestState', modern('echo', { word: 'w' }, { params: { requestState: 'x' } })],
  ['responses to input requests', modern('echo', { word: 'w' }, { params: { inputResponses: {} } })],
  ['an unknown parameter', modern('echo', { word: 'w' }, { params: { task: { ttl: 1 } } })],
  ['arguments that are a list', modern('echo', [])],
  ['arguments that are null', modern('echo', null)],
  [
    'a prototype in its arguments',
    {
      ...modern('echo'),
      body: JSON.stringify(message({ name: 'echo', _meta: envelope() })).replace(
        '"name"',
        '"arguments":{"word":"w","__proto__":{"a":1}},"name"',
      ),
    },
  ],
  ['a name that is no text', whole({ params: { name: 7, _meta: envelope() } })],
  ['parameters that are a list', whole({ params: [] })],
  ['no parameters', whole({}, 'params')],
  ['no id', whole({}, 'id')],
  ['null as its id', whole({ id: null })],
  ['a fraction as its id', whole({ id: 1.5 })],
  ['another version of JSON-RPC', whole({ jsonrpc: '1.0' })],
  ['an unknown member', whole({ more: 1 })],
  ['a result', whole({ result: {} })],
  [
    'a legacy version that nobody serves',
    legacy('echo', { word: 'w' }, { 'mcp-protocol-version': '1999-01-01' }),
  ],
  [
    'the modern version without an envelope',
    legacy('echo', { word: 'w' }, { 'mcp-protocol-version': modernProtocol }),
  ],
  ['a stream for a legacy caller', legacy('echo', { word: 'w' }, { accept: acceptStream })],
  ['an unknown session', legacy('echo', { word: 'w' }, { 'mcp-session-id': 'none' })],
  ['a batch', { headers: {}, body: [message({ name: 'echo', arguments: { word: 'w' } })] }],
])("with %s a call is the SDK's", async (_what, asked) => {
  expect((await compare(asked)).isPlain).toBe(false)
})

const block = { type: 'text', text: 'x' }
const plain = { content: [block], isError: false }

test.each<[string, object]>([
  ['a block with annotations', { ...plain, content: [block, { ...block, annotations: { priority: 1 } }] }],
  ['a block with a meta', { ...plain, content: [{ ...block, _meta: {} }] }],
  ['a block of another type', { ...plain, content: [{ type: 'image', text: 'x' }] }],
  ['a block whose text is none', { ...plain, content: [{ type: 'text', text: 7 }] }],
  ['a block that is null', { ...plain, content: [null] }],
  ['no content', { isError: false }],
  ['a task', { resultType: 'task', taskId: 'x', status: 'working' }],
  ['another round', { resultType: 'input_required', requestState: 'x' }],
  ['an error flag of a wrong type', { content: [], isError: 'no' }],
  ['structured content that is a list', { ...plain, structuredContent: [] }],
  ['a prototype in its structured content', { ...plain, structuredContent: JSON.parse('{"__proto__":1}') }],
  ['a meta that is not ours', { ...plain, _meta: { 'gatehouse/call_id': 'x', progressToken: 7 } }],
  ['a prototype in its meta', { ...plain, _meta: JSON.parse('{"__proto__":1}') }],
])('a result with %s is for the SDK to check and write', (_what, result) => {
  for (const era of ['modern', 'legacy'] as const) {
    expect(plainReply({ era, id: 1 }, plain as never, {})).not.toBeNull()
    expect(plainReply({ era, id: 1 }, result as never, {})).toBeNull()
  }
})
