/** An upstream through the public API: tested, made a tool, followed, connected by a person. */
import { beforeEach, expect, it } from 'vitest'
import { protect, startAuthorizationServer } from '../support/authorization-server.ts'
import { browse } from '../support/browser.ts'
import { openHarness } from '../support/harness.ts'
import { hasPeers } from '../support/peers.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

/** Generous, for a busy machine. */
const patience = { timeout: 90_000 }

let server: ModernServer
const h = await forFile(openHarness())
beforeEach(async () => {
  server = await startModern()
  server.tools.set('echo', {
    tool: { name: 'echo', description: 'Says it again.' },
    run: () => ({ content: [] }),
  })
  return () => server.kill()
})

const fields = `status error { code message } era transport serverName lastSeenAt refreshedAt promptCount resourceCount
  notes tools { name description hash }`

async function upstreamOf(toolId: string): Promise<Record<string, any>> {
  const { data } = await h.gql(
    `query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { ${fields} } } } }`,
    {
      id: toolId,
    },
  )
  return data['tool'].upstream
}

it('is tested, saved, refreshed after it died, and reported in the feed', async () => {
  const trial = await h.mutate(
    'testUpstream',
    { url: server.url },
    'ok status era transport tools error { code }',
  )
  expect(trial).toMatchObject({
    ok: true,
    status: 'CONNECTED',
    era: 'MODERN',
    transport: 'STREAMABLE_HTTP',
    tools: ['echo'],
    error: null,
  })
  const { tool } = await h.mutate(
    'createTool',
    { name: 'far', config: { mcp: { url: server.url } } },
    'tool { id }',
  )
  expect(await upstreamOf(tool.id)).toMatchObject({
    status: 'CONNECTED',
    serverName: 'modern',
    promptCount: 1,
    resourceCount: 1,
    tools: [{ name: 'echo', description: 'Says it again.' }],
  })
  await server.kill()
  const looked = await h.mutate('refreshUpstream', { toolId: tool.id }, 'tool { id }')
  expect(looked['tool'].id).toBe(tool.id)
  expect(await upstreamOf(tool.id)).toMatchObject({
    status: 'DEGRADED',
    error: { code: 'unreachable' },
    tools: [{ name: 'echo' }],
  })
  const told = await h.collect(
    `subscription { projectEvents(after: "0") { type ... on UpstreamStatusEvent { toolId status faultCode }
      ... on UpstreamChangedEvent { toolId added removed changed } } }`,
    {},
    (events) => events.some((event) => event.status === 'DEGRADED'),
  )
  const own = told.filter((event) => event.toolId === tool.id && event.type.startsWith('UPSTREAM'))
  expect(own).toEqual([
    { type: 'UPSTREAM_STATUS', toolId: tool.id, status: 'CONNECTED', faultCode: null },
    { type: 'UPSTREAM_CHANGED', toolId: tool.id, added: ['echo'], removed: [], changed: [] },
    { type: 'UPSTREAM_STATUS', toolId: tool.id, status: 'DEGRADED', faultCode: 'unreachable' },
  ])
})

it.skipIf(!hasPeers)('is connected by a person and disconnected again', async () => {
  const issuer = await startAuthorizationServer(`${h.url}/oauth/callback`)
  protect(server, issuer.issuer)
  const { tool } = await h.mutate(
    'createTool',
    { name: 'shut', config: { mcp: { url: server.url } } },
    'tool { id }',
  )
  expect(await upstreamOf(tool.id)).toMatchObject({
    status: 'AUTHORIZATION_REQUIRED',
    error: { code: 'authorization_required' },
  })
  const { url } = await h.mutate('connectUpstream', { toolId: tool.id }, 'url')
  expect((await browse(url)).text).toContain('Connected')
  await expect.poll(async () => (await upstreamOf(tool.id))['status'], patience).toBe('CONNECTED')
  const called = await h.mutate(
    'callTool',
    { toolId: tool.id, action: 'echo', arguments: {} },
    'toolCall { status }',
  )
  expect(called['toolCall'].status).toBe('SUCCEEDED')
  await h.mutate('disconnectUpstream', { toolId: tool.id }, 'tool { id }')
  await h.mutate('refreshUpstream', { toolId: tool.id }, 'tool { id }')
  expect(await upstreamOf(tool.id)).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' })
  await issuer.close()
  const broken = await h.mutate('connectUpstream', { toolId: tool.id }, 'url')
  expect(broken).toMatchObject({ __typename: 'UpstreamError', code: 'UPSTREAM' })
})
