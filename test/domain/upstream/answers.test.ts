/** How a server refuses a call: what its HTTP status and its JSON-RPC error say about whether it has acted. */
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { openHarness, type Harness } from '../../support/harness.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { saveTo, type Saved } from '../../support/upstream-services.ts'

let h: Harness
let server: Loopback | null = null
/** Sessions of the server so far. */
let opened = 0
beforeAll(async () => {
  h = await openHarness()
})
afterEach(async () => {
  await server?.close()
  server = null
})
afterAll(() => h.stop())

/** A legacy server with a session, which answers each `tools/call` so. Returns it saved, with the calls that arrived. */
async function serverThat(
  answers: (response: ServerResponse, id: unknown, nth: number) => void,
): Promise<{ one: Saved; calls: unknown[] }> {
  const calls: unknown[] = []
  opened = 0
  server = await startLoopback(({ method, body }, response) => {
    if (method !== 'POST') return response.writeHead(405).end()
    const { id, method: name, params } = JSON.parse(body)
    const result = (value: object, headers = {}) =>
      response
        .writeHead(200, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
    if (name === 'tools/call') {
      calls.push(params.name)
      return answers(response, id, calls.length)
    }
    if (name === 'initialize')
      return result(
        {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        },
        { 'mcp-session-id': `session-${++opened}` },
      )
    if (name === 'tools/list')
      return result({ tools: [{ name: 'pay', inputSchema: { type: 'object', properties: {} } }] })
    if (id === undefined) return response.writeHead(202).end()
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }))
  })
  const one = await saveTo(h.app.services, `${server.url}/mcp`)
  expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', era: 'legacy' })
  return { one, calls }
}

const refuse = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

it.each([400, 404])('a call whose own error came with HTTP %i is not sent again', async (status) => {
  const { one, calls } = await serverThat((response, id) =>
    refuse(response, status, {
      jsonrpc: '2.0',
      id,
      error: { code: -32603, message: 'It was paid, but the receipt failed.' },
    }),
  )
  expect(await one.call('pay')).toMatchObject({
    sent: true,
    lost: false,
    result: {
      isError: true,
      structuredContent: {
        error: { code: 'upstream_error', message: expect.stringContaining('It was paid') },
      },
    },
  })
  expect(calls).toEqual(['pay'])
})

it.each([400, 404])('a call to a session that is gone, by HTTP %i, is sent to a new one', async (status) => {
  const { one, calls } = await serverThat((response, id, nth) =>
    nth === 1
      ? refuse(response, status, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'No session' } })
      : refuse(response, 200, { jsonrpc: '2.0', id, result: { content: [] } }),
  )
  expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
  expect(calls).toEqual(['pay', 'pay'])
})

it('the next call goes to a new session when a server refuses a lost one under the id of the request', async () => {
  const { one, calls } = await serverThat((response, id, nth) =>
    nth === 1
      ? refuse(response, 404, { jsonrpc: '2.0', id, error: { code: -32001, message: 'Session not found' } })
      : refuse(response, 200, { jsonrpc: '2.0', id, result: { content: [] } }),
  )
  expect(await one.call('pay')).toMatchObject({ result: { isError: true }, lost: false })
  expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
  expect([calls.length, opened]).toEqual([2, 2])
})
