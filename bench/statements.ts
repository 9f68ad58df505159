/** Counts the statements, transactions and bytes of a unit, from the log of a PostgreSQL cluster of its own. */
import postgres from 'postgres'
import { hasClusters, startCluster } from '../test/support/cluster.ts'
import { transactionsOf } from './database.ts'
import { report, type Row } from './report.ts'
import { openServer } from './server.ts'
import { labelOf, logSettings, statementsOf, type LoggedStatement } from './statement-log.ts'
import { inLanes, pause } from './statistics.ts'
import { unitsOn } from './unit.ts'

const total = 100

export async function measureStatements(): Promise<void> {
  if (!hasClusters) return console.error('No programs of PostgreSQL here: statements are not counted.')
  const cluster = await startCluster(logSettings)
  const admin = postgres(cluster.url, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: 'bench' },
  })
  await admin.unsafe('create database units')
  const databaseUrl = Object.assign(new URL(cluster.url), { pathname: '/units' }).href
  const server = await openServer('postgres', { databaseUrl })
  const units = await unitsOn(server)
  await inLanes(50, 1, units.one)
  const rows: Row[] = []
  let groups: Row[] = []
  for (const concurrency of [1, 32]) {
    await pause(1500)
    const before = await stateOf()
    await inLanes(total, concurrency, units.one)
    // The server reports transactions of idle sessions within a second.
    await pause(1500)
    const after = await stateOf()
    const statements = statementsOf((await cluster.log()).slice(before.length)).filter(
      (one) => one.application !== 'bench',
    )
    if (concurrency === 1) groups = groupsOf(statements)
    rows.push({
      case: concurrency === 1 ? 'one by one' : `${concurrency} at once`,
      figures: {
        statements: statements.length / total,
        'not prepared': statements.filter((one) => !one.prepared).length / total,
        'bytes of statements and parameters': statements.reduce((sum, one) => sum + one.bytes, 0) / total,
        transactions: (after.transactions - before.transactions) / total,
        'bytes of WAL': (after.wal - before.wal) / total,
      },
    })
  }
  async function stateOf() {
    const [row] = await admin<{ wal: string }[]>`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`
    return {
      wal: Number(row!.wal),
      transactions: await transactionsOf(databaseUrl),
      length: (await cluster.log()).length,
    }
  }
  await units.close()
  await server.close()
  await admin.end()
  await cluster.remove()
  report('statements', 'For one unit, from the log of PostgreSQL (with what the workers do meanwhile)', rows)
  report('statements', 'The statements of a unit, one by one', groups)
}

/** How often each kind of statement runs in a unit, the most frequent first. */
function groupsOf(statements: LoggedStatement[]): Row[] {
  const counts = new Map<string, number>()
  for (const { text } of statements) counts.set(labelOf(text), (counts.get(labelOf(text)) ?? 0) + 1)
  return [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .filter(([, count]) => count >= total / 10)
    .map(([label, count]) => ({ case: label, figures: { 'a unit': count / total } }))
}
