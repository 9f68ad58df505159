/** Frequent statements use indexes at any size of the tables, as the query plans of PostgreSQL show. */
import { eq, sql, type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conditionOf, readApprovals, type ApprovalFilter } from '../../src/domain/approvals/list.ts'
import { claimGenerations } from '../../src/domain/generations/transaction/claim.ts'
import { findRuns } from '../../src/domain/retention/find-runs.ts'
import { countProject } from '../../src/domain/statistics/project-summary.ts'
import { countStatistics } from '../../src/domain/statistics/statistics.ts'
import { loadGenerations } from '../../src/domain/generations/read.ts'
import { readEntries } from '../../src/domain/audit/index.ts'
import { loadCallsOf } from '../../src/domain/tool-calls/index.ts'
import type { Page } from '../../src/core/page.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import type { Database } from '../../src/store/db/database.ts'
import { createdWithin, isOneOf, listPage, hasWords } from '../../src/store/db/lists.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { auditEntries } from '../../src/store/db/tables/events.ts'
import { generations } from '../../src/store/db/tables/generations.ts'
import { toolCalls } from '../../src/store/db/tables/tools.ts'
import { movedFeeds, movedGenerations, readFeed, readGeneration } from '../../src/store/events/read.ts'
import { searchFeed } from '../../src/store/events/search.ts'
import { beginning } from '../../src/store/events/position.ts'
import { claim, heartbeat } from '../../src/store/work/work.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'

const rowsPerTable = 20_000
const big = ['generations', 'tool_calls', 'approvals', 'events', 'audit_entries']

let connection: Connection
let reader: postgres.Sql
let drop = async () => {}

beforeAll(async () => {
  if (!hasPostgres) return
  const database = await postgresDatabase()
  drop = database.drop
  connection = await connect({ kind: 'postgres', url: database.url, poolSize: 2 })
  await migrate(connection)
  reader = postgres(database.url, { max: 1, onnotice: () => {} })
  await fill(reader)
})
afterAll(async () => {
  await reader?.end()
  await connection?.close()
  await drop()
})

/** Five projects; most rows are old and settled, as in an installation that has been used for long. */
async function fill(db: postgres.Sql): Promise<void> {
  const n = rowsPerTable
  await db`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input,
      requested_by, deadline_at, created_at, wake_at, search)
    select 'gen_' || i, 'proj_' || i % 5, 'agt_' || i % 50, 1, 'thr_' || i % 4000,
      case when i % 400 = 0 then 'QUEUED' else 'COMPLETED' end, '{}', '[]', 'key_1', now() + interval '1 day',
      now() - i * interval '1 second', case when i % 400 = 0 then now() - interval '1 second' end,
      array_to_tsvector(array['refund', 'word' || i % 1000])
    from generate_series(1, ${n}::int) i`
  await db`insert into tool_calls (id, project_id, generation_id, step_index, call_index, source, runtime_name, status,
      requested_by, created_at, wake_at)
    select 'call_' || i, 'proj_' || i % 5, 'gen_' || i, 1, 1, 'GENERATION', 'tool',
      case when i % 1000 = 0 then 'UNKNOWN' else 'SUCCEEDED' end, 'key_1', now() - i * interval '1 second',
      case when i % 500 = 0 then now() - interval '1 second' end
    from generate_series(1, ${n}::int) i`
  await db`insert into events (project_id, generation_id, seq, type, data, commit_order, position)
    select 'proj_' || i % 5, 'gen_' || i / 20, i % 20 + 1, 'TOOL_CALL_STARTED', '{}', i, i
    from generate_series(1, ${n}::int) i`
  await db`insert into audit_entries (id, project_id, principal_id, action, resource, outcome, details, created_at)
    select 'aud_' || i, 'proj_' || i % 5, 'key_1', 'tools:Call', 'tool/1', 'EXECUTED', '{}', now() - i * interval '1 second'
    from generate_series(1, ${n}::int) i`
  await db`insert into approvals (id, project_id, tool_call_id, tool_id, tool_version, runtime_name, status, arguments,
      digest, requested_by, requirement, on_approve, expires_at, settled_at, created_at, votes, search)
    select 'apr_' || i, 'proj_' || i % 5, 'call_' || i, 'tool_1', 1, 'tool', 'APPROVED', '{}', '', 'key_1', '{}', 'RUN',
      now(), now() - i * interval '1 second', now() - i * interval '1 second' - interval '1 minute',
      '[{"by": "key_1", "verdict": "APPROVE"}]', array_to_tsvector(array['refund', 'word' || i % 1000])
    from generate_series(1, ${n}::int) i`
  await db`update generations set finished_at = created_at where status = 'COMPLETED'`
  await db`vacuum analyze`
}

interface Statement {
  text: string
  values: unknown[]
}

const dialect = new PgDialect()

/** The statements that a function sends: it gets a database that records them and returns no rows. */
async function statementsOf(work: (db: Database) => Promise<unknown>): Promise<Statement[]> {
  const seen: Statement[] = []
  const note = (statement: { sql: string; params: unknown[] }) =>
    void seen.push({ text: statement.sql, values: statement.params })
  const real = connection.db as any
  const db = new Proxy(real, {
    get(target, name) {
      if (name !== 'execute') return target[name]
      return async (statement: SQL) => {
        note(dialect.sqlToQuery(statement))
        return []
      }
    },
  })
  // Queries of the builder pass through the session, whose logger knows them.
  const session = real.session
  const prepare = session.prepareQuery
  session.prepareQuery = function (
    this: unknown,
    query: { sql: string; params: unknown[] },
    ...rest: unknown[]
  ) {
    note(query)
    return prepare.call(this, query, ...rest)
  }
  try {
    await work(db).catch(() => {})
  } finally {
    session.prepareQuery = prepare
  }
  return seen
}

/** The lines of the plan of the only statement that the function sends. */
async function planOf(work: (db: Database) => Promise<unknown>): Promise<string> {
  // What is asked when nothing was found is not the subject.
  const seen = (await statementsOf(work)).filter(({ text }) => !text.includes('removed_generations'))
  expect(seen.length).toBe(1)
  const rows = await reader.unsafe(`explain ${seen[0]!.text}`, seen[0]!.values as never[], { prepare: false })
  return rows.map((row) => row['QUERY PLAN'] as string).join('\n')
}

const before = new Date(Date.now() - 5_000_000)
const page = { limit: 21, inverted: false }
const place = { at: Date.now() - 5_000_000, id: 'gen_5000' }

const settled = (db: Database, filter: ApprovalFilter, of: Page = page) =>
  readApprovals(db, { projectId: 'proj_1', where: conditionOf(filter), page: of, orderBy: 'SETTLED_AT' })

test.skipIf(!hasPostgres)(
  'the numbering of events reads no table whole, with nothing to number and with much',
  async () => {
    for (const count of [0, 3000, 1]) {
      await reader`insert into events (project_id, type, data, commit_order)
      select 'proj_' || i % 5, 'TOOL_CREATED', '{}', i from generate_series(1, ${count}::int) i`
      await reader.begin(async (tx) => {
        const [numbered] = await tx`select number_waiting_events(false, 2000) as done`
        expect(numbered!['done']).toMatchObject({ busy: false, count: Math.min(count, 2000) })
        const [read] =
          await tx`select seq_scan::int as n, seq_tup_read::int as rows from pg_stat_xact_user_tables where relname = 'events'`
        expect(read).toEqual({ n: 0, rows: 0 })
      })
      await reader`select number_waiting_events(false, 2000)`
    }
  },
)

test.skipIf(!hasPostgres)('statistics of an hour read no table whole', async () => {
  const to = new Date()
  const range = { projectId: 'proj_1', from: new Date(to.getTime() - 3_600_000), to, size: 3_600_000 }
  const seen = await statementsOf((db) => countStatistics(db, range, 1))
  expect(seen).toHaveLength(4)
  for (const { text, values } of seen) {
    const rows = await reader.unsafe(`explain ${text}`, values as never[], { prepare: false })
    const plan = rows.map((row) => row['QUERY PLAN'] as string).join('\n')
    for (const table of big) expect(plan).not.toMatch(new RegExp(`Seq Scan on ${table}\\b`))
    expect(plan).toMatch(/(generations|approvals|tool_calls)_list/)
  }
})

describe.skipIf(!hasPostgres)('no sequential scan and no sort of a large table', () => {
  const cases: [string, (db: Database) => Promise<unknown>, RegExp, number?][] = [
    ['the first page of a list', (db) => listPage(db, generations, 'proj_1', page), /generations_list/],
    [
      'a page after a cursor',
      (db) => listPage(db, generations, 'proj_1', { ...page, after: place }),
      /generations_list/,
    ],
    [
      'a page before a cursor, from the end',
      (db) => listPage(db, generations, 'proj_1', { limit: 21, inverted: true, before: place }),
      /generations_list/,
    ],
    ['the list of tool calls', (db) => listPage(db, toolCalls, 'proj_1', page), /tool_calls_list/],
    [
      'the list of calls whose outcome is unknown',
      (db) => listPage(db, toolCalls, 'proj_1', page, sql`status = 'UNKNOWN'`),
      /tool_calls_unknown/,
    ],
    [
      'the audit',
      (db) => listPage(db, auditEntries, 'proj_1', { ...page, after: place }),
      /audit_entries_list/,
    ],
    [
      'generations that failed',
      (db) => listPage(db, generations, 'proj_1', page, isOneOf(generations.status, ['FAILED', 'EXPIRED'])),
      /generations_not_completed/,
    ],
    [
      'generations of a requester',
      (db) => listPage(db, generations, 'proj_1', page, eq(generations.requestedBy, 'key_rare')),
      /generations_by_requester/,
    ],
    [
      'generations of a range of time',
      (db) =>
        listPage(
          db,
          generations,
          'proj_1',
          page,
          createdWithin(generations, { createdAfter: new Date(place.at), createdBefore: new Date() }),
        ),
      /generations_list/,
    ],
    [
      'calls that failed',
      (db) => listPage(db, toolCalls, 'proj_1', page, isOneOf(toolCalls.status, ['ERRORED', 'INVALID'])),
      /tool_calls_by_status/,
    ],
    [
      'the audit of a principal',
      (db) => readEntries(db, 'proj_1', page, { principalId: 'key_rare' }),
      /audit_entries_by_principal/,
    ],
    [
      'the audit of an action',
      (db) => readEntries(db, 'proj_1', page, { action: 'gates:Update' }),
      /audit_entries_by_action/,
    ],
    [
      'the audit of a resource',
      (db) => readEntries(db, 'proj_1', page, { resource: 'tool/rare' }),
      /audit_entries_by_resource/,
    ],
    ['refusals', (db) => readEntries(db, 'proj_1', page, { outcome: 'DENIED' }), /audit_entries_denied/],
    ['a search for approvals', (db) => settled(db, { search: 'refund word77' }), /approvals_search\b/],
    ['a search in older approvals', (db) => settled(db, { search: 'word77' }), /approvals_search_by_name\b/],
    ['a search for an id', (db) => settled(db, { search: 'call_7' }), /approvals_by_call/],
    ['approvals of a tool', (db) => settled(db, { toolId: 'tool_rare' }), /approvals_by_tool/],
    ['approvals of an agent', (db) => settled(db, { agentId: 'agt_rare' }), /approvals_by_agent/],
    ['approvals of a requester', (db) => settled(db, { requestedBy: 'key_rare' }), /approvals_by_requester/],
    [
      'approvals that somebody decided',
      (db) => settled(db, { decidedBy: 'key_rare', verdict: 'REJECT' }),
      /approvals_by_voter/,
    ],
    [
      'approvals that were not approved',
      (db) => settled(db, { statuses: ['REJECTED', 'EXPIRED'] }),
      /approvals_not_approved/,
    ],
    [
      'a search for runs',
      (db) => listPage(db, generations, 'proj_1', page, hasWords(generations.search, ['refund', 'word77'])),
      /generations_search/,
    ],
    ['approvals by their outcome', (db) => settled(db, {}), /approvals_settled/],
    [
      'a page of approvals by their outcome',
      (db) => settled(db, {}, { ...page, after: place }),
      /approvals_settled/,
    ],
    ['the summary of a project', (db) => countProject(db, 'proj_1'), /generations_open/],
    ['nodes by id', (db) => loadGenerations(db, ['gen_1', 'gen_777', 'gen_none']), /generations_pkey/],
    ['the calls of some generations', (db) => loadCallsOf(db, ['gen_1', 'gen_2']), /tool_calls_place/],
    [
      'the claim of generations',
      (db) => claimGenerations(db, 15_000, { limit: 10, except: ['gen_held'] }),
      /generations_wake/,
    ],
    [
      'the claim of direct calls',
      (db) => claim(db, 'tool_calls', 15_000, { limit: 10, except: ['call_held'] }),
      /tool_calls_wake/,
    ],
    [
      'the heartbeat',
      (db) =>
        heartbeat(db, 'generations', 15_000, [
          { id: 'gen_1', epoch: 1 },
          { id: 'gen_2', epoch: 1 },
        ]),
      /generations_pkey/,
    ],
    [
      'events of a generation',
      (db) => readGeneration(db, 'gen_77', { at: 3, event: null }, 200),
      /events_generation/,
    ],
    [
      'finished runs that may go, by age',
      (db) => findRuns(db, { projectId: 'proj_1', before, requester: null }, null, 100),
      /generations_finished/,
    ],
    [
      'finished runs that may go, of one requester',
      (db) => findRuns(db, { projectId: 'proj_1', before, requester: 'key_2' }, null, 100),
      /generations_by_requester/,
    ],
    [
      'the generations that went on, of some',
      (db) => movedGenerations(db, [{ id: 'gen_1', at: 3 }]),
      /generations_pkey/,
    ],
    [
      'the feeds that went on, of some',
      (db) => movedFeeds(db, [{ id: 'proj_1', at: 3 }]),
      /events_project_position/,
    ],
    [
      'the feed of a project',
      (db) => readFeed(db, 'proj_1', { at: 19_000, event: null }, 200),
      /events_project_position/,
    ],
    [
      'the feed from the beginning',
      (db) => readFeed(db, 'proj_1', beginning, 200),
      /events_project_position/,
    ],
    [
      'the feed with a filter',
      (db) => readFeed(db, 'proj_1', beginning, 200, ['TOOL_CALL_STARTED']),
      /events_project_position/,
    ],
    [
      'a search in the feed',
      (db) => searchFeed(db, 'proj_1', beginning, 200, { toolId: 'tool_1', agentId: 'agt_1' }),
      /events_project_position/,
      // The part of the log that one page searches, see mostSearched.
      6000,
    ],
  ]
  test.each(cases)('%s', async (_name, work, index, mostSorted = 1000) => {
    const plan = await planOf(work)
    for (const table of big) expect(plan).not.toMatch(new RegExp(`Seq Scan on ${table}\\b`))
    expect(plan).toMatch(index)
    // A sort of a page or of a handful of calls is cheap; one of a whole project is not. An incremental one sorts rows of a moment.
    const sorted = [...plan.matchAll(/(?<!Incremental )Sort\s+\(.*?rows=(\d+)/g)].map((match) =>
      Number(match[1]),
    )
    for (const rows of sorted) expect(rows).toBeLessThanOrEqual(mostSorted)
  })
})
