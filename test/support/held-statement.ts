/** Holds back, counts or loses statements of a server in this process, recognised by their text and a parameter. */
import { PgDialect } from 'drizzle-orm/pg-core'
import type { SQL } from 'drizzle-orm'
import type { Database } from '../../src/store/db/database.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { oneLine } from './one-line.ts'

/** Which statement is meant: how it begins, what it contains, and a value among its parameters. */
export interface Which {
  begins: string
  contains?: string
  value?: string
}

const dialect = new PgDialect()

function matches(statement: SQL, { begins, contains = '', value }: Which): boolean {
  const { sql: text, params } = dialect.sqlToQuery(statement)
  const said = oneLine(text)
  return (
    said.startsWith(begins) &&
    said.includes(oneLine(contains)) &&
    (value === undefined || params.some((param) => typeof param === 'string' && param.includes(value)))
  )
}

type Execute = (statement: SQL) => Promise<unknown>

/** Runs `act` in place of the next statement that matches. */
function instead(
  db: Database,
  which: Which,
  act: (execute: () => Promise<unknown>) => Promise<unknown>,
): void {
  const execute = db.execute.bind(db) as unknown as Execute
  const before = db.execute
  db.execute = (async (statement: SQL) => {
    if (!matches(statement, which)) return execute(statement)
    db.execute = before
    return act(() => execute(statement))
  }) as unknown as Database['execute']
}

/** Delays the response of the next statement that matches; `done` resolves when the database has executed it. */
export function holdResponse(db: Database, which: Which): { done: Promise<void>; release(): void } {
  let resolveDone = () => {}
  let release = () => {}
  const done = new Promise<void>((resolve) => (resolveDone = resolve))
  const released = new Promise<void>((resolve) => (release = resolve))
  instead(db, which, async (execute) => {
    const rows = await execute()
    resolveDone()
    await released
    return rows
  })
  return { done, release: () => release() }
}

/** Keeps the next statement that matches from the database until `release`; `arrived` resolves when it is sent. */
export function holdStatement(db: Database, which: Which): { arrived: Promise<void>; release(): void } {
  let resolveArrived = () => {}
  let release = () => {}
  const arrived = new Promise<void>((resolve) => (resolveArrived = resolve))
  const released = new Promise<void>((resolve) => (release = resolve))
  instead(db, which, async (execute) => {
    resolveArrived()
    await released
    return execute()
  })
  return { arrived, release: () => release() }
}

/** Loses the response of the next statement that matches, after the database has executed it. */
export function loseResponse(db: Database, which: Which): void {
  instead(db, which, async (execute) => {
    await execute()
    throw new ConnectionLostError()
  })
}

/** Collects the beginnings of all statements with this value among their parameters, until `stop`. */
export function watchStatements(db: Database, value: string): { seen: string[]; stop(): void } {
  const before = db.execute
  const execute = db.execute.bind(db) as unknown as Execute
  const seen: string[] = []
  db.execute = ((statement: SQL) => {
    const { sql: text, params } = dialect.sqlToQuery(statement)
    if (params.includes(value)) seen.push(oneLine(text).slice(0, 60))
    return execute(statement)
  }) as unknown as Database['execute']
  return { seen, stop: () => void (db.execute = before) }
}
