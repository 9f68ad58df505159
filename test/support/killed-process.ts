/**
 * Gatehouse as main.ts runs it, which kills itself with SIGKILL at one named point of one call. The file
 * `KILL_ORDERS` names the point and the path of the tool's URL as JSON; it may change at any time. No handler runs,
 * nothing is flushed.
 */
import { readFileSync } from 'node:fs'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { SQL } from 'drizzle-orm'
import { createApp, type App } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Database } from '../../src/store/db/database.ts'
import { aroundStatements } from './around-statements.ts'
import { oneLine } from './one-line.ts'

const orders = () =>
  JSON.parse(readFileSync(process.env['KILL_ORDERS']!, 'utf8')) as { point: string; path: string }
const die = () => process.kill(process.pid, 'SIGKILL')

function arm({ services }: App): void {
  let isCommitted = false
  const { request } = services.egress
  services.egress.request = async (input) => {
    const { point, path } = orders()
    const ours = String(input.url).endsWith(path)
    if (ours && point === 'before dispatch') die()
    const outcome = await request(input)
    if (ours && point === 'after the answer, before the commit') die()
    if (ours && point === 'after the commit, before the hint')
      for (const db of new Set([services.db, services.leaseDb]))
        afterCommit(db, settlesCall, () => (isCommitted = true))
    return outcome
  }
  const { publish } = services.pubsub
  services.pubsub.publish = (hints) => {
    if (isCommitted) die()
    publish(hints)
  }
  afterCommit(services.db, decides, () => {
    if (orders().point === 'after the decision commits') die()
  })
}

const decides = /update approvals as p set votes/
/** The outcome of a call. */
const settlesCall = /update "?tool_calls"? as t set .*"?settled_at"? = now\(\)/

/**
 * Statements and transactions run unchanged; `then` is called right after the commit of one whose text matches and
 * which returned rows.
 */
function afterCommit(db: Database, wanted: RegExp, then: () => void): void {
  const dialect = new PgDialect()
  const isWanted = (statement: SQL) => wanted.test(oneLine(dialect.sqlToQuery(statement).sql))
  aroundStatements(db, async ({ text, execute }) => {
    const result = (await execute()) as unknown[] & { rows?: unknown[] }
    // Without a row the statement wrote nothing; a verdict is given in a transaction then.
    if (wanted.test(text) && (result.rows ?? result).length > 0) then()
    return result
  })
  const begin = db.transaction.bind(db)
  db.transaction = (async (work: (tx: Database) => Promise<unknown>) => {
    let isDone = false
    const result = await begin(async (tx) => {
      const run = tx.execute.bind(tx)
      tx.execute = ((statement: SQL) => {
        isDone ||= isWanted(statement)
        return run(statement)
      }) as typeof tx.execute
      return work(tx as unknown as Database)
    })
    if (isDone) then()
    return result
  }) as typeof db.transaction
}

const app = await createApp(loadConfig())
arm(app)
process.stdout.write(`GraphQL ${app.url}/graphql\n`)
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)))
