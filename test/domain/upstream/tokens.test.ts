/** Tokens of an upstream that are stored while others store some too, or while it becomes another server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from 'drizzle-orm'
import { seal } from '../../../src/domain/secrets/index.ts'
import type { UpstreamAuth } from '../../../src/domain/upstream/index.ts'
import { databaseTokenStore } from '../../../src/domain/upstream/oauth/tokens.ts'
import { atomically, query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { projectId, saveTo } from '../../support/upstream-services.ts'

const auth: UpstreamAuth = {
  kind: 'authorization_code',
  clientId: 'people',
  clientSecret: null,
  issuer: null,
  scopes: [],
  allowedScopes: [],
}
const token = (text: string) => ({ access_token: text, token_type: 'bearer', refresh_token: `again ${text}` })

describe.skipIf(!hasPostgres)('tokens', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let h: Harness
  beforeAll(async () => {
    database = await postgresDatabase()
    h = await openHarness({ databaseUrl: database.url })
  })
  afterAll(async () => {
    await h.stop()
    await database.drop()
  })

  it('that another replica has just renewed are not overwritten with those before', async () => {
    const { services } = h.app
    const url = 'http://127.0.0.1:9/mcp'
    const { id } = await saveTo(services, url, { auth })
    const store = databaseTokenStore(services, { id, projectId, config: { url, headers: {}, auth } })
    await store.save({ tokens: token('old') })
    let noting = Promise.resolve()
    await atomically(services.db, async (tx) => {
      await query(tx, sql`select 1 from upstream_tokens where upstream_id = ${id} for update`)
      noting = store.save({ metadataUrl: 'http://127.0.0.1:9/metadata' })
      await expect
        .poll(() =>
          query(
            services.leaseDb,
            sql`select 1 as one from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock' and query like '%upstream_tokens%'`,
          ),
        )
        .toEqual([{ one: 1 }])
      const sealed = seal(
        services.masterKey,
        JSON.stringify({ tokens: token('new'), wanted: [] }),
        `upstream/${id}`,
      )
      await query(
        tx,
        sql`update upstream_tokens set sealed = ${sealed}, version = version + 1 where upstream_id = ${id}`,
      )
    })
    await noting
    expect(await store.read()).toMatchObject({
      tokens: token('new'),
      metadataUrl: 'http://127.0.0.1:9/metadata',
    })
  })

  it('of a login that ends after the upstream became another server are not sent there', async () => {
    const { services } = h.app
    const other = await startLoopback((_request, response) => response.writeHead(500).end())
    const url = 'http://127.0.0.1:9/mcp'
    const { id } = await saveTo(services, url, { auth })
    const store = databaseTokenStore(services, { id, projectId, config: { url, headers: {}, auth } })
    const now = await saveTo(services, `${other.url}/mcp`, { id, auth })
    await expect(store.save({ tokens: token('of-the-first-server') })).rejects.toThrow('changed meanwhile')
    await now.call('pay')
    expect(other.seen.length).toBeGreaterThan(0)
    expect(other.seen.map(({ headers }) => headers.authorization)).toEqual(other.seen.map(() => undefined))
    await other.close()
  })
})
