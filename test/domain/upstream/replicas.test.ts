/** Two replicas on one PostgreSQL: one refreshes and both read; one renews a token and both use it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from 'drizzle-orm'
import { setSecret } from '../../../src/domain/secrets/index.ts'
import { policyOfRole } from '../../../src/domain/access/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { clientSecret, protect, startAuthorizationServer } from '../../support/authorization-server.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { projectId, savedOf, saveTo } from '../../support/upstream-services.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

/** Generous, for a busy machine. */
const patience = { timeout: 90_000 }

describe.skipIf(!hasPostgres)('two replicas', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let replicas: Harness[]
  let server: ModernServer
  beforeAll(async () => {
    database = await postgresDatabase()
    replicas = [
      await openHarness({ databaseUrl: database.url }),
      await openHarness({ databaseUrl: database.url }),
    ]
    server = await startModern()
    server.tools.set('echo', { tool: { name: 'echo' }, run: () => ({ content: [] }) })
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()))
    await server.kill()
    await database.drop()
  })
  const [one, other] = [() => replicas[0]!.app.services, () => replicas[1]!.app.services]

  it('refresh an upstream once, both read its list, and both get the hint of a change', async () => {
    const saved = await saveTo(one(), server.url, { ring: true })
    const elsewhere = savedOf(other(), saved.id)
    await elsewhere.until((state) => state.status === 'CONNECTED')
    const methods = () => server.seen.map(({ method }) => method)
    await expect.poll(methods, patience).toContain('subscriptions/listen')
    // Whoever listens reads it once more.
    const before = methods().slice(0, methods().indexOf('subscriptions/listen'))
    expect(before.filter((method) => method === 'tools/list')).toHaveLength(1)
    const changed = [one(), other()].map(
      (services) =>
        new Promise<void>((resolve) => {
          const unsubscribe = services.pubsub.subscribe((hint) => {
            if (hint.kind !== 'signal' || hint.name !== 'surface') return
            unsubscribe()
            resolve()
          })
        }),
    )
    server.tools.set('second', { tool: { name: 'second' }, run: () => ({ content: [] }) })
    const told = Date.now()
    server.changed()
    await Promise.all(changed)
    // Without the notification the list is read again half a minute later.
    expect(Date.now() - told).toBeLessThan(25_000)
    expect((await elsewhere.state()).catalog.tools.map((tool) => tool.name)).toEqual(['echo', 'second'])
  })

  it.skipIf(!hasPeers)(
    'renew an expired token once, however many calls need it at the same time',
    async () => {
      const issuer = await startAuthorizationServer(`${replicas[0]!.url}/oauth/callback`)
      protect(server, issuer.issuer)
      const principal = {
        id: 'key_ada',
        name: 'Ada',
        projectId,
        installation: false,
        role: 'admin',
        policy: policyOfRole('admin'),
        expiresAt: null,
        agentId: null,
        votes: true,
      }
      await setSecret(replicas[0]!.app.ctxOf(principal), { name: 'CLIENT_SECRET', value: clientSecret })
      const auth = {
        kind: 'client_credentials' as const,
        clientId: 'service',
        clientSecret: 'CLIENT_SECRET',
        issuer: issuer.issuer,
        scopes: ['mcp:read'],
      }
      // Longer than a busy machine takes to use it, in seconds.
      issuer.ttl = 6
      const saved = await saveTo(one(), server.url, { auth })
      const elsewhere = savedOf(other(), saved.id)
      expect(await saved.refresh()).toMatchObject({ status: 'CONNECTED' })
      await elsewhere.call('echo')
      await expect
        .poll(async () => {
          const rows = await query(
            one().db,
            sql`select 1 from upstream_tokens where upstream_id = ${saved.id} and expires_at < now()`,
          )
          return rows.length
        }, patience)
        .toBe(1)
      issuer.ttl = 300
      issuer.granted.length = 0
      const calls = Array.from({ length: 8 }, (_, i) => (i % 2 ? saved : elsewhere).call('echo'))
      for (const { result } of await Promise.all(calls)) expect(result.isError).toBe(false)
      expect(issuer.granted).toHaveLength(1)
      await issuer.close()
      server.guard = null
    },
  )

  it('keep following an upstream when the replica that followed it has stopped', async () => {
    const saved = await saveTo(one(), server.url, { ring: true })
    await saved.until((state) => state.status === 'CONNECTED')
    const [row] = await query<{ listener: string }>(
      one().db,
      sql`select listener from upstreams where id = ${saved.id}`,
    )
    expect(row!.listener).not.toBeNull()
    await replicas[0]!.stop()
    server.tools.set('third', { tool: { name: 'third' }, run: () => ({ content: [] }) })
    server.changed()
    const elsewhere = savedOf(other(), saved.id)
    await elsewhere.until((state) => state.catalog.tools.some((tool) => tool.name === 'third'))
  })
})
