/** callTool: the same checks, presets, records and idempotency as in a generation. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let release: (() => void) | null = null

const upstream = await forFile(
  startLoopback((request, response) => {
    const reply = () =>
      response
        .writeHead(request.url === '/broken' ? 500 : 200, { 'content-type': 'application/json' })
        .end('{"ok":true}')
    if (request.url === '/hold') release = reply
    else reply()
  }),
)
const h = await forFile(openHarness({ leaseMs: 1000 }))

const tool = async (name: string, http: object, more = {}) =>
  (await h.mutate('createTool', { name, config: { http }, ...more }, 'tool { id version }'))['tool']
    .id as string
const call = (toolId: string, args: object, more = {}, key?: string) =>
  h.mutate(
    'callTool',
    { toolId, arguments: args, ...more },
    'toolCall { id status isError content structuredContent errorCode arguments attempt }',
    key,
  )

test('the delete-post example issues exactly DELETE /users/123/posts/456 with neither body nor query', async () => {
  const id = await tool('delete-post', {
    url: `${upstream.url}/users/{user_id}/posts/{post_id}`,
    method: 'DELETE',
    inputSchema: {
      type: 'object',
      properties: { user_id: { type: 'string' }, post_id: { type: 'string' } },
      required: ['user_id', 'post_id'],
    },
  })
  const { toolCall } = await call(id, { user_id: '123', post_id: '456' })
  expect(toolCall).toMatchObject({ status: 'SUCCEEDED', isError: false, structuredContent: { ok: true } })
  const seen = upstream.seen.at(-1)!
  expect([seen.method, seen.url, seen.body]).toEqual(['DELETE', '/users/123/posts/456', ''])
  expect(seen.headers['idempotency-key']).toBe(toolCall.id)
})

test('a preset wins over what a caller sends, and the attempt is audited', async () => {
  const id = await tool(
    'preset',
    {
      url: `${upstream.url}/p`,
      inputSchema: objectSchema({ a: { type: 'string' }, to: { type: 'string' } }, ['a', 'to']),
    },
    {
      presetParameters: { to: 'fixed' },
    },
  )
  const { toolCall } = await call(id, { a: 'x', to: 'mine' })
  expect(JSON.parse(upstream.seen.at(-1)!.body)).toEqual({ a: 'x', to: 'fixed' })
  expect(toolCall.arguments).toEqual({ a: 'x' })
  const { data } = await h.gql('{ auditEntries(first: 5) { nodes { action outcome details } } }')
  expect(data['auditEntries'].nodes).toContainEqual(
    expect.objectContaining({
      details: expect.objectContaining({ toolCallId: toolCall.id, droppedPresetKeys: ['to'] }),
    }),
  )
})

test('arguments that do not fit are refused by path without echoing values, and nothing is sent or written', async () => {
  const id = await tool('strict', {
    url: `${upstream.url}/s`,
    inputSchema: objectSchema({ n: { type: 'integer' } }, ['n']),
  })
  const before = upstream.seen.length
  const refused = await call(id, { n: 'hunter2', extra: true })
  expect(refused).toMatchObject({ __typename: 'ValidationError' })
  expect(refused['issues'].map((issue: any) => issue.path.join('.')).toSorted()).toEqual([
    'input.arguments.extra',
    'input.arguments.n',
  ])
  expect(JSON.stringify(refused)).not.toContain('hunter2')
  expect(upstream.seen.length).toBe(before)
  const { data } = await h.gql('query($id: ID!) { toolCalls(filter: { toolId: $id }) { nodes { id } } }', {
    id,
  })
  expect(data['toolCalls'].nodes).toEqual([])
})

test('a failing upstream is a settled call with isError, never an error of the API', async () => {
  const id = await tool('broken', { url: `${upstream.url}/broken`, inputSchema: objectSchema({}) })
  const { toolCall } = await call(id, {})
  expect(toolCall).toMatchObject({ status: 'ERRORED', isError: true, errorCode: 'http_500' })
  expect(toolCall.content[0].text).toContain('500')
})

test('a client tool cannot be called here, and an action is refused for an http tool', async () => {
  const { tool: client } = await h.mutate(
    'createTool',
    { name: 'local', config: { client: { inputSchema: objectSchema({}) } } },
    'tool { id }',
  )
  expect(await call(client.id, {})).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'toolId'] }],
  })
  const id = await tool('plain', { url: `${upstream.url}/x`, inputSchema: objectSchema({}) })
  expect(await call(id, {}, { action: 'go' })).toMatchObject({ issues: [{ path: ['input', 'action'] }] })
})

test('fifty calls with one idempotency key run once; the same key with other arguments is a conflict', async () => {
  const id = await tool('once', {
    url: `${upstream.url}/once`,
    inputSchema: objectSchema({ n: { type: 'integer' } }),
  })
  const before = upstream.seen.length
  const all = await Promise.all(
    Array.from({ length: 50 }, () => call(id, { n: 1 }, { idempotencyKey: 'k1' })),
  )
  expect(new Set(all.map((one) => one['toolCall'].id)).size).toBe(1)
  expect(new Set(all.map((one) => one['toolCall'].status))).toEqual(new Set(['SUCCEEDED']))
  expect(upstream.seen.length).toBe(before + 1)
  expect(await call(id, { n: 2 }, { idempotencyKey: 'k1' })).toMatchObject({
    __typename: 'IdempotencyConflictError',
  })
})

test('secrets fill headers, are never shown, and a missing one is named at save', async () => {
  await h.mutate('setSecret', { name: 'TOKEN', value: 's3cr3t-value' }, 'secret { name }')
  const headers = { authorization: 'Bearer {{secret:TOKEN}}', 'x-own': 'yes' }
  const id = await tool('sealed', { url: `${upstream.url}/h`, headers, inputSchema: objectSchema({}) })
  const answer = await call(id, {})
  expect(upstream.seen.at(-1)!.headers).toMatchObject({
    authorization: 'Bearer s3cr3t-value',
    'x-own': 'yes',
  })
  const shown = await h.gql(
    'query($id: ID!) { tool(id: $id) { ... on HttpTool { headers } } secrets { nodes { name } } }',
    { id },
  )
  expect(shown.data['tool'].headers).toEqual(headers)
  expect(JSON.stringify([answer, shown])).not.toContain('s3cr3t')
  const missing = {
    name: 'unsealed',
    config: { http: { url: upstream.url, headers: { a: '{{secret:NOPE}}' }, inputSchema: objectSchema({}) } },
  }
  expect(await h.mutate('createTool', missing, 'tool { id }')).toMatchObject({
    issues: [{ path: ['input', 'config', 'http', 'headers', 'a'] }],
  })
})

test('secrets fill path and query of a URL, encoded, and are not allowed elsewhere in it', async () => {
  await h.mutate('setSecret', { name: 'PART', value: 'a/b?{c}&d=ü' }, 'secret { name }')
  const inputSchema = objectSchema({ q: { type: 'string' } })
  const url = `${upstream.url}/{{secret:PART}}/{q}?key={{secret:PART}}`
  const id = await tool('sealed_url', { url, method: 'GET', inputSchema })
  const answer = await call(id, { q: 'x' })
  const filled = encodeURIComponent('a/b?{c}&d=ü')
  expect(upstream.seen.at(-1)!.url).toBe(`/${filled}/x?key=${filled}`)
  expect(JSON.stringify(answer)).not.toContain('%7Bc%7D')
  const refused = async (bad: string) => {
    const config = { http: { url: bad, inputSchema } }
    const made = await h.mutate('createTool', { name: 'unsealed_url', config }, 'tool { id }')
    return made['issues'][0]
  }
  const at = { path: ['input', 'config', 'http', 'url'] }
  expect(await refused(`${upstream.url}/{{secret:NOPE}}`)).toMatchObject(at)
  expect(await refused('http://{{secret:PART}}/x')).toMatchObject({
    ...at,
    message: 'may contain secrets in its path and query only',
  })
  expect(await refused(`${upstream.url}/{{PART}}`)).toMatchObject(at)
})

test('updating makes a new version, deleting keeps the records of calls', async () => {
  const id = await tool('changing', { url: `${upstream.url}/v1`, inputSchema: objectSchema({}) })
  const change = (input: object) =>
    h.mutate(
      'updateTool',
      { id, ...input },
      'tool { version description inputSchema ... on HttpTool { url } }',
    )
  const config = { http: { url: `${upstream.url}/v2`, inputSchema: objectSchema({}) } }
  expect(await change({ description: 'new', config })).toMatchObject({
    tool: { version: 2, description: 'new', url: `${upstream.url}/v2` },
  })
  expect(await change({ expectedVersion: 1, title: 'x' })).toMatchObject({ __typename: 'ConflictError' })
  expect(await change({ description: null })).toMatchObject({
    tool: { version: 3, description: null, url: `${upstream.url}/v2` },
  })
  const { toolCall } = await call(id, {})
  expect(upstream.seen.at(-1)!.url).toBe('/v2')
  await h.mutate('deleteTool', { id }, 'tool { id }')
  const { data } = await h.gql(
    'query($id: ID!, $call: ID!) { tool(id: $id) { id } toolCall(id: $call) { status toolVersion tool { id } } }',
    { id, call: toolCall.id },
  )
  expect(data).toEqual({ tool: null, toolCall: { status: 'SUCCEEDED', toolVersion: 3, tool: null } })
})

test('a call whose process died is sent again when idempotent, and UNKNOWN when not', async () => {
  const act = await tool('act_once', { url: `${upstream.url}/act`, inputSchema: objectSchema({}) })
  const look = await tool('look_again', {
    url: `${upstream.url}/look`,
    method: 'GET',
    inputSchema: objectSchema({}),
  })
  const ids: Record<string, string> = {}
  for (const toolId of [act, look]) {
    const { toolCall } = await call(toolId, {})
    ids[toolId] = toolCall.id
    // The state that a process leaves when it dies between sending and recording.
    await query(
      h.app.services.db,
      sql`update tool_calls set status = 'EXECUTING', result = null, is_error = null,
      settled_at = null, wake_at = now() where id = ${toolCall.id}`,
    )
  }
  const before = upstream.seen.length
  const settled = new Promise<void>((resolve) => {
    let count = 0
    const watch =
      'subscription { projectEvents(types: [TOOL_CALL_SETTLED], after: "0") { ... on ToolCallSettledEvent { toolCall { id status } } } }'
    void h.collect(watch, {}, (events) => {
      count = events.filter((event) => Object.values(ids).includes(event.toolCall?.id)).length
      if (count >= 4) resolve()
      return count >= 4
    })
  })
  h.app.services.pubsub.publish([{ kind: 'work', table: 'tool_calls' }])
  await settled
  const { data } = await h.gql(
    'query($a: ID!, $b: ID!) { a: toolCall(id: $a) { status isError attempt errorCode } b: toolCall(id: $b) { status attempt } }',
    { a: ids[act], b: ids[look] },
  )
  expect(data['a']).toEqual({ status: 'UNKNOWN', isError: true, attempt: 1, errorCode: 'outcome_unknown' })
  expect(data['b']).toEqual({ status: 'SUCCEEDED', attempt: 2 })
  expect(upstream.seen.slice(before).map((seen) => [seen.method, seen.headers['idempotency-key']])).toEqual([
    ['GET', ids[look]],
  ])
})

test('a timeout after it was sent is an unknown outcome that names the timeout', async () => {
  const id = await tool(
    'slow_one',
    { url: `${upstream.url}/hold`, inputSchema: objectSchema({}) },
    { timeoutMs: 50 },
  )
  const { toolCall } = await call(id, {})
  expect(toolCall).toMatchObject({
    status: 'UNKNOWN',
    errorCode: 'outcome_unknown',
    structuredContent: { error: { reason: 'timeout' } },
  })
  release?.()
})
