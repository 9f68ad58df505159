/** The pub/sub over PostgreSQL's LISTEN and NOTIFY, on a connection of its own. */
import { randomUUID } from 'node:crypto'
import { openSession, type Session } from '../db/postgres/session.ts'
import { greeting, wiredPubSub, type PubSub } from './pubsub.ts'

/** Channels belong to a database, and another schema of it is another installation. */
const channelOf = (schema: string) =>
  schema === 'public' ? 'gatehouse_bell' : `gatehouse_bell_${schema}`.slice(0, 63)
const connectMs = 10_000
const applicationName = 'gatehouse pubsub'
/** A notification without a response for so long ends the connection, in milliseconds. */
const silenceMs = 5000
/** How often a connection is probed, in milliseconds: its loss would stay unnoticed otherwise. */
const probeMs = 5000
/** Whether other processes listen. Every role may read these columns. */
const othersListen = `select exists (
    select from pg_stat_activity
    where datname = current_database() and application_name = '${applicationName}' and pid <> pg_backend_pid()
  ) as others`
/** Between tries while the server is away, in milliseconds. */
const backoff = (failures: number) => Math.min(2000, 25 * 2 ** failures)

/**
 * Notifies after commit, in batches, on a side connection: a NOTIFY inside each transaction takes a lock on the whole
 * database. While no other process listens nothing is sent: whoever begins to listen sends a greeting, and every probe looks
 * for other listeners. Needs a direct connection; behind a transaction pooler only the backstop works. Reconnects by itself.
 */
export function postgresPubSub(url: string, schema = 'public'): Promise<PubSub> {
  const origin = randomUUID()
  const channel = channelOf(schema)
  return wiredPubSub(origin, async (onText, onReconnect) => {
    const listeners = trackListeners()
    const hear = (text: string) => void (onText(text) && listeners.found())
    const line = followChannel({
      open: () => listenOn(url, channel, hear),
      onReconnect,
      greet: (session) => session.run(notify, [channel, greeting(origin)], plain),
      probe: (session) => listeners.probe(session),
    })
    await line.first
    return {
      maxBytes: 7900, // PostgreSQL refuses 8,000
      send: (text) => line.run(notify, [channel, text]),
      isHeard: listeners.exist,
      close: line.close,
    }
  })
}

const notify = 'select pg_notify($1, $2)'
const plain = { prepare: true, values: false }

/** Whether other processes listen, as far as it is known. */
function trackListeners() {
  let exist = true
  let found = 0
  return {
    exist: () => exist,
    /** A message of another process has arrived. */
    found() {
      found++
      exist = true
    },
    async probe(session: Session): Promise<void> {
      const before = found
      const [row] = (await session.run(othersListen, [], plain)) as { others: boolean }[]
      // A greeting that arrives with the response is newer.
      if (found === before) exist = row!.others
    },
  }
}

async function listenOn(url: string, channel: string, onText: (text: string) => void): Promise<Session> {
  const session = await openSession({
    url,
    applicationName,
    settings: { statement_timeout: '5000' },
    connectMs,
    silenceMs,
    onNotify: (name, text) => void (name === channel && onText(text)),
  })
  await session.run(`listen ${channel}`, [], { prepare: false, values: false })
  return session
}

interface Line {
  open(): Promise<Session>
  /** Called each time the connection is back after it was lost. */
  onReconnect(): void
  /** Called with each new connection. */
  greet(session: Session): Promise<unknown>
  /** Called with the connection after `greet`, and every five seconds. */
  probe(session: Session): Promise<unknown>
}

/** Keeps a connection open. */
function followChannel({ open, onReconnect, greet, probe }: Line) {
  let session: Session | null = null
  let closed = false
  let failures = 0
  let timer: NodeJS.Timeout | null = null

  const connect = async () => {
    const made = await open()
    if (closed) return made.destroy()
    failures = 0
    session = made
    made.onClosed(() => {
      session = null
      retry()
    })
    // When these fail, the connection is lost or the next probe finds out.
    await greet(made)
      .then(() => probe(made))
      .catch(() => {})
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
  const probing = setInterval(() => session && void probe(session).catch(() => {}), probeMs).unref()
  return {
    first: connect().catch((error: unknown) => {
      clearInterval(probing)
      throw error
    }),
    run,
    close: async () => {
      closed = true
      clearInterval(probing)
      if (timer) clearTimeout(timer)
      await session?.end(1000)
    },
  }
}
