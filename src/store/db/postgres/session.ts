/**
 * One connection to PostgreSQL, which never reconnects. postgres.js 3.4.9 corrupts its protocol state when a connection
 * in use ends: it writes to the closed socket, or keeps half a message for the next one. So every connection has a
 * client of its own, which is discarded with its socket. See docs/decisions/0016.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Socket } from 'node:net'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { readForeignJson, writeJson } from '../../../core/json.ts'
import { ConnectionLostError, NoConnectionError } from '../storage-error.ts'
import { readAddress, type Address, type ServerAddress } from './address.ts'
import { sessionSettings } from '../session-settings.ts'
import { openSocket } from './socket.ts'

/** A server that says nothing for so long is waited for beside the next one, in milliseconds. */
const silentMs = 1000

/**
 * Opens the servers in order, the next one as soon as one has failed, and also when it has said nothing for a second: a
 * machine that hangs accepts connections and never answers. Returns the first that opens; `discard` gets those that open
 * later. Throws the error of the last server when none does.
 */
async function firstHost<Host, Opened>(
  hosts: readonly Host[],
  open: (host: Host) => Promise<Opened>,
  discard: (late: Opened) => void,
): Promise<Opened> {
  const tries: Promise<Opened>[] = []
  for (const host of hosts) {
    tries.push(open(host))
    const said = await Promise.race([
      Promise.any(tries).then(
        () => 'opened',
        () => 'all failed',
      ),
      tries.at(-1)!.then(
        () => 'opened',
        () => 'failed',
      ),
      pause(silentMs, 'silent', { ref: false }),
    ])
    if (said === 'opened') break
  }
  const opened = await Promise.any(tries).catch((error: AggregateError) =>
    Promise.reject(error.errors.at(-1)),
  )
  for (const one of tries)
    one.then(
      (late) => void (late !== opened && discard(late)),
      () => {},
    )
  return opened
}

/** How one statement is sent. */
export interface StatementOptions {
  /** Whether it is a prepared statement, parsed and planned once for each connection. */
  prepare: boolean
  /** Whether rows are arrays of values. */
  values: boolean
}

export interface SessionOptions {
  url: string
  /** The name of the setting that has the URL. Default: DATABASE_URL. */
  setting?: string
  applicationName: string
  /** Server settings of the session, such as `lock_timeout`. */
  settings: Readonly<Record<string, string>>
  /** Time limit for connecting and logging in, in milliseconds. */
  connectMs: number
  /** The connection is closed when a statement gets no response for so long, in milliseconds; null: no limit. */
  silenceMs: number | null
  /** Called before a connection is used. When it throws, the next server of the URL is tried. Has no time limit. */
  admit?: ((session: Session) => Promise<void>) | undefined
  /** Called with each error of a statement. */
  onError?(error: unknown): void
  /** Called with the payload of each NOTIFY on the channels that this session listens to. */
  onNotify?(channel: string, text: string): void
}

export interface Session {
  /** Runs one statement. Concurrent statements are executed in the order in which they were sent. */
  run(text: string, parameters: readonly unknown[], options: StatementOptions): Promise<unknown[]>
  /** What is sent in this moment is written to the socket in one piece. */
  gather(): void
  /** The number of statements without a response. */
  inFlight(): number
  /** When the oldest write without a response was sent, also when the connection was closed meanwhile; null: none. */
  writingSince(): number | null
  /** The server's process, when the connection was closed while it may have been at work; else null. */
  abandoned(): number | null
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
  isWrite: boolean
}

/** Words of statements that write or take a lock. */
export const writingWords =
  /\b(insert|update|delete|merge|share|lock|call|truncate|pg_notify|pg_\w*advisory\w*|number_waiting_events|nextval|setval|set_config|pg_sleep)\b/i

const watchMs = 1000

/**
 * Connects and logs in to the first server of the URL that accepts a connection and is a primary; one that says nothing
 * holds up the next for a second. Throws NoConnectionError, with the last server's error as cause, when there is none or
 * it takes too long.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const address = readAddress(options.url)
  return firstHost(
    address.servers,
    (server) => openOn(server, address, options),
    (late) => late.destroy(),
  ).catch((error: unknown) => {
    const { setting = 'DATABASE_URL' } = options
    throw new NoConnectionError(`No connection to the database that ${setting} names could be opened.`, error)
  })
}

async function openOn(to: ServerAddress, address: Address, options: SessionOptions): Promise<Session> {
  const socket = await openSocket(to, address.tls, options.connectMs)
  const server = { pid: null as number | null }
  const session = sessionOver(clientOver(socket, address, options), socket, options, server)
  const late = setTimeout(session.destroy, options.connectMs)
  try {
    const [row] = (await session.run(hello(options.settings), [], { prepare: false, values: false })) as {
      standby: boolean
      pid: number
    }[]
    server.pid = row!.pid
    if (row!.standby)
      throw new NoConnectionError(
        'The database server is a standby, or default_transaction_read_only is on: nothing can be written to it.',
      )
    clearTimeout(late)
    await options.admit?.(session)
    return session
  } catch (error) {
    session.destroy()
    throw error
  } finally {
    clearTimeout(late)
  }
}

/** SQLSTATE of a write on a standby or a server that is read-only. */
const readOnly = '25006'

/** How the first statement of every connection begins. */
export const helloBegins =
  "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as standby"

/** Whether the server is a standby, and the settings, which poolers refuse as startup parameters. */
function hello(settings: SessionOptions['settings']): string {
  return `${helloBegins}, pg_backend_pid() as pid, ${sessionSettings(settings)}`
}

type Client = postgres.Sql & { onClosed(act: () => void): void }

/** The client of the driver, which uses this socket and no other one. */
function clientOver(own: Socket, address: Address, options: SessionOptions): Client {
  let socket: Socket | null = own
  const closed: (() => void)[] = []
  const sql = postgres({
    // The socket is connected, and secure where that is demanded. Without these the driver would read its variables.
    host: 'localhost',
    port: 5432,
    ssl: false,
    database: address.database,
    user: address.user,
    pass: address.password ?? '',
    max: 1,
    onnotice: () => {},
    onclose: () => closed.splice(0).forEach((act) => act()),
    ...(options.onNotify ? { onnotify: options.onNotify } : {}),
    connect_timeout: options.connectMs / 1000,
    idle_timeout: 0,
    max_lifetime: 0,
    // Gatehouse uses no array types that the driver would have to look up.
    fetch_types: false,
    types: { json: { to: 114, from: [114, 3802], serialize: writeJson, parse: readForeignJson } },
    backoff: () => 0,
    connection: {
      application_name: options.applicationName,
      timezone: 'UTC',
      ...(address.options === null ? {} : { options: address.options }),
    },
    socket: () => {
      const one = socket
      socket = null
      if (!one || one.destroyed) throw new ConnectionLostError()
      return one
    },
  } as unknown as postgres.Options<{}>)
  // Drizzle reads timestamps as text, and configures the client for that when it is created.
  drizzle(sql)
  return Object.assign(sql, { onClosed: (act: () => void) => void closed.push(act) })
}

function sessionOver(
  sql: Client,
  socket: Socket,
  { silenceMs, onError = () => {} }: SessionOptions,
  server: { pid: number | null },
): Session {
  const flights = new Set<Flight>()
  const texts = new Set<string>()
  const listeners: (() => void)[] = []
  let closed = false
  // A server that closed or lost the connection itself ends its process; one that was silent may be at work.
  let gaveUp = false
  let abandoned: { pid: number; writingSince: number | null } | null = null
  const close = () => {
    if (closed) return
    closed = true
    if (gaveUp && flights.size > 0 && server.pid !== null)
      abandoned = { pid: server.pid, writingSince: oldestWrite(flights) }
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
  const failed = (error: unknown) => {
    onError(error)
    // A server that is read-only now keeps its connections.
    if ((error as { code?: unknown }).code === readOnly) destroy()
    return closed || isLost(error) ? new ConnectionLostError(undefined, error) : error
  }
  const endIfSilent = (ms: number) => {
    gaveUp = isSilent(flights, ms)
    if (gaveUp) destroy()
  }
  const watch = silenceMs === null ? null : setInterval(endIfSilent, watchMs, silenceMs).unref()
  sql.onClosed(close)

  return {
    openedAt: performance.now(),
    run(text, parameters, options) {
      if (closed) return Promise.reject(new ConnectionLostError())
      if (options.prepare) texts.add(text)
      return fly(flights, text, () => send(sql, text, parameters, options), failed)
    },
    gather: () => gatherWrites(socket),
    inFlight: () => flights.size,
    writingSince: () => (abandoned ? abandoned.writingSince : oldestWrite(flights)),
    abandoned: () => abandoned?.pid ?? null,
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

/** The driver hands a statement to the socket two microtasks after it was asked for, the last bytes in an immediate. */
function gatherWrites(socket: Socket): void {
  socket.cork()
  queueMicrotask(() => queueMicrotask(() => setImmediate(() => socket.uncork())))
}

/** Keeps a statement among the flights until its response. `failed` returns what its error is for the caller. */
function fly(
  flights: Set<Flight>,
  text: string,
  sent: () => PromiseLike<unknown[]>,
  failed: (error: unknown) => unknown,
): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const isWrite = text === 'commit' || writingWords.test(text)
    const flight: Flight = { reject, since: performance.now(), isWrite }
    flights.add(flight)
    sent().then(
      (rows) => {
        flights.delete(flight)
        resolve(rows)
      },
      (error: unknown) => {
        flights.delete(flight)
        reject(failed(error))
      },
    )
  })
}

/** Sends a statement; the driver does that when `then` is called. */
function send(
  sql: Client,
  text: string,
  parameters: readonly unknown[],
  { prepare, values }: StatementOptions,
): PromiseLike<unknown[]> {
  // Without parameters the driver would use the simple protocol, which plans the statement each time.
  const query = sql.unsafe(text, parameters as postgres.ParameterOrJSON<never>[], {
    prepare,
    ...(prepare ? { simple: false } : {}),
  })
  return values ? query.values() : query
}

function oldestWrite(flights: Set<Flight>): number | null {
  for (const { isWrite, since } of flights) if (isWrite) return since
  return null
}

/** Whether the oldest statement has had no response for longer than this. */
function isSilent(flights: Set<Flight>, milliseconds: number): boolean {
  const oldest = flights.values().next().value
  return oldest !== undefined && performance.now() - oldest.since > milliseconds
}

/**
 * Whether the connection is of no use any more: an error of the driver or the socket, a server that shuts down, or one to
 * which nothing can be written since it is no primary any more. The outcome of the statement is unknown.
 */
function isLost(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return true
  return error.code === readOnly || /^(57P0[1-5]|25P03)$/.test(error.code)
}
