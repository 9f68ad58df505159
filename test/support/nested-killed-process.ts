/**
 * Gatehouse as main.ts runs it, which kills itself with SIGKILL at one named point in the life of a child run. The file
 * `KILL_ORDERS` names the point as JSON; it may change at any time. No handler runs, nothing is flushed.
 */
import { readFileSync } from 'node:fs'
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Database } from '../../src/store/db/database.ts'
import { oneLine } from './one-line.ts'

const ordered = (point: string) =>
  (JSON.parse(readFileSync(process.env['KILL_ORDERS']!, 'utf8')) as { point: string }).point === point
const dieAt = (point: string) => ordered(point) && process.kill(process.pid, 'SIGKILL')

const dialect = new PgDialect()
/** The statement that inserts call and run, and the one that settles the parent's call. */
const kinds = [
  { kind: 'start', is: (text: string) => text.includes('parent_call_id, root_id') },
  {
    kind: 'end',
    is: (text: string) => text.includes('c as (update tool_calls as t') && text.includes('l as ('),
  },
]

function arm(db: Database): void {
  const begin = db.transaction.bind(db)
  db.transaction = (async (work: (tx: Database) => Promise<unknown>) => {
    let seen: string | null = null
    const result = await begin(async (tx) => {
      const run = tx.execute.bind(tx)
      tx.execute = (async (statement: SQL) => {
        const text = oneLine(dialect.sqlToQuery(statement).sql)
        const kind = kinds.find((one) => one.is(text))?.kind
        if (kind) dieAt(`before the statement of the ${kind}`)
        const answer = await run(statement)
        if (kind) dieAt(`after the statement of the ${kind}, before its commit`)
        seen = kind ?? seen
        return answer
      }) as unknown as typeof tx.execute
      return work(tx as unknown as Database)
    })
    if (seen) dieAt(`after the commit of the ${seen}, before the hint`)
    return result
  }) as typeof db.transaction
}

const app = await createApp(loadConfig())
arm(app.services.db)
process.stdout.write(`GraphQL ${app.url}/graphql\n`)
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)))
