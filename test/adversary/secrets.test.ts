/** A secret is used only with secrets:Use, and is sent only to the hosts that it names. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from 'drizzle-orm'
import { mayGoTo } from '../../src/domain/secrets/secrets.ts'
import { query } from '../../src/store/db/database.ts'
import { clientSecret, protect, startAuthorizationServer } from '../support/authorization-server.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { hasPeers } from '../support/peers.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

const value = 'sw0rdfish'

beforeEach(() => {
  friend.seen.splice(0)
  thief.seen.splice(0)
})

const set = (name: string, more: object, key?: string) =>
  h.mutate('setSecret', { name, value, ...more }, 'secret { id name allowedHosts }', key)

const h = await forFile(openHarness())
/** The host that the secret is for, and one that tries to get it. */
const thief = await forFile(
  startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }),
)
const friend = await forFile(
  startLoopback((request, response) => {
    const headers = { 'content-type': 'application/json', location: `${thief.url}/taken` }
    response.writeHead(request.url.includes('away') ? 307 : 200, headers).end('{}')
  }),
)
await set('BOUND', { allowedHosts: [friend.address] })
await set('FREE', {})

const seenBy = (server: Loopback) => JSON.stringify(server.seen)

let made = 0
function httpTool(url: string, header: string, key = adminKey): Promise<Record<string, any>> {
  const http = { url, method: 'GET', headers: { 'x-token': header }, inputSchema: { type: 'object' } }
  return h.mutate('createTool', { name: `http_${++made}`, config: { http } }, 'tool { id }', key)
}

async function call(toolId: string): Promise<Record<string, any>> {
  const { toolCall } = await h.mutate('callTool', { toolId, arguments: {} }, 'toolCall { isError errorCode }')
  return toolCall
}

describe('a key without secrets:Use', () => {
  let weak: string
  beforeAll(async () => {
    const statement = [
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: ['secrets:*'], resource: ['*'] },
    ]
    const made_ = await h.mutate('createApiKey', { name: 'weak', policy: { statement } }, 'secret')
    weak = made_['secret']
  })

  const mcp = (url: string, headers: object, auth?: object) => ({
    mcp: { url, headers, ...(auth ? { auth } : {}) },
  })
  const auth = (secret: string) => ({
    clientCredentials: { clientId: 'c', clientSecret: secret, issuer: 'https://id.example.com' },
  })

  test.each<[string, () => Promise<unknown>]>([
    ['createTool, in a header', () => httpTool(thief.url, '{{secret:FREE}}', weak)],
    ['createTool, in the address', () => httpTool(`${thief.url}/{{secret:FREE}}`, 'x', weak)],
    ['createTool, of a secret that does not exist', () => httpTool(thief.url, '{{secret:NONE}}', weak)],
    [
      'createTool, for an upstream',
      () =>
        h.mutate(
          'createTool',
          { name: 'm1', config: mcp(thief.url, { 'x-token': '{{secret:FREE}}' }) },
          'tool { id }',
          weak,
        ),
    ],
    [
      'createTool, for the login at an upstream',
      () =>
        h.mutate('createTool', { name: 'm2', config: mcp(thief.url, {}, auth('FREE')) }, 'tool { id }', weak),
    ],
    [
      'testUpstream',
      () =>
        h.mutate('testUpstream', { url: thief.url, headers: { 'x-token': '{{secret:FREE}}' } }, 'ok', weak),
    ],
    [
      'testUpstream, for the login',
      () => h.mutate('testUpstream', { url: thief.url, auth: auth('FREE') }, 'ok', weak),
    ],
    [
      'setProvider',
      () =>
        h.mutate(
          'setProvider',
          { name: 'p', kind: 'OPENAI', baseUrl: thief.url, secretName: 'FREE', defaultModel: 'm' },
          'provider { id }',
          weak,
        ),
    ],
  ])('is refused by %s, and nothing is sent', async (_what, act) => {
    await expect(act()).rejects.toThrow(/FORBIDDEN.*secrets:Use/)
    expect(thief.seen).toEqual([])
  })

  test('cannot point a tool that uses one at another host, nor change it otherwise', async () => {
    const { tool } = await httpTool(friend.url, '{{secret:FREE}}')
    const http = {
      url: thief.url,
      method: 'GET',
      headers: { 'x-token': '{{secret:FREE}}' },
      inputSchema: { type: 'object' },
    }
    for (const change of [{ config: { http } }, { description: 'new' }])
      await expect(h.mutate('updateTool', { id: tool.id, ...change }, 'tool { id }', weak)).rejects.toThrow(
        /FORBIDDEN.*secrets:Use/,
      )
  })

  test('makes and changes tools that use none', async () => {
    const { tool } = await httpTool(friend.url, 'plain', weak)
    const { tool: changed } = await h.mutate(
      'updateTool',
      { id: tool.id, description: 'd' },
      'tool { version }',
      weak,
    )
    expect(changed.version).toBe(2)
  })
})

describe('a secret that names its hosts', () => {
  test('is filled in for them', async () => {
    const { tool } = await httpTool(`${friend.url}/in`, '{{secret:BOUND}}')
    expect(await call(tool.id)).toEqual({ isError: false, errorCode: null })
    expect(friend.seen[0]!.headers['x-token']).toBe(value)
  })

  test('is refused for any other when a tool is saved, tested or given to a provider', async () => {
    expect(await httpTool(thief.url, '{{secret:BOUND}}')).toMatchObject({
      issues: [{ path: ['input', 'config', 'http', 'headers', 'x-token'] }],
    })
    const upstream = { url: thief.url, headers: { 'x-token': '{{secret:BOUND}}' } }
    const saved = await h.mutate('createTool', { name: 'm3', config: { mcp: upstream } }, 'tool { id }')
    expect(saved).toMatchObject({ issues: [{ path: ['input', 'config', 'mcp', 'headers', 'x-token'] }] })
    expect(await h.mutate('testUpstream', upstream, 'ok')).toMatchObject({ __typename: 'ValidationError' })
    const provider = {
      name: 'p',
      kind: 'OPENAI',
      baseUrl: thief.url,
      secretName: 'BOUND',
      defaultModel: 'm',
    }
    expect(await h.mutate('setProvider', provider, 'provider { id }')).toMatchObject({
      issues: [{ path: ['input', 'secretName'] }],
    })
    expect(thief.seen).toEqual([])
  })

  test('is checked when it is sent: a tool saved before the hosts were named sends nothing', async () => {
    await set('LATER', {})
    const { tool } = await httpTool(thief.url, '{{secret:LATER}}')
    const mcp = await h.mutate(
      'createTool',
      { name: 'm4', config: { mcp: { url: thief.url, headers: { 'x-token': '{{secret:LATER}}' } } } },
      'tool { id }',
    )
    await h.mutate(
      'setProvider',
      { name: 'later', kind: 'OPENAI', baseUrl: thief.url, secretName: 'LATER', defaultModel: 'm' },
      'provider { id }',
    )
    await set('LATER', { allowedHosts: [friend.address] })
    thief.seen.splice(0)
    expect(await call(tool.id)).toEqual({ isError: true, errorCode: 'secret_refused' })
    const looked = await h.mutate(
      'refreshUpstream',
      { toolId: mcp['tool'].id },
      'tool { ... on McpTool { upstream { error { code } } } }',
    )
    expect(looked['tool'].upstream.error.code).toBe('secret_refused')
    const agent = await h.mutate('createAgent', { name: 'later', model: 'later/m' }, 'agent { id }')
    const run = await h.mutate(
      'startGeneration',
      { agentId: agent['agent'].id, prompt: 'hi' },
      'generation { id }',
    )
    const ended = await h.until(run['generation'].id, ['FAILED'])
    expect(ended['error'].code).toBe('MODEL_NOT_CONFIGURED')
    expect(thief.seen).toEqual([])
  })

  test('does not follow a redirect to another host, of a tool or an upstream', async () => {
    const { tool } = await httpTool(`${friend.url}/away`, '{{secret:BOUND}}')
    await call(tool.id)
    await h.mutate(
      'testUpstream',
      { url: `${friend.url}/away`, headers: { 'x-token': '{{secret:BOUND}}' } },
      'ok',
    )
    expect(seenBy(friend)).toContain(value)
    expect(thief.seen.length).toBeGreaterThan(0)
    expect(seenBy(thief)).not.toContain(value)
  })

  test('is not sent with any header but the public ones, whoever sends it', async () => {
    const headers = { 'x-goog-api-key': value, 'x-token': value, accept: 'text/plain' }
    await h.app.services.egress.fetch(`${friend.url}/away`, { headers })
    expect(thief.seen[0]!.headers).toMatchObject({ accept: 'text/plain' })
    expect(seenBy(thief)).not.toContain(value)
  })

  test.skipIf(!hasPeers)(
    'does not go to an authorization server that it does not name, nor does an assertion signed with it',
    async () => {
      const issuer = await startAuthorizationServer(`${h.url}/oauth/callback`)
      const server = await startModern()
      protect(server, issuer.issuer)
      await h.mutate(
        'setSecret',
        { name: 'CLIENT', value: clientSecret, allowedHosts: [friend.address] },
        'secret { id }',
      )
      const own = { clientId: 'service', clientSecret: 'CLIENT', issuer: issuer.issuer, scopes: ['mcp:read'] }
      const config = { mcp: { url: server.url, auth: { clientCredentials: own } } }
      const state = 'tool { id ... on McpTool { upstream { status error { code } } } }'
      const { tool } = await h.mutate('createTool', { name: 'guarded', config }, state)
      expect(tool.upstream).toMatchObject({ error: { code: 'secret_refused' } })
      expect(issuer.requests).not.toContain('POST /token')
      const allowed = { name: 'CLIENT', value: clientSecret, allowedHosts: [new URL(issuer.issuer).host] }
      await h.mutate('setSecret', allowed, 'secret { id }')
      const again = await h.mutate('refreshUpstream', { toolId: tool.id }, state)
      expect(again['tool'].upstream).toEqual({ status: 'CONNECTED', error: null })
      await Promise.all([server.kill(), issuer.close()])
    },
  )

  test('keeps its hosts when its value is set again, until the update names others', async () => {
    await set('KEPT', { allowedHosts: ['api.example.com'] })
    expect((await set('KEPT', {}))['secret'].allowedHosts).toEqual(['api.example.com'])
    expect((await set('KEPT', { allowedHosts: ['*.Example.com:8443'] }))['secret'].allowedHosts).toEqual([
      '*.example.com:8443',
    ])
    expect((await set('KEPT', { allowedHosts: null }))['secret'].allowedHosts).toBeNull()
  })

  test.each([
    ['*'],
    ['https://a.example.com'],
    ['a.example.com/path'],
    ['a b'],
    ['user@a.example.com'],
    [''],
  ])('does not take %s for a host', async (host) => {
    expect(await set('ODD', { allowedHosts: [host] })).toMatchObject({
      issues: [{ path: ['input', 'allowedHosts', '0'] }],
    })
  })

  test.each([
    [['api.example.com'], 'https://api.example.com/x', true],
    [['api.example.com'], 'https://api.example.com:8443/x', true],
    [['api.example.com'], 'https://API.EXAMPLE.com', true],
    [['api.example.com'], 'https://api.example.com.evil.test', false],
    [['api.example.com'], 'https://evil.test/api.example.com', false],
    [['api.example.com'], 'https://api.example.com@evil.test', false],
    [['api.example.com'], 'https://xapi.example.com', false],
    [['api.example.com:443'], 'https://api.example.com', true],
    [['api.example.com:443'], 'http://api.example.com', false],
    [['*.example.com'], 'https://a.b.example.com', true],
    [['*.example.com'], 'https://example.com', false],
    [['*.example.com'], 'https://evilexample.com', false],
    [['[::1]:8080'], 'http://[::1]:8080/', true],
    [['[::1]'], 'http://[::2]/', false],
    [['a.test', 'b.test'], 'https://b.test', true],
    [['a.test'], 'no address', false],
    [null, 'https://anywhere.test', true],
  ])('%j allows %s: %s', (hosts, address, expected) => {
    expect(mayGoTo(hosts, address)).toBe(expected)
  })
})

test('an old secret, which names no host, works as before', async () => {
  await query(h.app.services.db, sql`update secrets set allowed_hosts = null where name = 'FREE'`)
  const { tool } = await httpTool(thief.url, '{{secret:FREE}}')
  expect(await call(tool.id)).toEqual({ isError: false, errorCode: null })
})
