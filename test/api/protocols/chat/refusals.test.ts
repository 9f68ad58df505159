/** What a chat cannot be: every refusal has a status, a code and a sentence, and nothing is begun. */
import { describe, expect, test } from 'vitest'
import { query } from '../../../../src/store/db/database.ts'
import { sql } from '../../../../src/store/db/sql.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

const user = (parts: unknown[], id: unknown = 'm1') => ({ id, role: 'user', parts })
const say = [{ type: 'text', text: 'say x' }]
async function post(body: unknown, init: { agent?: string; key?: string; type?: string } = {}) {
  const response = await fetch(`${h.url}/api/chat/${init.agent ?? 'plain'}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${init.key ?? adminKey}`,
      'content-type': init.type ?? 'application/json',
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, error: (text.startsWith('{') ? JSON.parse(text) : {}).error, text }
}
const chat = (messages: unknown, more: object = {}) => ({
  id: 'c1',
  messages,
  trigger: 'submit-message',
  ...more,
})
async function count(): Promise<number> {
  return (await h.gql('{ generations(first: 50) { nodes { id } } }')).data['generations'].nodes.length
}

const tool = (more: object) => ({
  id: 'msg_000000000000000000000000',
  role: 'assistant',
  parts: [{ type: 'step-start' }, { type: 'tool-ask', input: {}, ...more }],
})
const call = 'call_000000000000000000000000'

describe('a body that would not be done as it says', () => {
  test.each<[string, unknown, string]>([
    ['no body', {}, 'id'],
    ['a list', [], ''],
    ['no messages', chat([]), 'messages'],
    ['messages that are none', chat('hello'), 'messages'],
    ['a chat without an id', chat([user(say)], { id: '' }), 'id'],
    ['an id that is too long', chat([user(say)], { id: 'x'.repeat(201) }), 'id'],
    ['an unknown trigger', chat([user(say)], { trigger: 'again' }), 'trigger'],
    ['a model of the page', chat([user(say)], { model: 'gpt-5' }), 'model'],
    ['tools of both kinds', chat([user(say)], { tools: { a: {} }, clientTools: [{ name: 'b' }] }), 'tools'],
    ['a temperature', chat([user(say)], { temperature: 1 }), 'temperature'],
    ['a choice of tools', chat([user(say)], { toolChoice: 'required' }), 'toolChoice'],
    [
      'tools of a page that are none',
      chat([user(say)], { tools: { a: { parameters: 1 } } }),
      'tools.a.parameters',
    ],
    ['a system message', chat([{ ...user(say), role: 'system' }]), 'messages.0.role'],
    [
      'a picture without bytes',
      chat([user([{ type: 'file', mediaType: 'image/png', url: 'data:,' }])]),
      'messages.0.parts.0.url',
    ],
    ['a message without text', chat([user([])]), 'messages.0.parts'],
    ['a part that is no object', chat([user([null])]), 'messages.0.parts.0'],
    ['tools that are none', chat([user(say)], { clientTools: [{ name: '1 2' }] }), 'clientTools.0.name'],
    [
      'our message without an answer',
      chat([user(say), tool({ state: 'input-available', toolCallId: call })]),
      'messages.1',
    ],
    [
      'an output of no call',
      chat([user(say), tool({ state: 'output-available', toolCallId: 'x', output: 1 })]),
      'messages.1.parts.1.toolCallId',
    ],
    [
      'an error without text',
      chat([user(say), tool({ state: 'output-error', toolCallId: call })]),
      'messages.1.parts.1.errorText',
    ],
    [
      'an answer to no question',
      chat([user(say), tool({ state: 'approval-responded', approval: { id: 'x', approved: true } })]),
      'messages.1.parts.1.approval.id',
    ],
    [
      'a verdict that is none',
      chat([
        user(say),
        tool({ state: 'approval-responded', approval: { id: 'apr_000000000000000000000000' } }),
      ]),
      'messages.1.parts.1.approval.approved',
    ],
    [
      'a message id that is not ours',
      chat([user(say), { ...tool({ state: 'output-available', toolCallId: call, output: 1 }), id: 'x' }]),
      'messages.1.id',
    ],
  ])('%s', async (_what, body, path) => {
    const before = await count()
    const { status, error, text } = await post(body)
    expect(status, text).toBe(400)
    expect(error).toMatchObject({ code: 'INVALID', message: expect.any(String) })
    if (path) expect(error.path).toBe(path)
    expect(await count()).toBe(before)
  })

  test.each<[string, string | object, number, { type?: string; agent?: string; key?: string }]>([
    ['no JSON', '{', 400, {}],
    ['another type', '{}', 400, { type: 'text/plain' }],
    ['too many values', `{"a":[${'0,'.repeat(200_000)}0]}`, 413, {}],
    ['an agent that does not exist', chat([user(say)]), 404, { agent: 'nobody' }],
    ['an agent whose name is no text', chat([user(say)]), 404, { agent: '%E0%A4%A' }],
    ['no key', chat([user(say)]), 401, { key: 'wrong' }],
    [
      'a run that does not exist',
      chat([user(say), tool({ state: 'output-available', toolCallId: call, output: 1 })]),
      404,
      {},
    ],
  ])('%s', async (_what, body, status, init) => {
    const refused = await post(body, init)
    expect([refused.status, refused.error?.code], refused.text).toEqual([status, expect.any(String)])
    expect(refused.text).not.toMatch(/INTERNAL|node:|\.ts/)
  })

  test('deep and large bodies are refused in time', async () => {
    for (const body of [
      `{"id":"c","messages":${'['.repeat(50_000)}${']'.repeat(50_000)},"trigger":"submit-message"}`,
      JSON.stringify(chat([user([{ type: 'text', text: 'x'.repeat(600_000) }])])),
      JSON.stringify(chat(Array.from({ length: 1001 }, () => user(say)))),
    ])
      expect((await post(body)).status).toBeGreaterThanOrEqual(400)
  })
})

test('methods and paths that are not served', async () => {
  const headers = { authorization: `Bearer ${adminKey}` }
  const of = async (path: string, method: string) =>
    (await fetch(`${h.url}${path}`, { method, headers })).status
  expect(await of('/api/chat/plain', 'GET')).toBe(405)
  expect(await of('/api/chat/plain/c/stream', 'POST')).toBe(405)
  expect(await of('/api/chat/plain/c', 'GET')).toBe(404)
  expect(await of('/api/chat', 'GET')).toBe(404)
  expect(await of('/api/chat/plain/never/stream', 'GET')).toBe(204)
  expect(await of('/api/chat/plain/never/stream', 'DELETE')).toBe(204)
})

test('what a page of assistant-ui sends by default is served, and what changes nothing is named', async () => {
  const parameters = { type: 'object', properties: { room: { type: 'string' } } }
  const page = {
    tools: { locate: { description: 'Finds the user.', parameters } },
    system: 'Be short.',
    callSettings: { maxTokens: 5 },
    config: {},
    metadata: { custom: {} },
  }
  const response = await fetch(`${h.url}/api/chat/plain`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'assistant-ui',
      trigger: 'submit-message',
      messages: [user([{ type: 'text', text: 'call locate {"room":"a"}\nthen\nsay found' }])],
      ...page,
    }),
  })
  expect(response.headers.get('gatehouse-ignored')).toBe('callSettings, config, metadata')
  expect(await response.text()).toContain('"toolName":"locate"')
  const [run] = await query<{ instructions: string }>(
    h.app.services.db,
    sql`select settings->>'instructions' as instructions from generations order by id desc limit 1`,
  )
  expect(run!.instructions).toContain('Be short.')
})
