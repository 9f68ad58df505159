/**
 * A plan is kept until PostgreSQL has counted the table anew, which takes a minute or more: one that was made while a table
 * was small must not read all of it after it has grown.
 */
import postgres from 'postgres'
import { PgDialect } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Services } from '../../src/domain/access/index.ts'
import { insertCalls, newCall } from '../../src/domain/calls/create.ts'
import { settleHeld } from '../../src/domain/calls/settle.ts'
import { settleCalls, underLease } from '../../src/domain/tool-calls/index.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import type { Database } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import type { SQL } from '../../src/store/db/sql.ts'
import { movedGenerations } from '../../src/store/events/read.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'

const rowsWhenPlanned = 150
let connection: Connection
let reader: postgres.Sql
let drop = async () => {}

beforeAll(async () => {
  if (!hasPostgres) return
  const database = await postgresDatabase()
  drop = database.drop
  connection = await connect({ kind: 'postgres', url: database.url, poolSize: 3 })
  await migrate(connection)
  reader = postgres(database.url, { max: 1, onnotice: () => {} })
  await reader`alter table tool_calls set (autovacuum_enabled = false)`
  await reader`alter table generations set (autovacuum_enabled = false)`
  await reader`insert into tool_calls (id, project_id, source, runtime_name, status, requested_by, arguments, result)
    select 'call_' || i, 'proj_1', 'MCP', 'tool', 'SUCCEEDED', 'key_1', '{"word": "x"}', '{"isError": false}'
    from generate_series(1, ${rowsWhenPlanned}::int) i`
  await reader`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input,
      requested_by, deadline_at)
    select 'gen_' || i, 'proj_1', 'agt_1', 1, 'thr_' || i, 'COMPLETED', '{}', '[]', 'key_1', now()
    from generate_series(1, ${rowsWhenPlanned}::int) i`
})
afterAll(async () => {
  await reader?.end()
  await connection?.close()
  await drop()
})

const dialect = new PgDialect()
const done = { isError: false, content: [{ type: 'text' as const, text: 'ok' }] }

/** The plan of the only statement that `work` sends, as it is kept for any parameters. */
async function keptPlanOf(work: (db: Database) => Promise<unknown>): Promise<string> {
  const seen: { sql: string; params: unknown[] }[] = []
  const recording = { execute: async (one: SQL) => (seen.push(dialect.sqlToQuery(one)), []) }
  await work(recording as unknown as Database)
  expect(seen.length).toBe(1)
  const [{ sql: text, params }] = seen as [(typeof seen)[0]]
  return reader.begin(async (tx) => {
    await tx`set local plan_cache_mode = force_generic_plan`
    await tx.unsafe(`prepare kept as ${text}`)
    const values = params.map(() => 'null').join(', ')
    const rows = await tx.unsafe(`explain execute kept (${values})`)
    await tx`deallocate kept`
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n')
  })
}

const held = (count: number, id: string) =>
  Array.from({ length: count }, (_, i) => ({ id: `${id}_${i + 1}`, epoch: 1 }))
const outcomes = (count: number) =>
  held(count, 'call').map(({ id }) => ({ id, status: 'SUCCEEDED' as const, result: done }))

const statements: Record<string, (db: Database) => Promise<unknown>> = {
  'the outcome of a call that is settled': (db) =>
    db.execute(settleCalls('settle', outcomes(1), underLease({ id: 'call_1', epoch: 1 }))),
  'four generations that may have gone on': (db) =>
    movedGenerations(
      db,
      held(4, 'gen').map(({ id }) => ({ id, at: 1 })),
    ),
}

test.runIf(hasPostgres).each(Object.keys(statements))('%s: each row is looked up', async (name) => {
  const plan = await keptPlanOf(statements[name]!)
  expect(plan).not.toMatch(/Seq Scan on (tool_calls|generations)/)
  expect(plan).not.toMatch(/Merge Join/)
})

test.runIf(hasPostgres).each([1, 16])(
  '%i calls that begin: what each was checked against is looked up',
  async (count) => {
    const basis = { keyId: 'key_1', agentId: 'agt_1', agentVersion: 1, toolId: 'tool_1', toolVersion: 1 }
    const row = { projectId: 'proj_1', toolId: 'tool_1', agentId: 'agt_1', runtimeName: 'tool' }
    const calls = held(count, 'call').map(({ id }) =>
      newCall({ ...row, id }, { ...basis, catalogHash: '', awaitedBy: 'key_1', awaitedHash: 'x' }, []),
    )
    const limits = { leaseMs: 15_000 } as Services['limits']
    const plan = await keptPlanOf((db) => insertCalls({ db, limits }, calls))
    expect(plan).not.toMatch(/Seq Scan on (agents|tools|upstreams|api_keys|tool_calls)/)
  },
)

test.runIf(hasPostgres).each([2, 16])('%i outcomes of one moment: each call is looked up', async (count) => {
  const plan = await keptPlanOf(async (db) => {
    const services = { db, leaseDb: db }
    const endings = held(count, 'call').map((one) => ({
      call: { ...one, projectId: 'proj_1', toolId: 'tool_1', requestedBy: 'key_1', source: 'MCP' },
      held: one,
      finished: { result: done },
    }))
    await Promise.all(endings.map((ending) => settleHeld(services, ending as never).catch(() => null)))
  })
  expect(plan).not.toMatch(/Seq Scan on tool_calls/)
  expect(plan).not.toMatch(/Merge Join/)
})
