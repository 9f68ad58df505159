/** What strangers and broken clients send to /v1: each is refused in the protocol's own form, and starts nothing. */
import { expect, test } from 'vitest'
import { maxBodyBytes } from '../../../../src/api/http/bodies.ts'
import { maxJsonValues } from '../../../../src/core/json.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

interface Sent {
  method?: string
  path?: string
  body?: string | Buffer
  headers?: Record<string, string>
}
const send = async ({ method = 'POST', path = '/responses', body, headers = {} }: Sent, url = h.url) => {
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as object }
}
/** Every run there is. */
const runs = async () =>
  (await h.gql('query { generations(first: 100) { nodes { id } } }')).data['generations'].nodes as object[]

const text = (input: string) => JSON.stringify({ model: 'plain', input })
const id = `resp_${'a'.repeat(24)}_0`
const many = `{"model":"plain","input":[${'1,'.repeat(maxJsonValues)}1]}`
const cases: [string, Sent, number, string][] = [
  ['a body beyond the limit', { body: text('x'.repeat(maxBodyBytes)) }, 413, 'request_too_large'],
  ['an input beyond the limit of a prompt', { body: text('x'.repeat(maxBodyBytes - 100)) }, 400, 'invalid'],
  ['more values than are parsed', { body: many }, 413, 'request_too_large'],
  [
    'JSON too deep',
    { body: `{"model":"plain","input":${'['.repeat(90_000)}${']'.repeat(90_000)}}` },
    400,
    'invalid',
  ],
  ['bytes that are no text', { body: Buffer.from([0xff, 0xfe, 0x00]) }, 400, 'invalid'],
  ['no body', {}, 400, 'invalid'],
  ['a lone surrogate in the name', { body: '{"model":"\\ud800","input":"x"}' }, 404, 'not_found'],
  ['members of a prototype', { body: '{"model":"plain","input":"x","__proto__":{"a":1}}' }, 400, 'invalid'],
  ['no key', { body: text('say x'), headers: { authorization: '' } }, 401, 'unauthenticated'],
  [
    'a long idempotency key',
    { body: text('say x'), headers: { 'idempotency-key': 'k'.repeat(201) } },
    400,
    'invalid',
  ],
  ['an unknown path', { method: 'GET', path: '/completions' }, 404, 'not_found'],
  ['a POST of models', { path: '/models', body: text('say x') }, 405, 'invalid'],
  ['a DELETE', { method: 'DELETE', path: `/responses/${id}` }, 405, 'invalid'],
  ['an unknown response', { method: 'GET', path: `/responses/${id}` }, 404, 'not_found'],
  [
    'a place that no run has',
    { method: 'GET', path: `/responses/resp_${'a'.repeat(24)}_999999999` },
    404,
    'not_found',
  ],
  ['a name with a broken escape', { method: 'GET', path: '/models/%ff' }, 404, 'not_found'],
  ['a name with a NUL', { method: 'GET', path: '/models/%00' }, 400, 'invalid'],
]

test.each(cases)('%s', async (_what, sent, status, code) => {
  const before = await runs()
  const refused = await send(sent)
  expect(refused).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } })
  const { error } = refused.body as { error: Record<string, unknown> }
  expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'param', 'type'])
  expect(error['type']).toBe(status === 401 ? 'authentication_error' : 'invalid_request_error')
  expect(await runs()).toEqual(before)
})

test('a path that is not served names those that are', async () => {
  const refused = await send({ path: '/completions', body: '{}' })
  expect(refused).toMatchObject({
    status: 404,
    body: {
      error: {
        message: expect.stringMatching(
          /"\/v1\/completions".*POST \/v1\/responses.*POST \/v1\/chat\/completions/,
        ),
      },
    },
  })
})

test.each(['x', '-2', '1e3', '1.5', '9'.repeat(16), ''])('a stream after "%s"', async (after) => {
  const made = (await send({ body: text('say x') })).body as { id: string }
  const refused = await send({
    method: 'GET',
    path: `/responses/${made.id}?stream=true&starting_after=${after}`,
  })
  expect(refused).toMatchObject({
    status: 400,
    body: { error: { param: 'starting_after', code: 'invalid' } },
  })
})

test('a place in a run that its log has not reached is no response', async () => {
  const made = (await send({ body: text('say x') })).body as { id: string }
  const beyond = made.id.replace(/_0$/, '_9999')
  expect(await send({ method: 'GET', path: `/responses/${beyond}` })).toMatchObject({ status: 404 })
})

test('a body for which there is no memory is refused with 503, and may be sent again', async () => {
  const tight = await openHarness({}, { server: { maxBufferedBodies: 1024 * 1024 } })
  try {
    const refused = await send({ body: text('x'.repeat(512 * 1024)) }, tight.url)
    expect(refused).toMatchObject({
      status: 503,
      body: {
        error: { type: 'server_error', code: 'unavailable', param: null, message: expect.any(String) },
      },
    })
    expect(refused.headers.get('retry-after')).toBe('1')
  } finally {
    await tight.stop()
  }
})

test('a key beyond its rate is told when to come again', async () => {
  const slow = await openHarness({ requestsPerMinute: 2 })
  try {
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await send({ method: 'GET', path: '/models' }, slow.url))
    const refused = answers.find(({ status }) => status === 429)
    expect(refused).toMatchObject({
      body: { error: { type: 'rate_limit_error', code: 'limited', param: null } },
    })
    expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await slow.stop()
  }
})

test('of several outputs the one that is refused is named, and none is taken', async () => {
  const tools = [{ type: 'function', name: 'locate', parameters: { type: 'object' } }]
  const input = 'call locate {"room": "a"}\ncall locate {"room": "b"}\nthen\nsay found'
  const asked = await send({ body: JSON.stringify({ model: 'plain', input, tools }) })
  const { output: calls } = asked.body as { output: { call_id: string }[] }
  const outputs = (...given: [of: number, output: string][]) =>
    send({
      body: JSON.stringify({
        model: 'plain',
        input: given.map(([of, output]) => ({
          type: 'function_call_output',
          call_id: calls[of]!.call_id,
          output,
        })),
      }),
    })
  const refused = await outputs([0, 'attic'], [1, 'cellar'], [1, 'kitchen'])
  expect(refused).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'conflict',
        param: 'input[2].output',
        message: expect.stringContaining('the first one holds'),
      },
    },
  })
  expect(await outputs([0, 'hall'], [1, 'kitchen'])).toMatchObject({ body: { status: 'completed' } })
})
