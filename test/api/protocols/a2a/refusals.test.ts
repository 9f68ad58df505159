/** What strangers and broken clients send to /a2a: each is refused in the protocol's own form, and starts nothing. */
import { describe, expect, test } from 'vitest'
import { maxBodyBytes } from '../../../../src/api/http/bodies.ts'
import { maxJsonValues } from '../../../../src/core/json.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const plainId = await fixtures.agent({ name: 'plain' })
const waiting = await fixtures.start(plainId, 'call ask {"word": "a"}\nthen\nsay ok')
await h.until(waiting, ['REQUIRES_ACTION'])

interface Sent {
  method?: string
  path?: string
  body?: string | Buffer
  headers?: Record<string, string>
}
const send = async ({ method = 'POST', path = '/plain', body, headers = {} }: Sent, url = h.url) => {
  const response = await fetch(`${url}/a2a${path}`, {
    method,
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}
const rpc = (method: string, params: unknown, id: unknown = 7) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const message = (more: object = {}) => ({
  messageId: 'm',
  role: 'ROLE_USER',
  parts: [{ text: 'say x' }],
  ...more,
})
const sending = (more: object = {}, params: object = {}) =>
  rpc('SendMessage', { message: message(more), ...params })

/** Every run there is, and the one that waits as it is. */
const runs = async () =>
  (await h.gql('query { generations(first: 100) { nodes { id status } } }')).data['generations'].nodes
const refused = async (sent: Sent, status: number, code: number, id: unknown) => {
  const before = await runs()
  const got = await send(sent)
  expect(got).toMatchObject({
    status,
    body: { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } },
  })
  const { error } = got.body
  expect(Object.keys(error).toSorted()).toEqual(['code', 'data', 'message'])
  expect(error.data[0]).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' })
  expect(error.message.length).toBeLessThan(500)
  expect(await runs()).toEqual(before)
  return error
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const bodies: [string, Sent, number, number, unknown][] = [
  [
    'a body beyond the limit',
    { body: sending({ parts: [{ text: 'x'.repeat(maxBodyBytes) }] }) },
    413,
    -32000,
    null,
  ],
  [
    'a text beyond the limit',
    { body: sending({ parts: [{ text: 'x'.repeat(maxBodyBytes - 500) }] }) },
    200,
    -32602,
    7,
  ],
  ['more values than are parsed', { body: `[${'1,'.repeat(maxJsonValues)}1]` }, 413, -32000, null],
  ['JSON that is only deep', { body: nested(90_000) }, 200, -32700, null],
  ['bytes that are no text', { body: Buffer.from([0xff, 0xfe, 0x00]) }, 200, -32700, null],
  ['another type', { body: sending(), headers: { 'content-type': 'text/plain' } }, 200, -32700, null],
  ['no body', {}, 200, -32600, null],
  ['a batch', { body: `[${sending()}]` }, 200, -32600, null],
  ['a notification', { body: '{"jsonrpc":"2.0","method":"GetTask"}' }, 200, -32600, null],
  ['an object as id', { body: rpc('SendMessage', {}, {}) }, 200, -32600, null],
  ['a huge id', { body: rpc('SendMessage', {}, 'x'.repeat(201)) }, 200, -32600, null],
  ['a list of parameters', { body: rpc('SendMessage', []) }, 200, -32602, 7],
  ['another JSON-RPC', { body: '{"jsonrpc":"1.0","id":7,"method":"GetTask"}' }, 200, -32600, 7],
  ['a method of 0.3', { body: rpc('message/send', {}) }, 200, -32601, 7],
  ['a member of a prototype as method', { body: rpc('__proto__', {}) }, 200, -32601, 7],
  ['no version', { body: sending(), headers: { 'a2a-version': '' } }, 200, -32009, 7],
  ['a version that is not served', { body: sending(), headers: { 'a2a-version': '1.1' } }, 200, -32009, 7],
  ['no key', { body: sending(), headers: { authorization: '' } }, 401, -32000, null],
  ['an unknown agent', { path: '/nobody', body: sending() }, 404, -32000, 7],
  ['a name with a broken escape', { path: '/%ff', body: sending() }, 404, -32000, null],
  ['a name with a NUL', { path: '/%00', body: sending() }, 200, -32602, 7],
  ['a path below an agent', { path: '/plain/nothing', body: sending() }, 404, -32000, null],
  ['no agent', { path: '', body: sending() }, 404, -32000, null],
  ['a GET of the endpoint', { method: 'GET' }, 405, -32600, null],
  ['a POST of the card', { path: '/plain/.well-known/agent-card.json', body: sending() }, 405, -32600, null],
  ['the extended card', { body: rpc('GetExtendedAgentCard', {}) }, 200, -32004, 7],
  [
    'a list of push notifications',
    { body: rpc('ListTaskPushNotificationConfigs', { taskId: 'x' }) },
    200,
    -32003,
    7,
  ],
]
test.each(bodies)('%s', (_what, sent, status, code, id) => refused(sent, status, code, id))

const deep = JSON.parse(nested(400)) as unknown
const fields: [string, string, string][] = [
  ['no message', rpc('SendMessage', {}), 'params.message'],
  ['a message that is a text', rpc('SendMessage', { message: 'x' }), 'params.message'],
  ['no id of a message', sending({ messageId: undefined }), 'params.message.messageId'],
  ['an empty id', sending({ messageId: '' }), 'params.message.messageId'],
  ['a huge id', sending({ messageId: 'x'.repeat(201) }), 'params.message.messageId'],
  ['a number as id', sending({ messageId: 1 }), 'params.message.messageId'],
  ['the role of the agent', sending({ role: 'ROLE_AGENT' }), 'params.message.role'],
  ['a role of 0.3', sending({ role: 'user' }), 'params.message.role'],
  ['a huge context', sending({ contextId: 'x'.repeat(201) }), 'params.message.contextId'],
  ['a number as context', sending({ contextId: 1 }), 'params.message.contextId'],
  ['an object as task', sending({ taskId: {} }), 'params.message.taskId'],
  ['a huge task', sending({ taskId: 'x'.repeat(201) }), 'params.message.taskId'],
  ['tasks to refer to', sending({ referenceTaskIds: ['x'] }), 'params.message.referenceTaskIds'],
  ['no parts', sending({ parts: [] }), 'params.message.parts'],
  ['parts that are no list', sending({ parts: { text: 'x' } }), 'params.message.parts'],
  [
    'too many parts',
    sending({ parts: Array.from({ length: 201 }, () => ({ text: 'x' })) }),
    'params.message.parts',
  ],
  ['an empty part', sending({ parts: [{}] }), 'params.message.parts.0'],
  ['two contents in a part', sending({ parts: [{ text: 'x', data: 1 }] }), 'params.message.parts.0'],
  ['a number as text', sending({ parts: [{ text: 1 }] }), 'params.message.parts.0.text'],
  ['nothing to say', sending({ parts: [{ text: '' }] }), 'params.message.parts'],
  ['data too deep', sending({ parts: [{ data: deep }] }), 'params.message.parts.0.data'],
  [
    'a huge name of a file',
    sending({ parts: [{ text: 'x', filename: 'x'.repeat(256) }] }),
    'params.message.parts.0.filename',
  ],
  [
    'a file of nobody',
    sending({ parts: [{ text: 'x' }, { url: `file_${'a'.repeat(24)}` }] }),
    'params.message.parts',
  ],
  ['a tenant', sending({}, { tenant: 'x' }), 'params.tenant'],
  ['a number as configuration', sending({}, { configuration: 1 }), 'params.configuration'],
  [
    'a negative length',
    sending({}, { configuration: { historyLength: -1 } }),
    'params.configuration.historyLength',
  ],
  [
    'a text for true',
    sending({}, { configuration: { returnImmediately: 'true' } }),
    'params.configuration.returnImmediately',
  ],
  [
    'modes that are no texts',
    sending({}, { configuration: { acceptedOutputModes: [1] } }),
    'params.configuration.acceptedOutputModes.0',
  ],
  ['a huge task to get', rpc('GetTask', { id: 'x'.repeat(201) }), 'params.id'],
  ['no task to get', rpc('GetTask', {}), 'params.id'],
  ['a number as task to cancel', rpc('CancelTask', { id: 1 }), 'params.id'],
  ['a list as task to follow', rpc('SubscribeToTask', { id: [] }), 'params.id'],
  ['a page of nothing', rpc('ListTasks', { pageSize: 0 }), 'params.pageSize'],
  ['a huge page', rpc('ListTasks', { pageSize: 101 }), 'params.pageSize'],
  ['an unknown state', rpc('ListTasks', { status: 'DONE' }), 'params.status'],
  [
    'a time',
    rpc('ListTasks', { statusTimestampAfter: '2026-01-01T00:00:00Z' }),
    'params.statusTimestampAfter',
  ],
  ['a text for artifacts', rpc('ListTasks', { includeArtifacts: 'yes' }), 'params.includeArtifacts'],
]
describe('parameters', () => {
  test.each(fields)('%s', async (_what, body, path) => {
    const error = await refused({ body }, 200, -32602, 7)
    expect(error.data[1].fieldViolations[0].field).toBe(path)
  })
})

describe('answers', () => {
  const answer = (...parts: unknown[]) => sending({ taskId: waiting, parts: parts.map((data) => ({ data })) })
  const call = async () => {
    const got = await send({ body: rpc('GetTask', { id: waiting }) })
    return got.body.result.status.message.parts[1].data.toolCallId as string
  }
  const approvalId = `apr_${'a'.repeat(24)}`
  const cases: [string, (id: string) => string, number, RegExp][] = [
    ['a text as data', () => answer('yes'), -32602, /must answer the task/],
    ['an answer to nothing', () => answer({ yes: true }), -32602, /must answer the task/],
    ['no output', (id) => answer({ toolCallId: id }), -32602, /output: must be given/],
    ['an unknown field', (id) => answer({ toolCallId: id, output: 1, more: 1 }), -32602, /more/],
    ['an output too deep', (id) => answer({ toolCallId: id, output: deep }), -32602, /data/],
    [
      'the same call twice',
      (id) => answer({ toolCallId: id, output: 1 }, { toolCallId: id, output: 2 }),
      -32602,
      /twice/,
    ],
    [
      'another call',
      () => answer({ toolCallId: `call_${'a'.repeat(24)}`, output: 1 }),
      -32602,
      /answers nothing/,
    ],
    [
      'another call beside it',
      (id) => answer({ toolCallId: id, output: 1 }, { toolCallId: 'x', output: 1 }),
      -32000,
      /Neither|together/,
    ],
    ['an unknown approval', () => answer({ approvalId, verdict: 'APPROVE' }), -32602, /answers nothing/],
    [
      'an unknown approval beside it',
      (id) => answer({ toolCallId: id, output: 1 }, { approvalId, verdict: 'APPROVE' }),
      -32000,
      /No approval/,
    ],
    ['an unknown verdict', () => answer({ approvalId, verdict: 'MAYBE' }), -32602, /verdict/],
    [
      'arguments that are a list',
      () => answer({ approvalId, verdict: 'APPROVE', arguments: [] }),
      -32602,
      /arguments/,
    ],
    [
      'an edit that rejects',
      () => answer({ approvalId, verdict: 'REJECT', arguments: {} }),
      -32602,
      /APPROVE only/,
    ],
    [
      'a huge reason',
      () => answer({ approvalId, verdict: 'REJECT', reason: 'x'.repeat(2001) }),
      -32602,
      /reason/,
    ],
  ]
  test.each(cases)('%s', async (_what, make, code, words) => {
    const body = make(await call())
    const got = await send({ body })
    expect(got.body).toMatchObject({ id: 7, error: { code, message: expect.stringMatching(words) } })
    expect(await call()).toBeTruthy()
  })
})

test('a body for which there is no memory is refused with 503, and may be sent again', async () => {
  const tight = await openHarness({}, { server: { maxBufferedBodies: 1024 * 1024 } })
  try {
    const big = sending({ parts: [{ text: 'x'.repeat(512 * 1024) }] })
    const got = await send({ body: big }, tight.url)
    expect(got).toMatchObject({ status: 503, body: { error: { data: [{ reason: 'UNAVAILABLE' }] } } })
    expect(got.headers.get('retry-after')).toBe('1')
  } finally {
    await tight.stop()
  }
})

test('a key beyond its rate is told when to come again', async () => {
  const slow = await openHarness({ requestsPerMinute: 2 })
  try {
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await send({ body: sending() }, slow.url))
    const got = answers.find(({ status }) => status === 429)
    expect(got).toMatchObject({ body: { jsonrpc: '2.0', error: { data: [{ reason: 'LIMITED' }] } } })
    expect(Number(got!.headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await slow.stop()
  }
})

test('a key that is bound to an agent has no access', async () => {
  const { data } = await h.gql('{ agents(first: 1) { nodes { id } } }')
  const agentId = data['agents'].nodes[0].id as string
  const { secret } = await h.mutate('createApiKey', { name: 'bound', agentId, role: 'ADMIN' }, 'secret')
  const got = await send({ body: sending(), headers: { authorization: `Bearer ${secret}` } })
  expect(got).toMatchObject({ status: 403, body: { error: { data: [{ reason: 'FORBIDDEN' }] } } })
})
