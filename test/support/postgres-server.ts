/** The PostgreSQL server of the tests, and the template that their databases are copies of. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

const server = process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'

/** Connections of one process: four workers with three processes each fit into the 100 that a server has by default. */
export const fewConnections = 8

export interface TestDatabase {
  url: string
  /** Removes it. */
  drop(): Promise<void>
}

/** Creates a database with a name of its own; with a template a copy of that. */
export async function createDatabase(template: string | null): Promise<TestDatabase> {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`
  await asServer(async (sql) => {
    // The files as they are take a sixth of the time that their pages take through the log; before 15 it is the only way.
    const [release] = await sql<[{ number: string }]>`select current_setting('server_version_num') as number`
    const strategy = Number(release.number) < 150_000 ? '' : 'strategy file_copy'
    await sql.unsafe(`create database ${name} ${template ? `template ${template} ${strategy}` : ''}`)
  })
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => asServer((sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  }
}

/** Whether the server responds. */
export const answersPostgres = (): Promise<boolean> =>
  asServer((sql) => sql`select 1`).then(
    () => true,
    () => false,
  )

async function asServer(work: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {}, connect_timeout: 3 })
  try {
    await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
