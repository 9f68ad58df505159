/**
 * Gatehouse as main.ts runs it, which kills itself with SIGKILL at one named point of one call. The file
 * `VICTIM_ORDERS` names the point and the path of the tool's URL as JSON; it may change at any time. No handler runs,
 * nothing is flushed.
 */
import { readFileSync } from 'node:fs'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { SQL } from 'drizzle-orm'
import { createApp, type App } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Database } from '../../src/store/db/database.ts'
import { oneLine } from './one-line.ts'

const orders = () =>
  JSON.parse(readFileSync(process.env['VICTIM_ORDERS']!, 'utf8')) as { point: string; path: string }
const die = () => process.kill(process.pid, 'SIGKILL')

function arm({ services }: App): void {
  let answered = false
  const { request } = services.egress
  services.egress.request = async (input) => {
    const { point, path } = orders()
    const ours = String(input.url).endsWith(path)
    if (ours && point === 'before dispatch') die()
    const outcome = await request(input)
    if (ours && point === 'after the answer, before the commit') die()
    answered ||= ours
    return outcome
  }
  const { publish } = services.pubsub
  services.pubsub.publish = (hints) => {
    // The first hint after the response is that of the commit of the outcome.
    if (answered && orders().point === 'after the commit, before the hint') die()
    publish(hints)
  }
  dieAfterVerdict(services.db)
}

/** Statements and transactions run unchanged; the process ends right after the one with a verdict was committed. */
function dieAfterVerdict(db: Database): void {
  const dialect = new PgDialect()
  const isVerdict = (statement: SQL) =>
    oneLine(dialect.sqlToQuery(statement).sql).includes('update approvals as p set votes')
  const end = () => {
    if (orders().point === 'after the decision commits') die()
  }
  const execute = db.execute.bind(db)
  db.execute = ((statement: SQL) => {
    const running = execute(statement) as unknown as Promise<unknown[] & { rows?: unknown[] }>
    if (!isVerdict(statement)) return running
    return running.then((result) => {
      // Without a row the statement wrote nothing: the verdict is given in a transaction.
      if ((result.rows ?? result).length > 0) end()
      return result
    })
  }) as typeof db.execute
  const begin = db.transaction.bind(db)
  db.transaction = (async (work: (tx: Database) => Promise<unknown>) => {
    let verdict = false
    const result = await begin(async (tx) => {
      const run = tx.execute.bind(tx)
      tx.execute = ((statement: SQL) => {
        verdict ||= isVerdict(statement)
        return run(statement)
      }) as typeof tx.execute
      return work(tx as unknown as Database)
    })
    if (verdict) end()
    return result
  }) as typeof db.transaction
}

const app = await createApp(loadConfig())
arm(app)
process.stdout.write(`GraphQL ${app.url}/graphql\n`)
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)))
