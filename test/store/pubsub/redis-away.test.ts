/** Redis is away when a server starts, or lets nobody in: it works without hints, says so, and comes back by itself. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ask } from '../../support/ask.ts'
import { buildServer } from '../../support/build.ts'
import { openCertificates } from '../../support/certificates.ts'
import { embeddedDatabase } from '../../support/databases.ts'
import { openHarness } from '../../support/harness.ts'
import { freePort } from '../../support/processes.ts'
import { startReplica } from '../../support/replica.ts'

const program = '/usr/bin/redis-server'
if (!existsSync(program))
  console.warn(`SKIPPED LOUDLY: ${program} is not installed; tests that stop Redis do not run.`)

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function startRedis(port: number, ...more: string[]) {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...more]
  const server = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  closers.push(() => server.kill())
  for await (const chunk of server.stdout as AsyncIterable<Buffer>)
    if (/Ready to accept/.test(String(chunk))) break
  return async () => {
    server.kill()
    await once(server, 'exit')
  }
}

const key = 'gh_redis_operator_0123456789012345678901234567890123456'

/** A server as a process, which reads the authorities that it is told at its start. */
async function serverIn(settings: Record<string, string>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-redis-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  await embeddedDatabase(dataDir)
  const server = startReplica((await buildServer()).entry, {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_DATA_DIR: dataDir,
    ...settings,
  })
  closers.push(() => server.stop())
  await server.ready
  return server
}

describe.skipIf(!existsSync(program))('Redis', { timeout: 180_000 }, () => {
  const isUp = async (url: string) =>
    ((await (await fetch(`${url}/readyz`)).json()) as { redis: string }).redis

  test('that is away at the start, or goes later, leaves a server that works and says so', async () => {
    const port = await freePort()
    const h = await openHarness({ redisUrl: `redis://127.0.0.1:${port}` })
    closers.push(() => h.stop())
    expect(await (await fetch(`${h.url}/readyz`)).json()).toMatchObject({ status: 'ready', redis: 'away' })
    expect((await h.mutate('createAgent', { name: 'a' }, 'agent { name }'))['agent']).toEqual({ name: 'a' })
    const stop = await startRedis(port)
    await vi.waitUntil(async () => (await isUp(h.url)) === 'up', { timeout: 90_000 })
    await stop()
    await vi.waitUntil(async () => (await isUp(h.url)) === 'away', { timeout: 90_000 })
    await startRedis(port)
    await vi.waitUntil(async () => (await isUp(h.url)) === 'up', { timeout: 90_000 })
  })

  test.each([
    ['the wrong password', ['--requirepass', 'right'], 'redis://:wrong@127.0.0.1:PORT'],
    ['no right to the channel', ['--user', 'u on >p ~* +@all resetchannels'], 'redis://u:p@127.0.0.1:PORT'],
  ])('with %s is told as being away', async (_what, options, url) => {
    const port = await freePort()
    await startRedis(port, ...options)
    const h = await openHarness({ redisUrl: url.replace('PORT', String(port)) })
    closers.push(() => h.stop())
    expect(await isUp(h.url)).toBe('away')
  })

  test('has its keys in the database that the address names, and in no other where there is none', async () => {
    const port = await freePort()
    await startRedis(port, '--databases', '4')
    const keysIn = async (number: number) => {
      const redis = new Redis(port, '127.0.0.1', { db: number })
      const keys = await redis.keys('gatehouse:*')
      redis.disconnect()
      return keys
    }
    const h = await openHarness({ redisUrl: `redis://127.0.0.1:${port}/3` })
    closers.push(() => h.stop())
    expect(await isUp(h.url)).toBe('up')
    await h.gql('{ viewer { id } }', {})
    expect(await keysIn(3)).not.toEqual([])
    const server = await serverIn({ REDIS_URL: `redis://127.0.0.1:${port}/4` })
    await vi.waitUntil(() => server.output().includes('DB index is out of range'), { timeout: 90_000 })
    expect(server.output()).toMatch(/Redis at REDIS_URL cannot be used/)
    expect(await isUp(server.url)).toBe('away')
    expect((await ask(server.url, key, '{ viewer { id } }')).data['viewer']).not.toBeNull()
    expect(await keysIn(0)).toEqual([])
  })

  test('over TLS is used with a certificate of an authority that is told, and is away with any other', async () => {
    const certificates = openCertificates()
    closers.push(() => certificates.remove())
    certificates.makeAuthority('authority')
    certificates.make('server', 'DNS:localhost', 'authority')
    const port = await freePort()
    const [cert, own, ca] = ['server.pem', 'server.key', 'authority.pem'].map(certificates.file)
    const files = ['--tls-cert-file', cert!, '--tls-key-file', own!, '--tls-ca-cert-file', ca!]
    await startRedis(port, '--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...files)
    const NODE_EXTRA_CA_CERTS = ca!
    const known = await serverIn({ REDIS_URL: `rediss://localhost:${port}/3`, NODE_EXTRA_CA_CERTS })
    expect(await isUp(known.url)).toBe('up')
    for (const [settings, cause] of [
      [{ REDIS_URL: `rediss://localhost:${port}` }, /self-signed certificate|unable to/],
      [{ REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS }, /does not match certificate/],
    ] as const) {
      const server = await serverIn(settings)
      expect(await isUp(server.url)).toBe('away')
      expect(server.output()).toMatch(/Redis at REDIS_URL cannot be used: hints are lost/)
      expect(server.output()).toMatch(cause)
      expect((await ask(server.url, key, '{ viewer { id } }')).data['viewer']).not.toBeNull()
    }
  })
})
