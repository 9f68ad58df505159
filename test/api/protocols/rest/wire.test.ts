/** /api/v1 on the wire: SOAT's curl lines as they are printed, streams, and what a stranger or a careless client sends. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { judgeRest } from '../../../support/rest-judge.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const judge = await forFile(judgeRest())
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

const send = (method: string, path: string, body?: BodyInit, headers: Record<string, string> = {}) =>
  fetch(`${h.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })
const faultOf = async (answer: Promise<Response>) => {
  const response = await answer
  return { status: response.status, ...((await response.json()) as { error: Record<string, any> }).error }
}

/** SOAT's lines, byte for byte. */
const curls = {
  create: `curl -X POST https://api.example.com/api/v1/tools \\
-H "Authorization: Bearer <token>" \\
-H "Content-Type: application/json" \\
-d '{
"project_id": "proj_ABC",
"name": "get-weather",
"type": "http",
"description": "Fetches current weather for a city",
"execute": {
"url": "https://api.weather.example/v1/current?city={city}",
"method": "GET"
},
"parameters": {
"type": "object",
"properties": { "city": { "type": "string" } },
"required": ["city"]
}
}'`,
  soat: `curl -X POST https://api.example.com/api/v1/tools \\
-H "Authorization: Bearer <token>" \\
-H "Content-Type: application/json" \\
-d '{
"project_id": "proj_ABC",
"name": "docs-search",
"type": "soat",
"description": "Searches the project knowledge base",
"actions": ["search-documents"]
}'`,
  call: `curl -X POST https://api.example.com/api/v1/tools/tool_abc/call \\
-H "Authorization: Bearer <token>" \\
-H "Content-Type: application/json" \\
-d '{"input":{"city":"São Paulo"}}'`,
}

test('SOAT’s curl lines do what they say, with host, id and key replaced', async () => {
  const projectId = (await h.gql('{ projects { nodes { id } } }')).data['projects'].nodes[0].id as string
  const run = async (line: string, toolId = '') => {
    const real = line
      .replace('https://api.example.com', h.url)
      .replace('https://api.weather.example', fixtures.upstream.url)
      .replace('<token>', adminKey)
      .replace('proj_ABC', projectId)
      .replace('tool_abc', toolId)
    return JSON.parse((await promisify(execFile)('bash', ['-c', real])).stdout) as Record<string, any>
  }
  const made = await run(curls.create)
  expect(made).toMatchObject({ name: 'get-weather', type: 'http', project_id: projectId })
  expect(await run(curls.call, made['id'])).toEqual({ saw: '/v1/current?city=S%C3%A3o%20Paulo' })
  // Gatehouse has no documents: the line is refused, with the place of the action that it does not have.
  expect(await run(curls.soat)).toMatchObject({
    error: { code: 'INVALID', details: { issues: [{ path: ['actions', '0'] }] } },
  })
})

test('a stream has the text, every event of the log and the state; it goes on after a cursor', async () => {
  const agentId = await fixtures.agent()
  const path = `/api/v1/agents/${agentId}/generate`
  const messages = [{ role: 'user', content: 'call ask {"word":"x"}' }]
  const paused = await (await send('POST', path, JSON.stringify({ messages, stream: true }))).text()
  const events = (text: string) => [...text.matchAll(/^event: (\S+)$/gm)].map((match) => match[1])
  expect(events(paused)).toEqual(expect.arrayContaining(['generation.queued', 'generation.requires_action']))
  const [, data] = /event: result\ndata: (.*)\n/.exec(paused)!
  const state = JSON.parse(data!) as Record<string, any>
  expect(state).toMatchObject({ status: 'requires_action' })
  const cursor = [...paused.matchAll(/^id: (.*)$/gm)].at(-1)![1]!
  const tool_outputs = [{ tool_call_id: state['tool_calls'][0].tool_call_id, output: 'yes' }]
  await send('POST', `${path}/${state['id']}/tool-outputs`, JSON.stringify({ tool_outputs }))
  const headers = { accept: 'text/event-stream', 'last-event-id': cursor }
  const rest = await (await send('GET', `${path}/${state['id']}`, undefined, headers)).text()
  expect(events(rest)).toEqual(
    expect.arrayContaining(['tool_call.settled', 'generation.completed', 'result']),
  )
  expect(events(rest)).not.toContain('generation.queued')
})

test.each([
  ['DELETE', '/api/v1/tools', 'GET, POST'],
  ['PUT', '/api/v1/tools/tool_x', 'GET, PATCH, DELETE'],
  ['OPTIONS', '/api/v1/agents/agt_x/generate', 'POST'],
  ['GET', '/api/v1/tools/tool_x/call', 'POST'],
])('%s %s is 405 and names what is allowed', async (method, path, allow) => {
  const response = await send(method, path)
  expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
  expect((await send('HEAD', '/api/v1/tools')).status).toBe(405)
})

test.each([
  '/api/v1',
  '/api/v1/',
  '/api/v1/tools/',
  '/api/v1/tools/%00',
  '/api/v1/tools/%2e%2e',
  '/api/v1/tools/%E0%A4%A',
  '/api/v1/tools/tool_%74',
  '/api/v1//tools',
])('there is nothing at %s', async (path) => {
  expect(await faultOf(send('GET', path))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('bodies that are wrong are refused with the place of the fault', async () => {
  const post = (body: string, headers = {}) => faultOf(send('POST', '/api/v1/tools', body, headers))
  const named = (fields: object) => JSON.stringify({ name: 'x', ...fields })
  const cases: [string, string[]][] = [
    ['{"name":', ['body']],
    ['[]', ['body']],
    ['"x"', ['body']],
    ['{}', ['name']],
    [named({ color: 1 }), ['color']],
    ['{"name":"x","__proto__":{"a":1}}', ['__proto__']],
    [named({ type: 'soap' }), ['type']],
    [named({ type: 'client', parameters: {}, execute: { url: 'http://x' } }), ['execute']],
    [named({ parameters: {} }), ['execute']],
    [named({ execute: { url: 'nowhere' }, parameters: {} }), ['execute', 'url']],
    [named({ execute: { url: 'https://example.com' } }), ['parameters']],
  ]
  for (const [body, path] of cases)
    expect(await post(body), body.slice(0, 60)).toMatchObject({
      status: 400,
      code: 'INVALID',
      details: { issues: [{ path }] },
    })
  expect(await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
    status: 400,
  })
  expect(await post('['.repeat(400_000))).toMatchObject({ status: 413, code: 'LIMITED' })
  expect(await post(named({ description: 'x'.repeat(1024 * 1024) }))).toMatchObject({
    status: 413,
    code: 'LIMITED',
  })
  expect(await faultOf(send('GET', '/api/v1/tools?colour=red'))).toMatchObject({ status: 400 })
})

test('lists have pages, which the Link header leads to', async () => {
  const first = await send('GET', '/api/v1/tools?limit=1')
  const next = /^<(.+)>; rel="next"$/.exec(first.headers.get('link')!)![1]!
  const idsOf = async (response: Response) =>
    ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  const [one] = await idsOf(first)
  expect(await idsOf(await send('GET', next))).not.toContain(one)
})

test('a key bound to an agent, a cookie alone and too many requests are refused', async () => {
  const agentId = await fixtures.agent()
  const bound = await h.mutate('createApiKey', { name: 'bound', role: 'CALLER', agentId }, 'secret')
  const authorization = `Bearer ${bound['secret']}`
  expect(await faultOf(send('GET', '/api/v1/tools', undefined, { authorization }))).toMatchObject({
    status: 403,
    code: 'FORBIDDEN',
  })
  const cookie = `gatehouse_session=${adminKey}`
  expect(await faultOf(send('GET', '/api/v1/tools', undefined, { authorization: '', cookie }))).toMatchObject(
    { status: 401, code: 'UNAUTHENTICATED' },
  )
  const limited = await openHarness({ requestsPerMinute: 1 })
  try {
    const ask = () =>
      fetch(`${limited.url}/api/v1/tools`, { headers: { authorization: `Bearer ${adminKey}` } })
    const answers = [await ask(), await ask(), await ask()]
    const refused = answers.find(({ status }) => status === 429)!
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ error: { code: 'LIMITED' } })
  } finally {
    await limited.stop()
  }
})

test('every platform action is a path, and a refusal is an error', async () => {
  const found = await send('POST', '/api/v1/actions/list-agents', '{"first":1}')
  expect(await found.json()).toMatchObject({ nodes: expect.any(Array) })
  expect(await faultOf(send('POST', '/api/v1/actions/search-documents', '{}'))).toMatchObject({ status: 404 })
  expect(await faultOf(send('POST', '/api/v1/actions/delete-tool', '{"id":"tool_x"}'))).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  })
  expect(await (await send('GET', '/api/v1/openapi.json')).json()).toMatchObject({ openapi: '3.1.0' })
})

test('every response so far is as the OpenAPI document says', async () => {
  const { faults, seen } = await judge.verdict()
  expect(faults).toEqual([])
  expect(seen.size).toBeGreaterThan(4)
})
