/** Upstreams that name private addresses, in every place where they can name one: refused, without any connection. */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { sql } from 'drizzle-orm'
import { checkUpstreamConfig, tryConfig, type UpstreamAuth } from '../../../src/domain/upstream/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { seal } from '../../../src/domain/secrets/index.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { projectId } from '../../support/upstream-services.ts'
import { forFile } from '../../support/for-file.ts'

/** Every spelling of a private address that a URL can contain. */
const spellings = [
  'http://10.0.0.7/x',
  'http://192.168.1.1/x',
  'http://172.16.5.4/x',
  'http://169.254.169.254/latest/meta-data',
  'http://100.64.0.1/x',
  'http://0.0.0.0/x',
  'http://127.0.0.1:9/x',
  'http://127.1:9/x',
  'http://2130706433:9/x',
  'http://0x7f.1:9/x',
  'http://0177.0.0.1:9/x',
  'http://localhost:9/x',
  'http://sub.localhost:9/x',
  'http://[::1]:9/x',
  'http://[::]:9/x',
  'http://[::ffff:127.0.0.1]:9/x',
  'http://[::ffff:a00:7]/x',
  'http://[::127.0.0.1]/x',
  'http://[fe80::1]/x',
  'http://[fc00::1]/x',
  'http://[64:ff9b::7f00:1]/x',
  'http://[64:ff9b:1::7f00:1]/x',
  'http://[2002:7f00:1::]/x',
  'http://[2001::1]/x',
  'http://private.test/x',
  'http://mixed.test/x',
  'http://mapped.test/x',
  'http://nat64.test/x',
] as const

const names: Record<string, string[]> = {
  'private.test': ['10.0.0.7'],
  'mixed.test': ['93.184.215.14', '10.0.0.7'],
  'mapped.test': ['::ffff:10.0.0.7'],
  'nat64.test': ['64:ff9b::a00:7'],
}

/** The upstream's response to a request without a token. */
let answer: (url: string) => { status: number; headers?: Record<string, string>; body?: unknown }
const asked: string[] = []
/** Every address to which this process opened a socket. */
const dialled = new Set<string>()
subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket }
  socket.on('connectionAttempt', (address, port) => dialled.add(`${address}:${port}`))
})

const site = await forFile(
  startLoopback(({ method, url }, response) => {
    asked.push(`${method} ${url}`)
    const { status, headers = {}, body } = answer(url)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? '' : JSON.stringify(body))
  }),
)
const h = await forFile(
  openHarness(
    // Only the hostile upstream itself may be reached: there is no other socket, to a database either.
    { databaseUrl: null, egressAllowPrivate: false, egressAllow: [`upstream.test:${site.port}`] },
    {
      egress: {
        lookup: async (host) => {
          if (host === 'upstream.test') return ['127.0.0.1']
          const addresses = names[host]
          if (!addresses) throw new Error(`${host} was looked up`)
          return addresses
        },
      },
    },
  ),
)
const { services } = h.app
const sealed = seal(services.masterKey, 'the client secret', `${projectId}/SECRET`)
await query(
  services.db,
  sql`insert into secrets (id, project_id, name, sealed) values ('sec_1', ${projectId}, 'SECRET', ${sealed})`,
)
beforeEach(() => {
  asked.length = 0
})

const own = () => `http://upstream.test:${site.port}`
const challenged = (metadataUrl: string) => ({
  status: 401,
  headers: { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}"` },
})
const auth: UpstreamAuth = {
  kind: 'client_credentials',
  clientId: 'us',
  clientSecret: 'SECRET',
  issuer: 'https://issuer.test',
  scopes: [],
}
const trial = (url: string, more: Partial<{ auth: UpstreamAuth | null }> = {}) =>
  tryConfig(h.app.services, projectId, { url, headers: {}, auth, ...more })

/** A name that resolves to a private address is reported as unreachable, like one that does not exist. */
const refusal = (target: string) => (/\.test\//.test(target) ? 'unreachable' : 'blocked_address')

describe.each(spellings)('%s', (target) => {
  it('is not connected to, and is refused at save where the URL itself is private', async () => {
    expect(await trial(target)).toMatchObject({ ok: false, error: { code: refusal(target) } })
    const save = () => checkUpstreamConfig(h.app.services, { url: target })
    if (!/\.test\//.test(target)) expect(save).toThrow(/^input\.url/)
  })

  it('is not reached by a redirect', async () => {
    answer = () => ({ status: 307, headers: { location: target } })
    expect(await trial(`${own()}/mcp`)).toMatchObject({ ok: false })
    expect(asked.every((line) => line.endsWith(' /mcp'))).toBe(true)
  })

  it('is not asked for the metadata of the resource', async () => {
    answer = (url) => (url === '/mcp' ? challenged(target) : { status: 404 })
    expect(await trial(`${own()}/mcp`)).toMatchObject({ ok: false, error: { code: refusal(target) } })
  })

  it('is not asked for the metadata of an authorization server', async () => {
    answer = (url) =>
      url === '/mcp'
        ? challenged(`${own()}/meta`)
        : { status: 200, body: { resource: `${own()}/mcp`, authorization_servers: [target] } }
    expect(await trial(`${own()}/mcp`)).toMatchObject({ ok: false, error: { code: refusal(target) } })
  })

  it('does not receive the secret as a token endpoint', async () => {
    const issuer = own()
    answer = (url) => {
      if (url === '/mcp') return challenged(`${own()}/meta`)
      if (url === '/meta')
        return { status: 200, body: { resource: `${own()}/mcp`, authorization_servers: [issuer] } }
      return {
        status: 200,
        body: {
          issuer,
          token_endpoint: target,
          authorization_endpoint: target,
          response_types_supported: ['code'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
        },
      }
    }
    const made = await trial(`${own()}/mcp`, { auth: { ...auth, issuer } as UpstreamAuth })
    expect(made).toMatchObject({ ok: false })
    expect([refusal(target), 'authorization_failed']).toContain(made.error!.code)
    expect(asked.join('\n')).not.toContain('POST /x')
  })
})

it('opened sockets to the upstream itself and to nothing else', () => {
  expect([...dialled]).toEqual([`127.0.0.1:${site.port}`])
})
