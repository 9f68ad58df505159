/**
 * One connection to PostgreSQL, which never reconnects. postgres.js 3.4.9 corrupts its protocol state when a connection
 * in use ends: it writes to the closed socket, or keeps half a message for the next one. So every connection has a
 * client of its own, which is discarded with its socket. See docs/decisions/0016.
 */
import { connect as connectSocket, type Socket } from 'node:net'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { ConnectionLostError, NoConnectionError } from '../storage-error.ts'

/** How one statement is sent. */
export interface Manner {
  /** Whether it is a prepared statement, parsed and planned once for each connection. */
  prepare: boolean
  /** Whether rows are arrays of values. */
  values: boolean
}

export interface SessionOptions {
  url: string
  applicationName: string
  /** Server settings of the session, such as `lock_timeout`. */
  settings: Readonly<Record<string, string>>
  /** Time limit for connecting and logging in, in milliseconds. */
  connectMs: number
  /** The connection is closed when a statement gets no response for so long, in milliseconds; null: no limit. */
  silenceMs: number | null
  /** Called with the payload of each NOTIFY on the channels that this session listens to. */
  onNotify?(channel: string, text: string): void
}

export interface Session {
  /** Runs one statement. Concurrent statements are executed in the order in which they were sent. */
  run(text: string, parameters: readonly unknown[], manner: Manner): Promise<unknown[]>
  /** The number of statements without a response. */
  inFlight(): number
  isClosed(): boolean
  /** The number of different prepared statements. */
  prepared(): number
  openedAt: number
  /** Calls back once when the connection has ended, for any reason. */
  onClosed(act: () => void): void
  /** Closes the connection at once; statements in flight fail with ConnectionLostError. */
  destroy(): void
  /** Closes the connection after the statements in flight, for which it waits at most `ms`. */
  end(ms: number): Promise<void>
}

interface Flight {
  reject(error: unknown): void
  since: number
}

const watchMs = 1000

/**
 * Connects and logs in. Throws NoConnectionError, with the server's error as cause, when that fails or takes too long.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const made = prepareClient(options)
  const socket = await openSocket(made.hosts(), options.connectMs)
  const session = sessionOver(made.client(socket), socket, options)
  const late = setTimeout(session.destroy, options.connectMs)
  try {
    await session.run('select 1', [], { prepare: false, values: false })
    return session
  } catch (error) {
    session.destroy()
    throw new NoConnectionError('No connection to the database could be opened.', error)
  } finally {
    clearTimeout(late)
  }
}

type Client = postgres.Sql & { onClosed(act: () => void): void }

/** The client of the driver, which uses the one socket that it is given. */
function prepareClient(options: SessionOptions) {
  let socket: Socket | null = null
  const closed: (() => void)[] = []
  const sql = postgres(options.url, {
    max: 1,
    onnotice: () => {},
    onclose: () => closed.splice(0).forEach((act) => act()),
    ...(options.onNotify ? { onnotify: options.onNotify } : {}),
    connect_timeout: options.connectMs / 1000,
    idle_timeout: 0,
    max_lifetime: 0,
    // Gatehouse uses no array types that the driver would have to look up.
    fetch_types: false,
    backoff: () => 0,
    connection: { application_name: options.applicationName, timezone: 'UTC', ...options.settings },
    socket: () => {
      const one = socket
      socket = null
      if (!one || one.destroyed) throw new ConnectionLostError()
      return one
    },
  } as postgres.Options<{}>)
  // Drizzle reads timestamps as text, and configures the client for that when it is created.
  drizzle(sql)
  const { host, port, path } = sql.options as typeof sql.options & { path?: unknown }
  return {
    hosts: () =>
      typeof path === 'string' ? [{ path }] : host.map((name, i) => ({ host: name, port: port[i] ?? 5432 })),
    client(own: Socket): Client {
      socket = own
      return Object.assign(sql, { onClosed: (act: () => void) => void closed.push(act) })
    },
  }
}

type Address = { path: string } | { host: string; port: number }

/** Connects to the first server that accepts a connection. */
async function openSocket(addresses: Address[], connectMs: number): Promise<Socket> {
  let failure: unknown = null
  for (const address of addresses) {
    try {
      return await openOne(address, connectMs)
    } catch (error) {
      failure = error
    }
  }
  throw new NoConnectionError('The database server accepts no connection.', failure)
}

function openOne(address: Address, connectMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({
      ...address,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 10_000,
    })
    // TLS verifies the certificate against this host.
    Object.assign(socket, address)
    const late = setTimeout(
      () => socket.destroy(new Error(`No connection within ${connectMs} ms.`)),
      connectMs,
    )
    socket.once('error', (error) => {
      clearTimeout(late)
      reject(error)
    })
    socket.once('connect', () => {
      clearTimeout(late)
      // The driver listens a timer later. A connection that is reset before would end the process.
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

function sessionOver(sql: Client, socket: Socket, { silenceMs }: SessionOptions): Session {
  const flights = new Set<Flight>()
  const texts = new Set<string>()
  const listeners: (() => void)[] = []
  let closed = false

  const close = () => {
    if (closed) return
    closed = true
    if (watch) clearInterval(watch)
    for (const flight of flights) flight.reject(new ConnectionLostError())
    flights.clear()
    for (const act of listeners.splice(0)) act()
    // Frees the state of the driver; sends nothing.
    sql.end({ timeout: 0 }).catch(() => {})
  }
  const destroy = () => {
    socket.destroy()
    close()
  }
  const endIfSilent = (ms: number) => void (isSilent(flights, ms) && destroy())
  const watch = silenceMs === null ? null : setInterval(endIfSilent, watchMs, silenceMs).unref()
  sql.onClosed(close)

  return {
    openedAt: performance.now(),
    run(text, parameters, { prepare, values }) {
      if (closed) return Promise.reject(new ConnectionLostError())
      if (prepare) texts.add(text)
      return new Promise((resolve, reject) => {
        const flight: Flight = { reject, since: performance.now() }
        flights.add(flight)
        // Without parameters the driver would use the simple protocol, which plans the statement each time.
        const query = sql.unsafe(text, parameters as postgres.ParameterOrJSON<never>[], {
          prepare,
          ...(prepare ? { simple: false } : {}),
        })
        const done = values ? query.values() : query
        done.then(
          (rows: unknown) => {
            flights.delete(flight)
            resolve(rows as unknown[])
          },
          (error: unknown) => {
            flights.delete(flight)
            reject(closed || isLost(error) ? new ConnectionLostError(undefined, error) : error)
          },
        )
      })
    },
    inFlight: () => flights.size,
    isClosed: () => closed,
    prepared: () => texts.size,
    onClosed: (act) => void (closed ? act() : listeners.push(act)),
    destroy,
    async end(ms) {
      if (closed) return
      await sql.end({ timeout: ms / 1000 }).catch(() => {})
      close()
    },
  }
}

/** Whether the oldest statement has had no response for longer than this. */
function isSilent(flights: Set<Flight>, milliseconds: number): boolean {
  const oldest = flights.values().next().value
  return oldest !== undefined && performance.now() - oldest.since > milliseconds
}

/** Whether the outcome of a statement is unknown: an error of the driver, the socket, or a server that shuts down. */
function isLost(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return true
  return /^(57P0[1-5]|25P03)$/.test(error.code)
}
