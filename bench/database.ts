/** Databases of a measurement on the PostgreSQL server of BENCH_POSTGRES_URL. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

const server = process.env['BENCH_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'

export interface OwnDatabase {
  url: string
  drop(): Promise<void>
}

/** Creates a database with a name of its own, by default on that server. Throws when PostgreSQL does not respond. */
export async function createDatabase(on: string = server): Promise<OwnDatabase> {
  const name = `gatehouse_bench_${randomBytes(4).toString('hex')}`
  await execute(on, `create database ${name}`)
  return {
    url: Object.assign(new URL(on), { pathname: `/${name}` }).href,
    drop: () => execute(on, `drop database if exists ${name} with (force)`),
  }
}

async function execute(on: string, statement: string): Promise<void> {
  const sql = postgres(on, { max: 1, onnotice: () => {}, connect_timeout: 3 })
  await sql.unsafe(statement).finally(() => sql.end({ timeout: 1 }))
}

/** Committed and rolled back transactions of a database since its creation. Reading it adds none: it connects to another one. */
export async function transactionsOf(url: string): Promise<number> {
  const name = new URL(url).pathname.slice(1)
  const admin = Object.assign(new URL(url), { pathname: '/template1' }).href
  const sql = postgres(admin, { max: 1, onnotice: () => {} })
  try {
    const [row] = await sql<{ n: string }[]>`
      select xact_commit + xact_rollback as n from pg_stat_database where datname = ${name}`
    return Number(row!.n)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
