/** The client that Drizzle uses for PostgreSQL: statements over the pool, transactions over one connection of it. */
import { drizzle } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import type { Database } from '../database.ts'
import { shareCommits } from '../fast-statements.ts'
import { ConnectionLostError, sqlState } from '../storage-error.ts'
import { commit, plain, type Run, sharedCommits } from './fast-commits.ts'
import type { SessionPool } from './pool.ts'
import { writingWords, type Session } from './session.ts'

/** The part of a postgres.js client that Drizzle uses. */
interface Client {
  options: { parsers: object; serializers: object }
  unsafe(text: string, parameters?: readonly unknown[]): Query
  begin?<T>(work: (client: Client) => Promise<T>): Promise<T>
  savepoint?<T>(work: (client: Client) => Promise<T>): Promise<T>
}

/** A statement that is sent when it is awaited, as rows, or when `values` is called, as arrays of values. */
interface Query extends PromiseLike<unknown[]> {
  values(): Promise<unknown[]>
}

/** The query builder over the pool. Statements are prepared. */
export function databaseOver(pool: SessionPool): Database {
  const begin: Client['begin'] = (work) => pool.withSession((session) => transaction(session, work))
  const db = databaseOf({ ...statementsOver(repeating(pool.run.bind(pool)), true), begin })
  return shareCommits(db, databaseOf({ ...statementsOver(sharedCommits(pool), true), begin }))
}

/** How often a statement is sent again. */
const maxRepeats = 3

/** Another transaction was preferred: a serialization failure, a deadlock. Nothing was written. */
const preferred = /^(40001|40P01)$/

/**
 * Sends a statement again that another transaction has ended, and a read whose connection was lost. A write whose connection was
 * lost is not sent again: it may have been executed.
 */
function repeating(run: Run): Run {
  return async (text, parameters, options) => {
    for (let repeats = 0; ; repeats++) {
      try {
        return await run(text, parameters, options)
      } catch (error) {
        const isRead = /^\s*(select|with)\b/i.test(text) && !writingWords.test(text)
        const isHarmless =
          preferred.test(sqlState(error) ?? '') || (error instanceof ConnectionLostError && isRead)
        if (!isHarmless || repeats === maxRepeats) throw error
      }
    }
  }
}

/** The query builder over one connection, for migrations. Statements are not prepared. */
export function databaseOn(session: Session): Database {
  return databaseOf({
    ...statementsOver(session.run, false),
    begin: (work) => transaction(session, work),
  })
}

function databaseOf(client: Client): Database {
  // drizzle-orm wants all of a postgres.js client; its session uses what Client has.
  return drizzle(client as unknown as postgres.Sql)
}

function statementsOver(run: Run, prepare: boolean): Pick<Client, 'options' | 'unsafe'> {
  return {
    options: { parsers: {}, serializers: {} },
    unsafe: (text, parameters = []) => ({
      // Drizzle awaits a statement once, as rows or as values, and that sends it.
      // oxlint-disable-next-line unicorn/no-thenable
      then: (fulfilled, rejected) =>
        run(text, parameters, { prepare, values: false }).then(fulfilled, rejected),
      values: () => run(text, parameters, { prepare, values: true }),
    }),
  }
}

/**
 * One transaction on a connection of its own. A failed statement fails the transaction, also when `work` ignores the
 * error. Throws ConnectionLostError when the connection was lost before COMMIT was sent, so that nothing was committed,
 * and CommitUnknownError when it was lost after that.
 */
async function transaction<T>(session: Session, work: (client: Client) => Promise<T>): Promise<T> {
  const scope = { over: false, failure: null as { error: unknown } | null, savepoints: 0 }
  const run: Run = async (text, parameters, options) => {
    if (scope.over) throw new ConnectionLostError('The transaction of this statement is over.')
    try {
      return await session.run(text, parameters, options)
    } catch (error) {
      scope.failure ??= { error }
      throw error
    }
  }
  const client: Client = {
    ...statementsOver(run, true),
    async savepoint(inner) {
      const name = `s${++scope.savepoints}`
      await run(`savepoint ${name}`, [], plain)
      try {
        const result = await inner(client)
        await run(`release savepoint ${name}`, [], plain)
        return result
      } catch (error) {
        await run(`rollback to savepoint ${name}`, [], plain)
        scope.failure = null
        throw error
      }
    },
  }
  await session.run('begin', [], plain)
  try {
    const result = await work(client)
    if (scope.failure) throw scope.failure.error
    scope.over = true
    await commit(session)
    return result
  } catch (error) {
    scope.over = true
    if (!session.isClosed()) await session.run('rollback', [], plain).catch(session.destroy)
    throw error
  }
}
