/** Holds back, counts or loses statements of a server in this process, recognised by their text and a parameter. */
import type { Database } from '../../src/store/db/database.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { aroundStatements, type Sent } from './around-statements.ts'
import { oneLine } from './one-line.ts'

/** Which statement is meant: how it begins, what it contains, and a value among its parameters. */
export interface Which {
  begins: string
  contains?: string
  value?: string
}

function matches({ text, params }: Sent, { begins, contains = '', value }: Which): boolean {
  return (
    text.startsWith(begins) &&
    text.includes(oneLine(contains)) &&
    (value === undefined || params.some((param) => typeof param === 'string' && param.includes(value)))
  )
}

/** Runs `act` in place of the next statement that matches. */
function instead(
  db: Database,
  which: Which,
  act: (execute: () => Promise<unknown>) => Promise<unknown>,
): void {
  const stop = aroundStatements(db, (sent) => {
    if (!matches(sent, which)) return sent.execute()
    stop()
    return act(sent.execute)
  })
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
  const seen: string[] = []
  const stop = aroundStatements(db, ({ text, params, execute }) => {
    if (params.includes(value)) seen.push(text.slice(0, 60))
    return execute()
  })
  return { seen, stop }
}
