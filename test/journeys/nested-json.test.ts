/** JSON nested ten thousand levels deep, from everybody whose bytes become values: nothing breaks, and nothing is sent twice. */
import { describe, expect, test } from 'vitest'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const deep = nested(10_000)

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const upstream = await forFile(
  startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(deep)
  }),
)
const modern = await forFile(startModern())
modern.tools.set('dig', { tool: { name: 'dig' }, run: () => ({ content: [] }) })
modern.guard = (_request, response, body) => {
  if (!body.includes('"tools/call"')) return false
  const { id } = JSON.parse(body) as { id: number }
  const isStream = body.includes('"as":"stream"')
  const answer = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${deep}}}}`
  response
    .writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    .end(isStream ? `event: message\ndata: ${answer}\n\n` : answer)
  return true
}

let count = 0
async function made(config: object, more: object = {}): Promise<{ id: string; name: string }> {
  const name = `deep_${++count}`
  const { tool, ...refused } = await h.mutate('createTool', { name, config, ...more }, 'tool { id }')
  if (!tool) throw new Error(JSON.stringify(refused))
  return { id: tool.id, name }
}
const httpTool = (more: object = {}) =>
  made({ http: { url: `${upstream.url}/deep`, inputSchema: objectSchema({}) } }, more)

async function runOf(toolIds: string[], prompt: string, more: object = {}): Promise<Record<string, any>> {
  const id = await fixtures.start(await fixtures.agent({ toolIds, ...more }), prompt)
  return h.until(id, ['COMPLETED', 'FAILED', 'REQUIRES_ACTION'], 'toolCalls { status errorCode }')
}

describe('from a tool', () => {
  test.each([[false], [true]])(
    'over http, idempotent: %s, it is a text, and is asked for once',
    async (idempotent) => {
      const tool = await httpTool({ idempotent })
      const before = upstream.seen.length
      const ended = await runOf([tool.id], `call ${tool.name} {}\nthen\nsay done`)
      expect(ended).toMatchObject({ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED' }] })
      const direct = await gate.call(tool.id, {})
      expect(direct).toMatchObject({ status: 'SUCCEEDED', content: [{ type: 'text', text: deep }] })
      expect(upstream.seen.length - before).toBe(2)
    },
  )

  test.each(['json', 'stream'])(
    'of an upstream, as %s, it is a message that is too large to read',
    async (as) => {
      const tool = await made({ mcp: { url: modern.url } })
      expect(await gate.call(tool.id, { as }, { action: 'dig' })).toMatchObject({
        status: 'UNKNOWN',
        structuredContent: { error: { reason: 'response_too_large' } },
      })
    },
  )

  test('through a platform action, it is what the called tool returned', async () => {
    const inner = await httpTool()
    const tool = await made({ platform: { actions: ['call-tool'] } })
    const args = { toolId: inner.id, arguments: {} }
    expect(await gate.call(tool.id, args, { action: 'call-tool' })).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('of the calling application it is refused, and the call stays open', async () => {
    const waiting = await runOf([fixtures.tools.ask], 'call ask {"word":"x"}')
    const outputs = [{ toolCallId: waiting['requiredAction'].toolCalls[0].id, output: JSON.parse(deep) }]
    const body = JSON.stringify({
      query: `mutation($input: SubmitToolOutputsInput!) { submitToolOutputs(input: $input) { __typename } }`,
      variables: { input: { generationId: waiting['id'], outputs: [{ ...outputs[0], output: 'HERE' }] } },
    }).replace('"HERE"', deep)
    const { status, text } = await post('/graphql', body)
    expect(status).toBeLessThan(500)
    expect(text).toContain('nested deeper than 500 levels')
    expect((await h.until(waiting['id'], ['REQUIRES_ACTION']))['status']).toBe('REQUIRES_ACTION')
  })
})

describe('from a model', () => {
  test('as arguments, it is an error for the model', async () => {
    const ended = await runOf([fixtures.tools.act], `call act {"word":${deep}}\nthen\nsay done`)
    expect(ended['status']).toBe('COMPLETED')
    expect(ended['toolCalls'].every((call: { status: string }) => call.status !== 'UNKNOWN')).toBe(true)
  })

  test('as a final answer of a schema, it does not fit', async () => {
    const outputSchema = { type: 'object', properties: { a: {} }, required: ['a'] }
    const ended = await runOf([], `say {"a":${deep}}`, { outputSchema })
    expect(ended['error']?.code ?? 'COMPLETED').not.toBe('INTERNAL')
  })
})

async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${h.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body,
  })
  return { status: response.status, text: await response.text() }
}

test('in the body of a request, it is refused by every API', async () => {
  const agentId = await fixtures.agent({ mcp: { enabled: true } })
  const paths = [
    '/graphql',
    '/mcp',
    `/mcp/${agentId}`,
    `/a2a/${agentId}`,
    `/api/chat/${agentId}`,
    `/ag-ui/${agentId}`,
    '/copilotkit',
    '/v1/responses',
    '/v1/threads',
    '/api/v1/tools',
    '/session',
  ]
  for (const path of paths)
    for (const body of [
      deep,
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":${deep}},"query":"{ viewer { id } }"}`,
    ]) {
      const { status, text } = await post(path, body)
      // JSON-RPC may say it with 200.
      expect([path, status < 500 && (status >= 400 || text.includes('"error"'))]).toEqual([path, true])
    }
})
