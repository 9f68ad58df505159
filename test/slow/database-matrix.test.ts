/**
 * Each kind of PostgreSQL that people have, with the server as a process: a first start, an upgrade from the release before,
 * an approval, keys that expire, a backup and its restore; or one sentence, and nothing written.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { finished } from '../cli/command.ts'
import { ask, askMutation, mutate } from '../support/ask.ts'
import { buildReleaseBefore, buildServer } from '../support/build.ts'
import { openCertificates } from '../support/certificates.ts'
import { hasClusters, startCluster } from '../support/cluster.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import {
  accepted,
  keyPassword,
  makePlace,
  refused,
  type Accepted,
  type Place,
  type Surroundings,
  type Variant,
} from './database-variants.ts'

const key = 'gh_matrix_operator_012345678901234567890123456789012345'
const closers: (() => unknown)[] = []
let around: Surroundings
let upstream: Loopback
let programs: { now: string; before: string | null }

beforeAll(async () => {
  if (!hasClusters || !hasPgBouncer) return
  const certificates = openCertificates()
  closers.push(() => certificates.remove())
  certificates.makeAuthority('authority')
  certificates.make('server', 'DNS:localhost,IP:127.0.0.1', 'authority')
  certificates.make('client', 'DNS:client', 'authority')
  certificates.encrypt('client.key', keyPassword, 'client.locked.key')
  certificates.giveToPostgres('server.key')
  const socketDir = await mkdtemp(join(tmpdir(), 'gatehouse-socket-'))
  closers.push(() => rm(socketDir, { recursive: true, force: true }))
  await chmod(socketDir, 0o777)
  const cluster = await startCluster({
    listen_addresses: '127.0.0.1,127.0.0.2',
    unix_socket_directories: socketDir,
    max_connections: '300',
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: certificates.file('server.pem'),
    ssl_key_file: certificates.file('server.key'),
    ssl_ca_file: certificates.file('authority.pem'),
  })
  closers.push(() => cluster.remove())
  const admin = postgres(cluster.url, { max: 1 })
  await admin.unsafe('create role anon; create role authenticated')
  await admin.end()
  const [session, transaction] = [
    await startPgBouncer(cluster.url, 'session'),
    await startPgBouncer(cluster.url, 'transaction'),
  ]
  closers.push(
    () => session.close(),
    () => transaction.close(),
  )
  around = {
    cluster,
    certificates,
    socketDir,
    poolers: { session: session.url, transaction: transaction.url },
  }
  upstream = await startLoopback((_request, response) => response.writeHead(200).end('paid'))
  closers.push(() => upstream.close())
  programs = { now: (await buildServer()).entry, before: await buildReleaseBefore() }
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

async function placeOf(variant: Variant): Promise<Place> {
  const place = await makePlace(variant, around)
  closers.push(() => place.close())
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-matrix-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  const own = {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_EGRESS_ALLOW: upstream.address,
    GATEHOUSE_LOG_LEVEL: 'error',
    GATEHOUSE_DATA_DIR: dataDir,
  }
  return { ...place, settings: { ...own, ...place.settings } }
}

function startOn({ settings }: Place, program: string): Replica {
  const replica = startReplica(program, settings)
  closers.push(() => replica.kill())
  return replica
}

interface Paying {
  path: string
  generationId: string
}

/** A run whose call waits for a person, of an agent and a tool of its own. */
async function startPaying(url: string): Promise<Paying> {
  const name = `pay_${++tools}`
  const path = `/${name}`
  const config = { http: { url: `${upstream.url}${path}`, inputSchema: { type: 'object' } } }
  const gate = { autoApprove: false, timeoutSeconds: 3600 }
  const { tool } = await mutate(url, key, 'createTool', { name, gate, config }, 'tool { id }')
  // What the database refuses for its values is told as that.
  const again = await askMutation(url, key, 'createTool', { name, config }, 'tool { id }')
  expect(again.data['createTool']).toMatchObject({ code: 'NAME_TAKEN' })
  const input = { name: `payer of ${name}`, toolIds: [tool.id] }
  const { agent } = await mutate(url, key, 'createAgent', input, 'agent { id }')
  const start = { agentId: agent.id, prompt: `call ${name} {"day":"03/04/2026"}\nthen\nsay done` }
  const { generation } = await mutate(url, key, 'startGeneration', start, 'generation { id }')
  await becomes(url, generation.id, 'AWAITING_APPROVAL')
  return { path, generationId: generation.id }
}
let tools = 0

const becomes = (url: string, id: string, status: string) =>
  vi.waitUntil(async () => (await generationOf(url, id))['status'] === status, {
    timeout: 180_000,
    interval: 20,
  })
async function generationOf(url: string, id: string): Promise<Record<string, any>> {
  const query = 'query($id: ID!) { generation(id: $id) { status outputLine toolCalls { approval { id } } } }'
  const { data, errors } = await ask(url, key, query, { id })
  if (!data?.['generation']) throw new Error(JSON.stringify(errors))
  return data['generation']
}

/** Approves the call and waits for the end of the run: it was made once. */
async function approve(url: string, { path, generationId }: Paying): Promise<void> {
  const { toolCalls } = await generationOf(url, generationId)
  const approvalId = toolCalls[0].approval.id
  await mutate(url, key, 'decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
  await becomes(url, generationId, 'COMPLETED')
  expect(upstream.seen.filter((request) => request.url === path)).toHaveLength(1)
}

const viewerOf = async (url: string, secret: string) =>
  (await ask(url, secret, '{ viewer { id } }').catch(() => null))?.data?.['viewer'] ?? null

/** A key that has expired lets nobody in, one that expires later does, and its day is read as it was written. */
async function expireKeys(url: string, { admin, settings }: Place): Promise<void> {
  const expiresAt = `${new Date().getUTCFullYear() + 1}-02-03T04:05:06.789Z`
  const make = (name: string) =>
    mutate(url, key, 'createApiKey', { name, role: 'VIEWER', expiresAt }, 'secret apiKey { expiresAt }')
  const [lasting, ended] = [await make('lasting'), await make('ended')]
  expect(lasting['apiKey'].expiresAt).toBe(expiresAt)
  const schema = settings['GATEHOUSE_DATABASE_SCHEMA'] ?? 'public'
  await admin`update ${admin(schema)}.api_keys set expires_at = now() - interval '1 second' where name = 'ended'`
  expect(await viewerOf(url, ended['secret'])).toBeNull()
  expect(await viewerOf(url, lasting['secret'])).not.toBeNull()
}

/** What the release before does with an empty database: a run of it that waits; null where it does none. */
async function startBefore(place: Place, before: Accepted['before']): Promise<Paying | null> {
  if (typeof before === 'string' && before.startsWith('never')) return null
  const server = startOn(place, programs.before!)
  if (before instanceof RegExp) {
    expect(await server.exited).toMatchObject({ code: 1 })
    expect(server.output()).toMatch(before)
    return null
  }
  await server.ready
  const waiting = before === 'works' ? await startPaying(server.url) : null
  // How it ends is its own affair: what it left must go on either way.
  await server.stop()
  return waiting
}

describe.skipIf(!hasClusters || !hasPgBouncer)('PostgreSQL with', { timeout: 360_000 }, () => {
  test.concurrent.for(accepted)('$name: a first start, an approval and keys', async (variant) => {
    const place = await placeOf(variant)
    const server = startOn(place, programs.now)
    await server.ready
    await approve(server.url, await startPaying(server.url))
    await expireKeys(server.url, place)
    expect(await server.stop()).toBe(0)
  })

  test.concurrent.for(accepted)(
    '$name: an upgrade while a call waits, a backup and its restore',
    async (variant, { skip }) => {
      if (programs.before === null) skip('the release before is not here')
      const place = await placeOf(variant)
      let waiting = await startBefore(place, variant.before)
      const server = startOn(place, programs.now)
      await server.ready
      waiting ??= await startPaying(server.url)
      await approve(server.url, waiting)
      await expireKeys(server.url, place)
      const open = await startPaying(server.url)
      const folder = join(place.settings['GATEHOUSE_DATA_DIR']!, 'copy')
      expect(await finished(['backup', folder], place.settings)).toMatchObject({ code: 0, err: '' })
      expect(await server.stop()).toBe(0)

      const other = await placeOf(variant)
      expect(await finished(['restore', folder], other.settings)).toMatchObject({ code: 0, err: '' })
      const restored = startOn(other, programs.now)
      await restored.ready
      expect(await generationOf(restored.url, waiting.generationId)).toMatchObject({
        status: 'COMPLETED',
        outputLine: 'done',
      })
      await approve(restored.url, open)
      expect(await restored.stop()).toBe(0)
    },
  )

  test.concurrent.for(refused)('$name: is refused in a sentence, and nothing is written', async (variant) => {
    const place = await placeOf(variant)
    const server = startOn(place, programs.now)
    expect(await server.exited).toMatchObject({ code: 1 })
    expect(server.output()).toMatch(variant.says)
    expect(server.output()).not.toMatch(/^ +at /m)
    expect(await place.objects()).toBe(0)
  })
})
