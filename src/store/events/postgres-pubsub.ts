/** The pub/sub over PostgreSQL's LISTEN and NOTIFY, on a connection of its own. */
import { randomUUID } from 'node:crypto'
import { openSession, type Session } from '../db/postgres/session.ts'
import { wiredPubSub, type PubSub } from './pubsub.ts'

/** Replicas of the previous release use the same name. */
const channel = 'gatehouse_bell'
const connectMs = 10_000
/** A notification without a response for so long ends the connection, in milliseconds. */
const silenceMs = 5000
/** How often an idle connection is probed, in milliseconds: its loss would stay unnoticed otherwise. */
const probeMs = 5000
/** Between tries while the server is away, in milliseconds. */
const backoff = (failures: number) => Math.min(2000, 25 * 2 ** failures)

/**
 * Notifies after commit, in batches, on a side connection: a NOTIFY inside each transaction takes a lock on the whole
 * database. Needs a direct connection; behind a transaction pooler only the backstop works. Reconnects by itself.
 */
export function postgresPubSub(url: string): Promise<PubSub> {
  return wiredPubSub(randomUUID(), async (onText, onReconnect) => {
    const line = followChannel(() => listenOn(url, onText), onReconnect)
    await line.first
    return {
      maxBytes: 7900, // PostgreSQL refuses 8,000
      send: (text) => line.run('select pg_notify($1, $2)', [channel, text]),
      close: line.close,
    }
  })
}

async function listenOn(url: string, onText: (text: string) => void): Promise<Session> {
  const session = await openSession({
    url,
    applicationName: 'gatehouse pubsub',
    settings: { statement_timeout: '5000' },
    connectMs,
    silenceMs,
    onNotify: (name, text) => void (name === channel && onText(text)),
  })
  await session.run(`listen ${channel}`, [], { prepare: false, values: false })
  return session
}

/** Keeps a connection open; calls `onReconnect` each time it is back after it was lost. */
function followChannel(open: () => Promise<Session>, onReconnect: () => void) {
  let session: Session | null = null
  let closed = false
  let failures = 0
  let timer: NodeJS.Timeout | null = null
  const plain = { prepare: true, values: false }

  const connect = async () => {
    const made = await open()
    if (closed) return made.destroy()
    failures = 0
    session = made
    made.onClosed(() => {
      session = null
      retry()
    })
  }
  const retry = () => {
    if (closed) return
    timer = setTimeout(() => {
      connect().then(onReconnect, () => {
        failures++
        retry()
      })
    }, backoff(failures))
  }
  const run = async (text: string, parameters: string[]) => {
    if (!session) throw new Error('not connected')
    return session.run(text, parameters, plain)
  }
  const probe = setInterval(() => void run('select 1', []).catch(() => {}), probeMs).unref()
  return {
    first: connect().catch((error: unknown) => {
      clearInterval(probe)
      throw error
    }),
    run,
    close: async () => {
      closed = true
      clearInterval(probe)
      if (timer) clearTimeout(timer)
      await session?.end(1000)
    },
  }
}
