/** One or more replicas over one database, in this process, for races of simultaneous decisions. */
import { query, type Database } from '../../src/store/db/database.ts'
import { sql } from 'drizzle-orm'
import type { Config } from '../../src/config.ts'
import { adminKey, openHarness, type Harness } from './harness.ts'
import { postgresDatabase, type DatabaseKind } from './databases.ts'
import { makeFixtures, objectSchema, type Fixtures } from './fixtures.ts'

export interface Deployment {
  replicas: Harness[]
  databaseUrl: string | null
  fixtures: Fixtures
  /** Rows by raw SQL, for what no API shows. */
  rows<Row = Record<string, any>>(text: string): Promise<Row[]>
  /** A POST tool `pay` behind a gate and an agent with it. */
  payer(gate: object, more?: object): Promise<{ toolId: string; agentId: string }>
  close(): Promise<void>
}

/** PGlite: one server on an embedded database. PostgreSQL: two servers, or so many, on a database of their own. */
export async function openDeployment(
  kind: DatabaseKind,
  config: Partial<Config> = {},
  many = 2,
): Promise<Deployment> {
  const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
  const opening = database
    ? Array.from({ length: many }, () => openHarness({ ...config, databaseUrl: database.url }))
    : [openHarness({ ...config, databaseUrl: null })]
  const replicas = await Promise.all(opening)
  const [first] = replicas
  const fixtures = await makeFixtures(first!)
  const db: Database = first!.app.services.db
  let made = 0
  return {
    replicas,
    databaseUrl: database?.url ?? null,
    fixtures,
    rows: (text) => query(db, sql.raw(text)),
    async payer(gate, more = {}) {
      const inputSchema = objectSchema({ n: { type: 'string' }, amount: { type: 'number' } }, ['n'])
      const http = { url: `${fixtures.upstream.url}/pay`, inputSchema }
      const name = made++ === 0 ? 'pay' : `pay_${made}`
      const { tool, message } = await first!.mutate(
        'createTool',
        { name, gate, config: { http }, ...more },
        'tool { id }',
        adminKey,
      )
      if (!tool) throw new Error(message)
      return { toolId: tool.id, agentId: await fixtures.agent({ toolIds: [tool.id] }) }
    },
    async close() {
      await fixtures.close()
      await Promise.all(replicas.map((one) => one.stop()))
      await database?.drop()
    },
  }
}
