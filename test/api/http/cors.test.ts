/** Browsers of configured origins: every API answers their preflights and shows its headers, without cookies. */
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const origin = 'https://app.example'
const h = await forFile(openHarness({ corsOrigins: [origin] }))

const paths = [
  '/graphql',
  '/mcp',
  '/api/v1/tools',
  '/v1/responses',
  '/v1/chat/completions',
  '/.well-known/oauth-protected-resource/mcp',
]

test.each(paths)('%s answers a preflight, and shows its headers to the page', async (path) => {
  const asked = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,mcp-session-id',
  }
  const preflight = await fetch(`${h.url}${path}`, { method: 'OPTIONS', headers: asked })
  expect(preflight.status).toBe(204)
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-headers': 'authorization,mcp-session-id',
    'access-control-allow-methods': expect.stringContaining('DELETE') as string,
    vary: expect.stringContaining('Origin') as string,
  })
  const response = await fetch(`${h.url}${path}`, {
    headers: { origin, authorization: `Bearer ${adminKey}` },
  })
  expect(response.headers.get('access-control-allow-origin')).toBe(origin)
  expect(response.headers.get('access-control-expose-headers')).toContain('mcp-session-id')
  expect(response.headers.get('access-control-allow-credentials')).toBeNull()
})

test.each(paths)('%s says nothing to another origin', async (path) => {
  for (const method of ['OPTIONS', 'GET']) {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const response = await fetch(`${h.url}${path}`, { method, headers })
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(response.headers.get('vary')).toContain('Origin')
  }
})

test('a page of another origin calls a tool over MCP with its key, beside pages of the server itself', async () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
  }
  const ask = (from: string) =>
    fetch(`${h.url}/mcp`, {
      method: 'POST',
      headers: {
        origin: from,
        authorization: `Bearer ${adminKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(initialize),
    })
  for (const from of [origin, h.url]) expect((await ask(from)).status).toBe(200)
  expect((await ask('https://evil.example')).status).toBe(403)
})
