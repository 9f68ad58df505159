/** Calls that were sent and whose response was lost: UNKNOWN, unless a repeat does no harm (decision 15). */
import { describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { callRaw } from '../support/bridge.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { freePort, startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

let count = 0

/** The server's behaviour, by the path of the request. */
const faults: Record<string, Parameters<typeof startLoopback>[0]> = {
  '/hang': () => {},
  '/reset': (_request, _response, raw) => raw.socket.destroy(),
  '/cut': (_request, response, raw) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"part":', () => raw.socket.destroy())
  },
  '/408': (_request, response) => response.writeHead(408).end('a proxy waited too long'),
  '/502': (_request, response) => response.writeHead(502).end('bad gateway'),
  '/503': (_request, response) => response.writeHead(503).end(),
  '/504': (_request, response) => response.writeHead(504).end('gateway timeout'),
  '/524': (_request, response) => response.writeHead(524).end('a timeout occurred'),
  '/500': (_request, response) => response.writeHead(500).end('no such account'),
  '/busy': (_request, response) => response.writeHead(503).end('no capacity'),
  '/later': (_request, response) => response.writeHead(503, { 'retry-after': '5' }).end(),
}
const lost = ['hang', 'reset', 'cut', '408', '502', '503', '504', '524']

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const faulty = await forFile(
  startLoopback((request, response, raw) => faults[request.url]!(request, response, raw)),
)
const modern = await forFile(startModern())
for (const name of ['hang', 'silent', 'die', '502'])
  modern.tools.set(name, { tool: { name }, run: () => new Promise(() => {}) })
modern.tools.set('look', { tool: { name: 'look' }, run: () => new Promise(() => {}) })
modern.guard = (request, response, body) => {
  if (!body.includes('"tools/call"')) return false
  if (body.includes('"silent"')) return true
  if (body.includes('"die"')) request.socket.destroy()
  else if (body.includes('"502"')) response.writeHead(502).end('bad gateway')
  else return false
  return true
}

async function httpTool(path: string, more: object = {}, http: object = {}) {
  const name = `met_${path}_${++count}`
  const config = { http: { url: `${faulty.url}/${path}`, inputSchema: objectSchema({}), ...http } }
  return made({ name, config, ...(path === 'hang' ? { timeoutMs: 1000 } : {}), ...more })
}

async function mcpTool(more: object = {}) {
  return made({ name: `far_${++count}`, config: { mcp: { url: modern.url } }, timeoutMs: 2000, ...more })
}

async function made(input: { name: string } & Record<string, unknown>) {
  const { tool, ...refused } = await h.mutate('createTool', input, 'tool { id }')
  if (!tool) throw new Error(JSON.stringify(refused))
  return { id: tool.id as string, name: input.name }
}

const unknownIds = async (toolId: string): Promise<string[]> => {
  const { data } = await h.gql(
    'query($id: ID) { toolCalls(filter: { statuses: [UNKNOWN], toolId: $id }) { nodes { id } } }',
    {
      id: toolId,
    },
  )
  return data['toolCalls'].nodes.map((node: { id: string }) => node.id)
}

const isUnknown = {
  status: 'UNKNOWN',
  isError: true,
  errorCode: 'outcome_unknown',
  structuredContent: { error: { code: 'outcome_unknown' } },
}

/** An MCP server of the older era that answers with JSON, and a tool call with nothing at all. */
const answerOlderEra: Parameters<typeof startLoopback>[0] = ({ method, body }, response) => {
  if (method !== 'POST') return void response.writeHead(405).end()
  const { id, method: what, params } = JSON.parse(body) as { id?: number; method: string; params: any }
  if (what === 'tools/call') return
  if (id === undefined) return void response.writeHead(202).end()
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1' },
    },
    'tools/list': { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] },
  }
  const result = results[what]
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}

describe('an http call that was sent, and', () => {
  test.each(lost)('met /%s, is UNKNOWN and listed, with the reason', async (path) => {
    const tool = await httpTool(path)
    const call = await gate.call(tool.id, {})
    expect(call).toMatchObject({
      ...isUnknown,
      attempt: 1,
      attempts: [{ outcome: 'UNKNOWN', errorCode: 'outcome_unknown' }],
      structuredContent: {
        error: { reason: { hang: 'timeout', reset: 'network', cut: 'network' }[path] ?? `http_${path}` },
      },
    })
    expect(await unknownIds(tool.id)).toEqual([call['id']])
  })

  test.each(lost)('met /%s, but may be repeated, is an error', async (path) => {
    const tool = await httpTool(path, { idempotent: true })
    expect(await gate.call(tool.id, {})).toMatchObject({ status: 'ERRORED' })
    expect(await unknownIds(tool.id)).toEqual([])
  })

  test.each(['500', 'busy', 'later'])('was answered by /%s, is an error that is known', async (path) => {
    const tool = await httpTool(path)
    expect(await gate.call(tool.id, {})).toMatchObject({
      status: 'ERRORED',
      errorCode: path === '500' ? 'http_500' : 'http_503',
    })
  })

  test('got a response over the limit, is an error that says it took effect', async () => {
    faults['/flood'] = (_request, response) => response.end('x'.repeat(11 * 1024 * 1024))
    const tool = await httpTool('flood')
    expect(await gate.call(tool.id, {})).toMatchObject({
      status: 'ERRORED',
      structuredContent: {
        error: { code: 'response_too_large', status: 200, message: expect.stringContaining('took effect') },
      },
    })
  })
})

test('a call that certainly was not sent is an error: refused, blocked', async () => {
  const port = await freePort()
  const refused = await httpTool('nobody', {}, { url: `http://127.0.0.1:${port}/` })
  expect(await gate.call(refused.id, {})).toMatchObject({ status: 'ERRORED', errorCode: 'unreachable' })
  const unnamed = await httpTool('unnamed', {}, { url: 'http://no-such-host.invalid/' })
  expect(await gate.call(unnamed.id, {})).toMatchObject({ status: 'ERRORED', errorCode: 'unreachable' })
})

describe('an approved call inside a run', () => {
  test.each(['reset', 'hang', '504'])('that met /%s is UNKNOWN, and the model is told so', async (path) => {
    const tool = await httpTool(path, { gate: { autoApprove: false } })
    const id = await gate.ask(tool, {})
    const [approval] = await gate.pending(id)
    await gate.decide(approval!['id'], 'APPROVE')
    const end = await h.until(id, ['COMPLETED', 'FAILED'], `toolCalls { ${'id status errorCode content'} }`)
    expect(end['toolCalls']).toMatchObject([{ status: 'UNKNOWN', errorCode: 'outcome_unknown' }])
    expect(end['toolCalls'][0].content[0].text).toContain('may have taken effect')
    expect(await unknownIds(tool.id)).toEqual([end['toolCalls'][0].id])
  })
})

test('an approved direct call that met a reset is UNKNOWN', async () => {
  const tool = await httpTool('reset', { gate: { autoApprove: false } })
  const { id, approval } = await gate.call(tool.id, {})
  await gate.decide(approval.id, 'APPROVE')
  expect(await gate.untilCall(id, ['UNKNOWN', 'ERRORED', 'SUCCEEDED'])).toMatchObject(isUnknown)
})

describe('an MCP client is not invited to retry', () => {
  const wire = { 'mcp-protocol-version': '2025-11-25' }
  const call = async (path: string, headers: Record<string, string>) => {
    const tool = await httpTool(path)
    const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
    return (await callRaw(`${h.url}/mcp/${agentId}`, adminKey, tool.name, {}, headers)).body
  }

  test.each(['reset', 'hang', '504'])('what met /%s', async (path) => {
    const body = await call(path, wire)
    expect(body['result']).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'outcome_unknown', retryable: false } },
    })
  })

  test('a timeout keeps its JSON-RPC code -32003', async () => {
    const body = await call('hang', {})
    expect(body['error']).toMatchObject({ code: -32003, data: { type: 'agent_timeout', retryable: false } })
  })
})

describe('a call of an upstream', () => {
  test.each(['hang', 'silent', 'die', '502'])('that was sent and met "%s" is UNKNOWN', async (action) => {
    const tool = await mcpTool({ timeoutMs: action === 'hang' || action === 'silent' ? 300 : 5000 })
    const call = await gate.call(tool.id, {}, { action })
    expect(call).toMatchObject(isUnknown)
    expect(await unknownIds(tool.id)).toEqual([call['id']])
  })

  test('of the older era that was read, and never answered with a byte, is UNKNOWN', async () => {
    const silent = await startLoopback(answerOlderEra)
    const tool = await made({
      name: `old_${++count}`,
      config: { mcp: { url: silent.url } },
      timeoutMs: 500,
    })
    const call = await gate.call(tool.id, {}, { action: 'pay' })
    expect(silent.seen.filter(({ body }) => body.includes('"tools/call"'))).toHaveLength(1)
    expect(call).toMatchObject(isUnknown)
    await silent.close()
  })

  test('that may be repeated is an error', async () => {
    const tool = await mcpTool({ timeoutMs: 300, idempotent: true })
    expect(await gate.call(tool.id, {}, { action: 'look' })).toMatchObject({
      status: 'ERRORED',
      errorCode: 'timeout',
    })
  })

  test('that could not be sent is an error', async () => {
    const other = await startModern()
    other.tools.set('hang', { tool: { name: 'hang' }, run: () => ({ content: [] }) })
    const tool = await made({ name: `gone_${++count}`, config: { mcp: { url: other.url } } })
    await other.kill()
    expect(await gate.call(tool.id, {}, { action: 'hang' })).toMatchObject({ status: 'ERRORED' })
  })
})

test('a platform call that exceeded its timeout is UNKNOWN', async () => {
  const slow = await httpTool('hang', { timeoutMs: 2000 })
  const config = { platform: { actions: ['call-tool'] } }
  const tool = await made({ name: `own_${++count}`, config, timeoutMs: 50 })
  const call = await gate.call(tool.id, { toolId: slow.id, arguments: {} }, { action: 'call-tool' })
  expect(call).toMatchObject(isUnknown)
})

test('a platform call that met a fault of the database is UNKNOWN: it may have been committed', async () => {
  const { db } = h.app.services
  await query(
    db,
    sql`create function fail_unlucky() returns trigger language plpgsql as
      $$ begin raise exception 'the server is stopping' using errcode = '57P01'; end $$`,
  )
  await query(
    db,
    sql`create trigger unlucky before insert on agents for each row
      when (new.name = 'unlucky') execute function fail_unlucky()`,
  )
  const config = { platform: { actions: ['create-agent'] } }
  const tool = await made({ name: `own_${++count}`, config })
  expect(await gate.call(tool.id, { name: 'unlucky' }, { action: 'create-agent' })).toMatchObject(isUnknown)
})
