/** Opens the database: embedded PGlite on a directory (or in memory), or PostgreSQL by address. */
import { PGlite } from '@electric-sql/pglite'
import { drizzle as overPglite } from 'drizzle-orm/pglite'
import { drizzle as overPostgres } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import type { Database } from './database.ts'
import { lockDirectory } from './directory-lock.ts'
import { initialiseDirectory } from './initialise.ts'

export interface Connection {
  db: Database
  kind: 'pglite' | 'postgres'
  /** The driver beneath, for LISTEN and reserved connections; null on PGlite. */
  sql: postgres.Sql | null
  close(): Promise<void>
}

export type DatabaseAddress =
  | { kind: 'postgres'; url: string; poolSize: number }
  | { kind: 'pglite'; directory: string }
  /** In memory, from a dump of a migrated database when there is one. */
  | { kind: 'memory'; dump?: Blob }

/**
 * Connects. For PGlite on a directory this takes the directory's lock, so that a second process is refused with a
 * clear error instead of corrupting it, and does the first initialisation in a child process, whose memory
 * (over 700 MB at its peak) is then given back.
 */
export async function connect(address: DatabaseAddress): Promise<Connection> {
  if (address.kind === 'postgres') return connectPostgres(address)
  if (address.kind === 'memory')
    return connectPglite(await PGlite.create(address.dump ? { loadDataDir: address.dump } : {}))
  const unlock = await lockDirectory(address.directory)
  try {
    await initialiseDirectory(address.directory)
    return connectPglite(await PGlite.create(address.directory), unlock)
  } catch (error) {
    await unlock()
    throw error
  }
}

function connectPglite(client: PGlite, unlock: () => Promise<void> = async () => {}): Connection {
  return {
    db: overPglite(client) as unknown as Database,
    kind: 'pglite',
    sql: null,
    close: async () => {
      if (!client.closed) await client.close()
      await unlock()
    },
  }
}

function connectPostgres(address: { url: string; poolSize: number }): Connection {
  const sql = postgres(address.url, {
    max: address.poolSize,
    onnotice: () => {},
    connect_timeout: 10, // seconds
    // Nothing here uses arrays, and a connection that is cut while it looks up their types would end the process.
    fetch_types: false,
    // Seconds between tries after the server went away; short, so that a restarted database is found at once.
    backoff: (tries) => Math.min(2, 0.05 * 2 ** tries),
    connection: { application_name: 'gatehouse', timezone: 'UTC' },
  })
  return {
    db: overPostgres(preparing(sql)) as unknown as Database,
    kind: 'postgres',
    sql,
    close: () => sql.end({ timeout: 2 }),
  }
}

/**
 * The same client, but what Drizzle runs is prepared once on each connection: one round trip instead of two, and the
 * server plans it once. Drizzle uses `unsafe`, which prepares only when it is told to.
 */
function preparing<Client extends postgres.Sql>(sql: Client): Client {
  const unsafe = sql.unsafe.bind(sql) as (query: string, parameters: unknown, options?: object) => unknown
  const begin = sql.begin?.bind(sql) as unknown as
    undefined | ((work: (tx: postgres.Sql) => unknown) => unknown)
  return Object.assign(sql, {
    unsafe: (query: string, parameters: unknown, options?: object) =>
      unsafe(query, parameters, { prepare: true, ...options }),
    ...(begin ? { begin: (work: (tx: postgres.Sql) => unknown) => begin((tx) => work(preparing(tx))) } : {}),
  })
}
