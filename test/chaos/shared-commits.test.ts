/**
 * Random groups of 2 to 64 commits of two replicas on the same rows (decision 54), with statements that the server refuses,
 * rows that somebody else holds and connections that are lost at any message. Whoever is told that it wrote has written once;
 * whoever is told that it did not has written nothing; two with the same proof never both.
 */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { sharingCommits } from '../../src/store/db/fast-statements.ts'
import { isOutage } from '../../src/store/db/storage-error.ts'
import { startDatabaseProxy, type DatabaseProxy } from '../support/database-proxy.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose, seededRandom } from '../support/dose.ts'
import { chaosSeed } from '../support/random.ts'

const schedules = dose(100, 10_000)
const rows = 90

interface Replica {
  proxy: DatabaseProxy
  connection: Connection
  random(): number
  below(n: number): number
}

/** One commit: a change of a row under the epoch that was read, and its entry. */
interface Commit {
  entry: string
  row: number
  epoch: number
  /** Refused by the server: a second entry of the same name, or bytes that are no text. */
  isPoison: boolean
}

async function openReplica(url: string, seed: number): Promise<Replica> {
  const proxy = await startDatabaseProxy(url)
  const connection = await connect({ kind: 'postgres', url: proxy.url, poolSize: 8 })
  const random = seededRandom(seed)
  return { proxy, connection, random, below: (n) => Math.floor(random() * n) }
}

let entries = 0

/** The epochs as a replica has read them: some are old by the time they are used, and some rows are wanted twice. */
async function readEpochs({ connection: { db } }: Replica): Promise<Map<number, number>> {
  const found = await query<{ id: number; epoch: number }>(db, sql`select id, epoch from counters`)
  return new Map(found.map(({ id, epoch }) => [id, epoch]))
}

function planned({ below, random }: Replica, epochs: Map<number, number>): Commit[] {
  return Array.from({ length: 2 + below(63) }, () => {
    const row = below(rows)
    const isPoison = random() < 0.01
    const entry = `entry ${++entries}${isPoison && random() < 0.5 ? '\0' : ''}`
    return {
      entry: isPoison && !entry.endsWith('\0') ? 'taken' : entry,
      row,
      epoch: epochs.get(row)!,
      isPoison,
    }
  })
}

const send = ({ connection: { db } }: Replica, { entry, row, epoch }: Commit) =>
  query<{ n: number }>(
    sharingCommits(db),
    sql`with g as (
        update counters set n = n + 1, epoch = epoch + 1 where id = ${row}::int and epoch = ${epoch}::int returning id, n
      ),
      e as (insert into entries (name, counter) select ${entry}, id from g)
      select n from g`,
  )

/** Ends the connection of one message among those of this schedule, before or behind it. */
function cutSomewhere({ proxy, below, random }: Replica): void {
  if (random() >= 0.15) return
  const at = proxy.statements() + 1 + below(40)
  const fate = random() < 0.5 ? 'cutBefore' : 'cutAfter'
  proxy.judge = ({ n }) => (n === at ? fate : 'pass')
}

async function runSchedule(replica: Replica): Promise<void> {
  const { proxy, connection, below, random } = replica
  const commits = planned(replica, await readEpochs(replica))
  const isHeld = random() < 0.02
  const run = () => Promise.allSettled(commits.map((commit) => send(replica, commit)))
  cutSomewhere(replica)
  let sent: ReturnType<typeof run> | undefined
  if (!isHeld) sent = run()
  else
    await atomically(connection.leaseDb, async (tx) => {
      await query(tx, sql`select 1 from counters where id = ${below(rows)}::int for update`)
      sent = run()
      await query(tx, sql`select pg_sleep(0.3)`)
    }).catch(() => {})
  const results = await (sent ?? run())
  proxy.judge = null
  await judge(replica, commits, results)
}

async function judge(
  { connection: { db } }: Replica,
  commits: Commit[],
  results: PromiseSettledResult<{ n: number }[]>[],
): Promise<void> {
  const names = commits.map(({ entry }) => entry).filter((name) => !name.includes('\0'))
  const found = await query<{ name: string }>(db, sql`select name from entries where name in ${names}`)
  const written = new Set(found.map(({ name }) => name))
  const won = new Set<string>()
  for (const [i, { entry, row, epoch, isPoison }] of commits.entries()) {
    const result = results[i]!
    const isThere = written.has(entry) && entry !== 'taken'
    if (result.status === 'fulfilled') {
      if (isPoison) expect(result.value, entry).toEqual([])
      else expect(isThere, `${entry} was told ${result.value.length} rows`).toBe(result.value.length === 1)
    } else if (!isOutage(result.reason)) {
      expect(isPoison, `${entry}: ${String(result.reason)}`).toBe(true)
      expect(isThere).toBe(false)
    }
    if (!isThere) continue
    const proof = `${row} ${epoch}`
    expect(won.has(proof), `two wrote with the proof ${proof}`).toBe(false)
    won.add(proof)
  }
}

test.runIf(hasPostgres)(
  `in ${schedules} schedules whoever wrote is told so, and nobody else`,
  { timeout: schedules * 500 },
  async () => {
    const made = await postgresDatabase()
    const replicas = [
      await openReplica(made.url, chaosSeed),
      await openReplica(made.url, chaosSeed + 1),
    ] as const
    const { db } = replicas[0].connection
    try {
      await migrate(replicas[0].connection)
      await query(
        db,
        sql`create table counters (id integer primary key, epoch integer not null, n integer not null)`,
      )
      await query(db, sql`create table entries (name text primary key, counter integer not null)`)
      await query(db, sql`insert into counters select i, 0, 0 from generate_series(0, ${rows - 1}::int) as i`)
      await query(db, sql`insert into entries values ('taken', -1)`)
      let left = schedules
      await Promise.all(
        replicas.map(async (replica) => {
          while (left-- > 0) await runSchedule(replica)
        }),
      )
      const wrong = await query(
        db,
        sql`select * from counters as c
          where n <> epoch or n <> (select count(*) from entries where counter = c.id)`,
      )
      expect(wrong).toEqual([])
    } finally {
      for (const { connection, proxy } of replicas) {
        await connection.close()
        await proxy.close()
      }
      await made.drop()
    }
  },
)
