/** The bell over PostgreSQL's LISTEN and NOTIFY, on connections of its own. */
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { wiredBell, type Bell } from './bell.ts'

const channel = 'gatehouse_bell'

/**
 * Notifies after commit, in batches, on a side connection: a NOTIFY inside each transaction takes a lock on the whole
 * database. Needs a direct connection; behind a transaction pooler only the backstop works. Reconnects by itself.
 */
export function postgresBell(url: string): Promise<Bell> {
  return wiredBell(randomUUID(), async (onText, onReconnect) => {
    const sql = postgres(url, {
      max: 1,
      onnotice: () => {},
      fetch_types: false, // see store/db/connect.ts
      backoff: (tries) => Math.min(2, 0.05 * 2 ** tries),
      connection: { application_name: 'gatehouse bell' },
    })
    let first = true
    await sql.listen(channel, onText, () => {
      if (!first) onReconnect()
      first = false
    })
    return {
      maxBytes: 7900, // PostgreSQL refuses 8,000
      send: (text) => sql.notify(channel, text),
      close: () => sql.end({ timeout: 1 }),
    }
  })
}
