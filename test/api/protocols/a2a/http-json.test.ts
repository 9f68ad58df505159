/** A2A's HTTP+JSON binding judged by the official client: the same tasks as over JSON-RPC, and refusals in its own form. */
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import {
  collect,
  data,
  foldStream,
  message,
  ofTask,
  openClient,
  questionsOf,
  send,
  stateOf,
  textsOf,
} from './clients.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
const client = await openClient(h.url, 'plain', adminKey, fetch, 'HTTP+JSON')
const rpc = await openClient(h.url, 'plain', adminKey)
const gated = await openClient(h.url, 'gated', adminKey, fetch, 'HTTP+JSON')

test('a task is answered, read, listed and streamed as over JSON-RPC', async () => {
  const done = await send(client, message('say hello there'))
  expect(textsOf(done)).toEqual({ 'text-1': 'hello there' })
  expect(await client.getTask(ofTask(done.id))).toEqual(await rpc.getTask(ofTask(done.id)))
  expect((await client.getTask({ ...ofTask(done.id), historyLength: 0 })).history).toEqual([])
  const listing = {
    tenant: '',
    contextId: done.contextId,
    status: 0,
    pageSize: 5,
    pageToken: '',
    historyLength: 1,
    statusTimestampAfter: undefined,
    includeArtifacts: true,
  }
  expect(await client.listTasks(listing)).toEqual(await rpc.listTasks(listing))
  const words = 'one two three four five six'
  const seen = foldStream(await collect(client.sendMessageStream(message(`slow 5ms\nsay ${words}`))))
  expect(seen).toMatchObject({ texts: { 'text-1': words } })
  expect(seen.states.at(-1)).toBe('COMPLETED')
})

test('a task is followed from elsewhere, and cancelled once', async () => {
  const begun = await send(client, message('slow 5s before\nsay never', {}, { returnImmediately: true }))
  const { id } = begun
  const following = client.resubscribeTask({ tenant: '', id })
  expect((await following.next()).value).toMatchObject({ payload: { $case: 'task' } })
  const ended = await client.cancelTask({ tenant: '', id, metadata: undefined })
  expect(stateOf(ended)).toBe('CANCELED')
  expect(foldStream(await collect(following)).states.at(-1)).toBe('CANCELED')
  await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject({
    name: 'TaskNotCancelableError',
    statusCode: 400,
  })
})

test('a question is answered in one binding, and the other one knows', async () => {
  const before = fixtures.upstream.seen.length
  const waiting = await send(gated, message('call act {"word": "a"}\nthen\nsay ok'))
  expect(stateOf(waiting)).toBe('INPUT_REQUIRED')
  const approvalId = questionsOf(waiting)[0]!['approvalId']
  const answer = message([data({ approvalId, verdict: 'APPROVE' })], { taskId: waiting.id })
  const overRpc = await openClient(h.url, 'gated', adminKey)
  const both = await Promise.all([send(gated, answer), send(overRpc, answer)])
  expect(both.map(stateOf)).toEqual(['COMPLETED', 'COMPLETED'])
  expect(fixtures.upstream.seen.length - before).toBe(1)
})

interface Sent {
  method?: string
  path: string
  body?: unknown
  headers?: Record<string, string>
}

const runs = async () =>
  (await h.gql('{ generations(first: 100) { nodes { id status } } }')).data['generations'].nodes

const said = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'say x' }] }
const post = (body: unknown, more: Partial<Sent> = {}): Sent => ({
  method: 'POST',
  path: '/message:send',
  body,
  ...more,
})
const refusals: [string, Sent, number, string, string][] = [
  ['no key', post({ message: said }, { headers: { authorization: '' } }), 401, 'UNAUTHENTICATED', 'key'],
  [
    'no version',
    post({ message: said }, { headers: { 'a2a-version': '' } }),
    400,
    'FAILED_PRECONDITION',
    '1.0',
  ],
  ['a list', post([said]), 400, 'INVALID_ARGUMENT', 'object'],
  ['no message', post({}), 400, 'INVALID_ARGUMENT', 'message'],
  ['no parts', post({ message: { ...said, parts: [] } }), 400, 'INVALID_ARGUMENT', 'message.parts'],
  [
    'another type',
    post('{', { headers: { 'content-type': 'text/plain' } }),
    400,
    'INVALID_ARGUMENT',
    'Content-Type',
  ],
  ['an unknown task', { path: '/tasks/gen_nothing' }, 404, 'NOT_FOUND', 'gen_nothing'],
  [
    'a verb that is none',
    post({}, { path: '/tasks/gen_nothing:delete' }),
    400,
    'INVALID_ARGUMENT',
    ':cancel',
  ],
  [
    'a history that is no number',
    { path: '/tasks?historyLength=many' },
    400,
    'INVALID_ARGUMENT',
    'historyLength',
  ],
  ['a page that is too large', { path: '/tasks?pageSize=1000' }, 400, 'INVALID_ARGUMENT', 'pageSize'],
  ['another method', post({}, { path: '/tasks' }), 405, 'INVALID_ARGUMENT', 'Method not allowed'],
  [
    'push notifications',
    { path: '/tasks/gen_x/pushNotificationConfigs' },
    400,
    'FAILED_PRECONDITION',
    'webhooks',
  ],
  ['a second card', { path: '/extendedAgentCard' }, 400, 'FAILED_PRECONDITION', 'card'],
]

test.each(refusals)('%s is refused as google.rpc.Status', async (_what, sent, code, status, words) => {
  const before = await runs()
  const { method = 'GET', path, body, headers = {} } = sent
  const response = await fetch(`${h.url}/a2a/plain${path}`, {
    method,
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.status).toBe(code)
  const { error } = (await response.json()) as any
  expect(error).toMatchObject({ status, message: expect.stringContaining(words) })
  expect(error.details[0]).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' })
  expect(await runs()).toEqual(before)
})

test('the media type of A2A is taken too', async () => {
  const response = await fetch(`${h.url}/a2a/plain/message:send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'a2a-version': '1.0',
      'content-type': 'application/a2a+json',
    },
    body: '{"message":{"messageId":"typed","role":"ROLE_USER","parts":[{"text":"say typed"}]}}',
  })
  expect(await response.json()).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
})
