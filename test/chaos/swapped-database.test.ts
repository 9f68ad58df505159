/** The database under a running server is replaced by that of another installation, under the same address. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, emptyPostgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasPostgres)('two databases are swapped', () => {
  type Database = Awaited<ReturnType<typeof emptyPostgresDatabase>>
  let mine: Database
  let theirs: Database
  let h: Harness
  let server: postgres.Sql

  beforeAll(async () => {
    ;[mine, theirs] = await Promise.all([emptyPostgresDatabase(), emptyPostgresDatabase()])
    await (await openHarness({ databaseUrl: theirs.url })).stop()
    h = await openHarness({ databaseUrl: mine.url })
    const url = new URL(mine.url)
    url.pathname = '/postgres'
    server = postgres(url.href, { max: 1, onnotice: () => {} })
  })
  afterAll(async () => {
    await h?.stop()
    await server?.end({ timeout: 1 })
    await Promise.all([mine?.drop(), theirs?.drop()])
  })

  /** Gives each the name of the other, and cuts everybody off. */
  async function swap(): Promise<void> {
    const [a, b] = [mine, theirs].map(({ url }) => new URL(url).pathname.slice(1)) as [string, string]
    const rename = async (from: string, to: string) => {
      await server.unsafe(`alter database ${from} allow_connections false`)
      for (;;) {
        await server`select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = ${from}`
        const done = await server.unsafe(`alter database ${from} rename to ${to}`).catch(() => null)
        if (done) return
      }
    }
    await rename(a, `${a}_away`)
    await rename(b, a)
    await rename(`${a}_away`, b)
    for (const name of [a, b]) await server.unsafe(`alter database ${name} allow_connections true`)
  }

  /** All that a server may write by itself or by a request. */
  async function contentsOf(database: Database): Promise<unknown> {
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    try {
      const [row] =
        await sql`select (select count(*) from tools) as tools, (select count(*) from audit_entries) as audit,
        (select count(*) from events) as events, to_jsonb(i) as installation from installation i`
      return row
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  const create = (name: string) =>
    h.gql('mutation($i: CreateToolInput!) { createTool(input: $i) { ... on ToolPayload { tool { id } } } }', {
      i: { name, config: { client: { inputSchema: { type: 'object' } } } },
    })

  test('the server writes nothing into the other one, and goes on when its own is back', async () => {
    expect((await create('before')).data['createTool'].tool.id).toBeTruthy()
    const untouched = await contentsOf(theirs)
    await swap()
    // The key of the operator is valid in both: that alone would let the request pass.
    for (let i = 0; i < 3; i++) {
      const { status, errors } = await create('astray')
      expect({ status, code: errors?.[0]?.extensions?.['code'] }).toEqual({
        status: 503,
        code: 'UNAVAILABLE',
      })
    }
    expect((await fetch(`${h.url}/readyz`)).status).toBe(503)
    await swap()
    expect(await contentsOf(theirs)).toEqual(untouched)
    await expect.poll(async () => (await create('after')).status).toBe(200)
  })
})
