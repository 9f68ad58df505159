/**
 * Upstreams that require authorization, with a real authorization server: three grants, and tokens for one resource
 * only.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from 'drizzle-orm'
import { seal } from '../../../src/domain/secrets/index.ts'
import {
  connectUpstream,
  disconnectUpstream,
  loadConnections,
  tryConfig,
  type UpstreamAuth,
} from '../../../src/domain/upstream/index.ts'
import type { Ctx, Services } from '../../../src/domain/access/index.ts'
import { policyOfRole } from '../../../src/domain/access/index.ts'
import { query } from '../../../src/store/db/database.ts'
import {
  clientKey,
  clientSecret,
  protect,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization-server.ts'
import { browse, confirmLogin, type Jar } from '../../support/browser.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { projectId, saveTo } from '../../support/upstream-services.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

/** Generous, for a busy machine. */
const patience = { timeout: 90_000 }

let h: Harness
let services: Services
let ctx: Ctx
let issuer: AuthorizationServer
let server: ModernServer
const echo = { message: 'x' }

beforeAll(async () => {
  h = await openHarness()
  services = h.app.services
  ctx = h.app.ctxOf({
    id: 'key_ada',
    name: 'Ada',
    projectId,
    installation: false,
    role: 'admin',
    policy: policyOfRole('admin'),
    expiresAt: null,
    agentId: null,
    votes: true,
  })
  issuer = await startAuthorizationServer(`${h.url}/oauth/callback`)
  await setSecret('CLIENT_SECRET', clientSecret)
  await setSecret('CLIENT_KEY', clientKey)
})
afterAll(async () => {
  await issuer.close()
  await h.stop()
})
beforeEach(async () => {
  issuer.granted.length = 0
  issuer.requests.length = 0
  issuer.ttl = 300
  server = await startModern()
  server.tools.set('echo', { tool: { name: 'echo' }, run: () => ({ content: [] }) })
  return () => server.kill()
})

async function setSecret(name: string, value: string): Promise<void> {
  const sealed = seal(services.masterKey, value, `${projectId}/${name}`)
  await query(
    services.db,
    sql`insert into secrets (id, project_id, name, sealed) values (${`sec_${name}`}, ${projectId}, ${name}, ${sealed})`,
  )
}

const withSecret = (more: object = {}): UpstreamAuth => ({
  kind: 'client_credentials',
  clientId: 'service',
  clientSecret: 'CLIENT_SECRET',
  issuer: issuer.issuer,
  scopes: ['mcp:read'],
  ...more,
})
const withPeople = (more: object = {}): UpstreamAuth => ({
  kind: 'authorization_code',
  clientId: null,
  clientSecret: null,
  issuer: null,
  scopes: ['mcp:read'],
  allowedScopes: [],
  ...more,
})

describe.skipIf(!hasPeers)('without a person', () => {
  it('gets a token with its secret, for this server alone, by the metadata URL of the challenge', async () => {
    protect(server, issuer.issuer)
    const one = await saveTo(services, server.url, { auth: withSecret() })
    expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
    expect(await one.call('echo', echo)).toMatchObject({ result: { isError: false } })
    expect(issuer.granted).toEqual([
      { grant_type: 'client_credentials', resource: server.url, scope: 'mcp:read', client_id: 'service' },
    ])
  })

  it('gets a token with a signature instead of a secret', async () => {
    protect(server, issuer.issuer)
    const auth: UpstreamAuth = {
      kind: 'private_key_jwt',
      clientId: 'jwt-client',
      privateKey: 'CLIENT_KEY',
      algorithm: 'RS256',
      issuer: issuer.issuer,
      scopes: ['mcp:read'],
    }
    const one = await saveTo(services, server.url, { auth })
    expect(await one.refresh()).toMatchObject({ status: 'CONNECTED' })
    expect(issuer.granted).toMatchObject([{ client_id: 'jwt-client', resource: server.url }])
  })

  it.each(['tools/call', 'tools/list', 'server/discover'])(
    'requests more scopes for %s by itself, and keeps those it has',
    async (method) => {
      protect(server, issuer.issuer)
      const believing = server.guard!
      let wants = 0
      server.guard = async (request, response, body) => {
        if (await believing(request, response, body)) return true
        if (!body.includes(method) || tokenScope(request.headers.authorization!).includes('mcp:write'))
          return false
        wants += 1
        response
          .writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mcp:write"' })
          .end()
        return true
      }
      const one = await saveTo(services, server.url, { auth: withSecret({ scopes: [] }) })
      expect(await one.refresh()).toMatchObject({ status: 'CONNECTED' })
      expect(await one.call('echo', echo)).toMatchObject({ result: { isError: false } })
      expect(issuer.granted.map(({ scope }) => scope)).toEqual(['mcp:read', 'mcp:write mcp:read'])
      expect(wants).toBe(1)
    },
  )

  it('reports missing scopes, and not an unreachable server, where no more may be requested', async () => {
    protect(server, issuer.issuer)
    const believing = server.guard!
    server.guard = async (request, response, body) => {
      if (await believing(request, response, body)) return true
      response
        .writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mcp:write"' })
        .end()
      return true
    }
    const one = await saveTo(services, server.url, { auth: withSecret() })
    expect(await one.refresh()).toMatchObject({
      status: 'AUTHORIZATION_REQUIRED',
      error: { code: 'insufficient_scope' },
    })
    expect(issuer.granted).toHaveLength(1)
  })

  it('is tested before it is saved, and stores nothing', async () => {
    protect(server, issuer.issuer)
    const config = { url: server.url, headers: {}, auth: withSecret() }
    expect(await tryConfig(services, projectId, config)).toMatchObject({
      ok: true,
      era: 'modern',
      tools: ['echo'],
    })
    const wrong = { ...config, auth: null }
    expect(await tryConfig(services, projectId, wrong)).toMatchObject({
      ok: false,
      status: 'AUTHORIZATION_REQUIRED',
      error: { code: 'authorization_required' },
    })
    expect(
      await query(services.db, sql`select 1 from upstreams where config->>'url' = ${server.url}`),
    ).toEqual([])
  })

  it('never sends its secret to an authorization server that the upstream chose', async () => {
    const thief = await startModern()
    protect(server, issuer.issuer, { issuer: `http://127.0.0.1:${thief.port}` })
    const asked: string[] = []
    thief.guard = (request, response, body) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''} ${body}`)
      const own = `http://127.0.0.1:${thief.port}`
      const metadata = {
        issuer: own,
        token_endpoint: `${own}/token`,
        authorization_endpoint: `${own}/authorize`,
        response_types_supported: ['code'],
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
      return true
    }
    const one = await saveTo(services, server.url, { auth: withSecret() })
    expect(await one.refresh()).toMatchObject({
      status: 'AUTHORIZATION_REQUIRED',
      error: { code: 'issuer_mismatch' },
    })
    expect(asked.every((line) => line.startsWith('GET '))).toBe(true)
    expect(asked.join('\n')).not.toContain(Buffer.from(`service:${clientSecret}`).toString('base64'))
    expect((await one.events()).at(-1)).toEqual({
      type: 'UPSTREAM_STATUS',
      data: { toolId: one.id, status: 'AUTHORIZATION_REQUIRED', code: 'issuer_mismatch' },
    })
    await thief.kill()
  })

  it('is refused by the upstream with a token for another one, and requests none for another', async () => {
    const other = await startModern()
    protect(other, issuer.issuer)
    const { refused } = protect(server, issuer.issuer)
    const theirs = await saveTo(services, other.url, { auth: withSecret() })
    await theirs.refresh()
    const one = await saveTo(services, server.url, { auth: withSecret() })
    // Gives this upstream the tokens of the other one.
    await query(
      services.db,
      sql`insert into upstream_tokens (upstream_id, project_id, sealed, version, updated_at)
        values (${one.id}, ${projectId}, ${await resealed(theirs.id, one.id)}, 1, now())`,
    )
    expect(await one.refresh()).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' })
    expect(refused[0]).toMatch(/"aud"/)
    protect(server, issuer.issuer, { resource: other.url })
    await query(services.db, sql`delete from upstream_tokens where upstream_id = ${one.id}`)
    expect(await one.refresh()).toMatchObject({ error: { code: 'authorization_failed' } })
    await other.kill()
  })
})

async function resealed(from: string, to: string): Promise<string> {
  const { unseal } = await import('../../../src/domain/secrets/index.ts')
  const [row] = await query<{ sealed: string }>(
    services.db,
    sql`select sealed from upstream_tokens where upstream_id = ${from}`,
  )
  return seal(
    services.masterKey,
    unseal(services.masterKey, row!.sealed, `upstream/${from}`),
    `upstream/${to}`,
  )
}

function tokenScope(authorization: string): string {
  const claims = Buffer.from(authorization.split('.')[1]!, 'base64url').toString()
  return String((JSON.parse(claims) as { scope?: string }).scope)
}

describe.skipIf(!hasPeers)('with a person', () => {
  it.each([
    ['registering itself', {}],
    ['as a client that is known', { clientId: 'people' }],
  ])('is connected with a browser, %s, and renewed without one', async (_how, more) => {
    protect(server, issuer.issuer)
    const one = await saveTo(services, server.url, { auth: withPeople(more) })
    expect(await one.refresh()).toMatchObject({
      status: 'AUTHORIZATION_REQUIRED',
      error: { code: 'authorization_required' },
    })
    issuer.ttl = 1
    const jar: Jar = new Map()
    const { url } = await connectUpstream(ctx, { toolId: one.id })
    const asked = new URL(await confirmLogin(url, jar)).searchParams
    expect(asked.get('resource')).toBe(server.url)
    expect(asked.get('code_challenge_method')).toBe('S256')
    const page = await browse(url, {}, jar)
    expect(page).toMatchObject({ status: 200 })
    expect(page.text).toContain('Connected')
    await one.until((state) => state.status === 'CONNECTED')
    await expect
      .poll(async () => {
        const rows = await query(
          services.db,
          sql`select 1 from upstream_tokens where upstream_id = ${one.id} and expires_at < now() - interval '1 second'`,
        )
        return rows.length
      }, patience)
      .toBe(1)
    issuer.ttl = 300
    expect(await one.call('echo', echo)).toMatchObject({ result: { isError: false } })
    const grants = issuer.granted.map(({ grant_type }) => grant_type)
    expect(grants[0]).toBe('authorization_code')
    expect(new Set(grants.slice(1))).toEqual(new Set(['refresh_token']))
    expect(issuer.granted.every(({ resource }) => resource === server.url)).toBe(true)
    const again = await browse(page.url)
    expect(again.status).toBe(400)
    expect(await loadConnections(services.db, [one.id])).toEqual([
      { by: 'key_ada', at: expect.any(Date), expiresAt: expect.any(Date) },
    ])
    await disconnectUpstream(ctx, { toolId: one.id })
    expect(await loadConnections(services.db, [one.id])).toEqual([null])
    expect(await one.refresh()).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' })
  })

  it('requests more scopes only where they are allowed, and never by itself', async () => {
    protect(server, issuer.issuer)
    const one = await saveTo(services, server.url, {
      auth: withPeople({ clientId: 'people', allowedScopes: ['mcp:write'] }),
    })
    await browse((await connectUpstream(ctx, { toolId: one.id })).url)
    await one.until((state) => state.status === 'CONNECTED')
    const believing = server.guard!
    let wanted = 'mcp:write'
    server.guard = async (request, response, body) => {
      if (await believing(request, response, body)) return true
      if (!body.includes('tools/call') || tokenScope(request.headers.authorization!).includes(wanted))
        return false
      response
        .writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${wanted}"` })
        .end()
      return true
    }
    const codeOf = async () => (await one.call('echo', echo)).result.structuredContent?.error?.code
    expect(await codeOf()).toBe('authorization_required')
    const jar: Jar = new Map()
    const { url } = await connectUpstream(ctx, { toolId: one.id })
    expect(new URL(await confirmLogin(url, jar)).searchParams.get('scope')!.split(' ')).toEqual(
      expect.arrayContaining(['mcp:read', 'mcp:write']),
    )
    await browse(url, {}, jar)
    expect(await codeOf()).toBeUndefined()
    wanted = 'mcp:everything'
    expect(await codeOf()).toBe('insufficient_scope')
  })

  it('reflects nothing of a forged return, and accepts no state twice or from another issuer', async () => {
    // An upstream of its own: those of other tests renew their tokens at any time.
    const own = await startAuthorizationServer(`${h.url}/oauth/callback`)
    protect(server, own.issuer)
    const one = await saveTo(services, server.url, { auth: withPeople({ clientId: 'people' }) })
    const made = await fetch(`${h.url}/oauth/callback?state=<script>&code=<b>&error_description=<i>evil`)
    expect(made.status).toBe(400)
    expect(await made.text()).not.toMatch(/script>|evil/)
    expect(made.headers.get('content-security-policy')).toContain("default-src 'none'")
    const { url } = await connectUpstream(ctx, { toolId: one.id })
    const jar: Jar = new Map()
    const state = new URL(await confirmLogin(url, jar)).searchParams.get('state')!
    const back = `${h.url}/oauth/callback?state=${state}&code=stolen`
    const elsewhere = await browse(`${back}&iss=${encodeURIComponent('http://evil.test')}`, {}, jar)
    expect(elsewhere.status).toBe(502)
    expect((await browse(back, {}, jar)).status).toBe(400)
    expect(own.requests.filter((line) => line === 'POST /token')).toEqual([])
    await own.close()
  })

  it('serves its client metadata document to authorization servers', async () => {
    const document = (await (await fetch(`${h.url}/oauth/client.json`)).json()) as Record<string, unknown>
    expect(document).toMatchObject({
      client_id: `${h.url}/oauth/client.json`,
      redirect_uris: [`${h.url}/oauth/callback`],
      token_endpoint_auth_method: 'none',
    })
  })

  it('cannot be connected from another project', async () => {
    const one = await saveTo(services, server.url, { auth: withPeople() })
    const caller = { ...ctx, principal: { ...ctx.principal, policy: policyOfRole('caller') } }
    await expect(connectUpstream(caller, { toolId: one.id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const otherCtx = { ...ctx, principal: { ...ctx.principal, projectId: 'proj_other' } }
    await expect(connectUpstream(otherCtx, { toolId: one.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
