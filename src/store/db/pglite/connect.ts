/** Opens the embedded database, on a directory or in memory, for the client that Drizzle uses. */
import { PGlite, type QueryOptions, type Results, type Transaction, types } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import type { Database } from '../database.ts'
import { preparedStatements, type Statements } from './statements.ts'
import type { Socket } from 'node:net'
import { readForeignJson } from '../../../core/json.ts'
import { embeddedHealth, type Connection, type DatabaseAddress } from '../connection.ts'
import { lockDirectory } from './directory-lock.ts'
import { initialiseDirectory } from './initialise.ts'
import { serveProcesses, type AnswerProcess } from './processes.ts'

type Query = (text: string, values?: unknown[], options?: QueryOptions) => Promise<Results<object>>

/** The part of a PGlite that Drizzle uses. */
interface Client {
  query: Query
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A longer statement is hardly sent twice: it has a list of values of its own. */
const longestPrepared = 32_768
/** What has a plan. Everything else, such as the statements of a migration, goes the way of PGlite. */
const planned = /^[\s(]*(select|with|insert|update|delete)\b/i

/** The query builder over an embedded database. `onStatement` is called before each statement. */
export function databaseOverPglite(client: PGlite, onStatement: () => void): Database {
  // drizzle-orm wants all of a PGlite; its session uses what Client has.
  return drizzle(clientOver(client) as unknown as PGlite, { logger: { logQuery: onStatement } })
}

function clientOver(client: PGlite): Client {
  const statements = preparedStatements(client)
  return {
    query: preparing(statements, {
      otherwise: (...statement) => client.query(...statement),
      check: () => client._checkReady(),
      exclusively: (run) => client._runExclusiveTransaction(() => client._runExclusiveQuery(run)),
      open: false,
    }),
    transaction: (work) =>
      client.transaction((tx) => {
        const query = preparing(statements, {
          otherwise: tx.query,
          check: async () => {
            if (tx.closed) throw new Error('Transaction is closed')
          },
          exclusively: (run) => client._runExclusiveQuery(run),
          open: true,
        })
        return work(Object.assign(tx, { query }) as Transaction)
      }),
    close: () => client.close(),
  }
}

/** Where statements run: on the client, or in a transaction. */
interface Place {
  /** Runs what is not prepared. */
  otherwise: Query
  /** Throws when no statement can run. */
  check(): Promise<void>
  /** Takes the locks that PGlite takes for a statement of its own. */
  exclusively<T>(run: () => Promise<T>): Promise<T>
  /** Whether a transaction is open. */
  open: boolean
}

function preparing(statements: Statements, { otherwise, check, exclusively, open }: Place): Query {
  return async (text, values = [], options = {}) => {
    if (text.length > longestPrepared || !planned.test(text)) return otherwise(text, values, options)
    await check()
    return exclusively(() => statements.run(text, values, options, open))
  }
}

/**
 * A quarter of PostgreSQL's default: the process holds the buffers itself, and the system caches the files beneath them.
 * The resident memory is a hundred megabytes smaller, at the same speed.
 */
const embedded = {
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'],
  parsers: { [types.JSON]: readForeignJson, [types.JSONB]: readForeignJson },
}

/** Connects; see `connect`. */
export async function connectEmbedded(
  address: Exclude<DatabaseAddress, { kind: 'postgres' }>,
): Promise<Connection> {
  if (address.kind === 'memory')
    return connectionOver(
      await PGlite.create({ ...embedded, ...(address.dump ? { loadDataDir: address.dump } : {}) }),
    )
  // A process that asks before the database is open gets no response.
  let answer = (socket: Socket): void => void socket.destroy()
  const unlock = await lockDirectory(address.directory, (socket) => answer(socket))
  try {
    await initialiseDirectory(address.directory)
    const client = await PGlite.create(address.directory, embedded)
    let answerProcess: AnswerProcess | null = null
    answer = serveProcesses(client, () => answerProcess)
    return { ...connectionOver(client, unlock), answerProcesses: (given) => void (answerProcess = given) }
  } catch (error) {
    await unlock()
    throw error
  }
}

function connectionOver(client: PGlite, unlock: () => Promise<void> = async () => {}): Connection {
  let statements = 0
  const db = databaseOverPglite(client, () => void statements++)
  return {
    db,
    leaseDb: db,
    kind: 'pglite',
    schema: 'public',
    statementCount: () => statements,
    openSession: null,
    openPooled: null,
    answerProcesses: null,
    health: embeddedHealth(db),
    close: async () => {
      if (!client.closed) await client.close()
      await unlock()
    },
  }
}
