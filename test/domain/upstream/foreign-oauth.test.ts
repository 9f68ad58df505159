/** Authorization servers as people have found them: nulls, slashes, no registration, and no `resource`. */
import { afterEach, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { policyOfRole, type Ctx } from '../../../src/domain/access/index.ts'
import { connectUpstream, type UpstreamAuth } from '../../../src/domain/upstream/index.ts'
import { databaseTokenStore } from '../../../src/domain/upstream/oauth/tokens.ts'
import { loadRows } from '../../../src/domain/upstream/state.ts'
import { confirmLogin, type Jar } from '../../support/browser.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { respond } from '../../support/scripted-mcp.ts'
import { projectId, saveTo } from '../../support/upstream-services.ts'
import { forFile } from '../../support/for-file.ts'

let server: Loopback | null = null
const h = await forFile(openHarness())
const services = h.app.services
const policy = policyOfRole('admin')
const ada = { id: 'key_ada', name: 'Ada', projectId, installation: false, role: 'admin' as const, policy }
const ctx: Ctx = h.app.ctxOf({ ...ada, expiresAt: null, agentId: null, votes: true })
afterEach(async () => {
  await server?.close()
  server = null
})

/** What the server says of itself, and its answers to requests for tokens. */
interface Said {
  resource?: JsonObject
  metadata?: JsonObject
  token?: JsonObject
}

/** An MCP server that takes the token `good` alone, with an authorization server of its own. */
async function startProtected(said: Said): Promise<Loopback & { tokenRequests: () => URLSearchParams[] }> {
  const made = await startLoopback(({ method, url, headers, body }, response) => {
    const own = `http://${headers.host}`
    const json = (value: object) => respond(response, 200, value)
    if (url.startsWith('/.well-known/oauth-protected-resource'))
      return json({ resource: `${own}/mcp`, authorization_servers: [own], ...said.resource })
    if (url.startsWith('/.well-known/oauth-authorization-server'))
      return json({
        issuer: own,
        authorization_endpoint: `${own}/authorize`,
        token_endpoint: `${own}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        ...said.metadata,
      })
    if (url === '/token') return json({ access_token: 'good', token_type: 'Bearer', ...said.token })
    if (!url.startsWith('/mcp') || method !== 'POST') return response.writeHead(404).end()
    if (headers.authorization !== 'Bearer good') return response.writeHead(401).end()
    const { id, method: name } = JSON.parse(body)
    if (name === 'initialize')
      return json({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } } })
    if (id === undefined) return response.writeHead(202).end()
    if (name === 'tools/list') return json({ id, result: { tools: [] } })
    respond(response, 400, { id, error: { code: -32601, message: 'Method not found' } })
  })
  server = made
  const tokenRequests = () =>
    made.seen.filter(({ url }) => url === '/token').map(({ body }) => new URLSearchParams(body))
  return Object.assign(made, { tokenRequests })
}

const people = (more: Partial<UpstreamAuth> = {}) =>
  ({
    kind: 'authorization_code',
    clientId: 'gatehouse',
    clientSecret: null,
    issuer: null,
    scopes: ['read'],
    allowedScopes: [],
    ...more,
  }) as UpstreamAuth

/** An upstream whose login got an access token that is no good any more, and a refresh token. */
async function loggedIn(url: string, issuer: string, auth = people()) {
  const one = await saveTo(services, url, { auth })
  const [row] = await loadRows(services.db, [one.id])
  const store = databaseTokenStore(services, row!)
  const old = { access_token: 'old', token_type: 'Bearer', refresh_token: 'first', expires_in: 0, issuer }
  await store.save({ tokens: old })
  return { ...one, store }
}

it.each<[string, Said]>([
  ['nothing odd', {}],
  ['a resource with a slash at its end', { resource: { resource: 'OWN/mcp/' } }],
  ['a server with a slash at its end', { resource: { authorization_servers: ['OWN/'] } }],
  ['nulls in the metadata of the resource', { resource: { scopes_supported: null, resource_name: null } }],
  [
    'nulls in its own metadata',
    {
      metadata: {
        registration_endpoint: null,
        scopes_supported: null,
        jwks_uri: null,
        service_documentation: null,
        grant_types_supported: [null, 'refresh_token'],
      },
    },
  ],
  ['refresh_token null', { token: { refresh_token: null } }],
  ['nulls in the token', { token: { expires_in: null, scope: null, id_token: null, token_type: null } }],
  ['a lifetime as text', { token: { expires_in: '3600' } }],
  ['a lifetime that is none', { token: { expires_in: 'never' } }],
  ['scopes as a list', { token: { scope: ['read', 'write'] } }],
])('a login is renewed by a server with %s, and keeps its refresh token', async (_name, said) => {
  const made = await startProtected(said)
  const own = (value: JsonObject) =>
    JSON.parse(JSON.stringify(value).replaceAll('OWN', made.url)) as JsonObject
  if (said.resource) said.resource = own(said.resource)
  const one = await loggedIn(`${made.url}/mcp`, made.url)
  expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
  expect(made.tokenRequests()).toHaveLength(1)
  const { tokens, leftMs } = await one.store.read()
  expect(tokens).toMatchObject({ access_token: 'good', refresh_token: 'first' })
  const isTimed = said.token?.['expires_in'] === '3600'
  expect(leftMs === null ? null : Math.ceil(leftMs / 1000)).toBe(isTimed ? 3600 : null)
})

it('a server that registers no clients is told in words, not as a broken message', async () => {
  const { url } = await startProtected({ metadata: { registration_endpoint: null } })
  const one = await saveTo(services, `${url}/mcp`, { auth: people({ clientId: null } as never) })
  await expect(connectUpstream(ctx, { toolId: one.id })).rejects.toThrow(
    /does not register clients.*client id/,
  )
})

it('a server whose answer cannot be read is not said to have sent a broken MCP message', async () => {
  const { url } = await startProtected({ token: { access_token: null } })
  const one = await loggedIn(`${url}/mcp`, url)
  expect(await one.refresh()).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' })
  expect((await one.state()).error?.message).not.toContain('MCP message')
})

it.each([true, undefined])('with omitResource %s, resource is left out accordingly', async (omitResource) => {
  const { url, tokenRequests } = await startProtected(
    omitResource ? { resource: { resource: 'api://an-id' } } : {},
  )
  const one = await loggedIn(`${url}/mcp`, url, people({ omitResource, issuer: url } as never))
  expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
  expect(tokenRequests().map((sent) => sent.get('resource'))).toEqual([omitResource ? null : `${url}/mcp`])
  const jar: Jar = new Map()
  const login = await connectUpstream(ctx, { toolId: one.id })
  const authorize = new URL(await confirmLogin(login.url, jar))
  expect(authorize.searchParams.get('resource')).toBe(omitResource ? null : `${url}/mcp`)
})

it('omitResource is stored and shown, and needs an issuer where the server could choose one', async () => {
  const config = (auth: object) => ({
    mcp: { url: 'http://127.0.0.1:9/mcp', auth: { authorizationCode: auth } },
  })
  const given = { clientId: 'me', issuer: 'https://id.test', omitResource: true }
  const fields = 'tool { ... on McpTool { auth { omitResource issuer } } }'
  const made = await h.mutate('createTool', { name: 'entra', config: config(given) }, fields)
  expect(made['tool'].auth).toEqual({ omitResource: true, issuer: 'https://id.test' })
  const plain = await h.mutate('createTool', { name: 'plain', config: config({ clientId: 'me' }) }, fields)
  expect(plain['tool'].auth).toEqual({ omitResource: false, issuer: null })
  const refused = await h.mutate('createTool', { name: 'no', config: config({ omitResource: true }) }, fields)
  expect(refused).toMatchObject({
    code: 'INVALID',
    issues: [{ message: expect.stringContaining('omitResource') }],
  })
})
