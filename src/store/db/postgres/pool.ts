/** A pool of PostgreSQL connections: single statements share one, a transaction has one to itself. */
import type { PendingWork } from '../connection.ts'
import { NoConnectionError } from '../storage-error.ts'
import type { StatementOptions, Session } from './session.ts'

export interface PoolOptions {
  open(): Promise<Session>
  /** The most connections. */
  max: number
  /** How long a statement or transaction waits for a connection, in milliseconds. */
  waitMs: number
}

/** How often the server is asked for connections that were given up, in milliseconds. */
const abandonedEveryMs = 2000
/** The most statements in flight on one connection, when no other connection is free. */
const maxPipelined = 32
/** A connection is replaced at this age, in milliseconds, or after so many prepared statements. */
const maxAgeMs = 30 * 60_000
const maxPrepared = 1000
/** The pause after a connection could not be opened, in milliseconds. */
const backoff = (failures: number) => Math.min(2000, 25 * 2 ** failures)

interface Waiter {
  /** Whether it needs a connection that no other statement uses. */
  exclusive: boolean
  give(session: Session): void
  fail(error: unknown): void
}

export class SessionPool {
  #options: PoolOptions
  #sessions = new Set<Session>()
  /** Connections that a transaction uses exclusively. */
  #lent = new Set<Session>()
  #waiting: Waiter[] = []
  #opening = 0
  #failures = 0
  #retry: NodeJS.Timeout | null = null
  /** Closed connections whose statement still waits in the server: they count as connections. */
  #abandoned = new Map<number, Session>()
  #counting: NodeJS.Timeout | null = null
  #ended = false
  /** Connections that were opened before are replaced. */
  #oldest = -Infinity

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Runs one statement on a free connection, or on the one with the fewest statements in flight. */
  run(text: string, parameters: readonly unknown[], options: StatementOptions): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const give = (session: Session) =>
        resolve(session.run(text, parameters, options).finally(() => this.#serve()))
      this.#acquire(false, give, reject)
    })
  }

  /** Calls `work` with a connection that no other statement uses until the promise settles. */
  async withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await new Promise<Session>((resolve, reject) => this.#acquire(true, resolve, reject))
    try {
      return await work(session)
    } finally {
      this.#lent.delete(session)
      this.#serve()
    }
  }

  /** Connections of before are not used any more: those without work are closed, others after it. */
  renew(): void {
    this.#oldest = performance.now()
  }

  /** Ends all connections; statements in flight have `ms` milliseconds to finish. */
  async end(ms: number): Promise<void> {
    this.#ended = true
    if (this.#retry) clearTimeout(this.#retry)
    if (this.#counting) clearTimeout(this.#counting)
    for (const waiter of this.#waiting.splice(0)) waiter.fail(closedError())
    await Promise.all([...this.#sessions].map((session) => session.end(ms)))
  }

  /**
   * Calls `give` synchronously when a connection is free: if a promise resolved with it, another caller could take the
   * same connection for a transaction before the promise's listener runs.
   */
  #acquire(exclusive: boolean, give: (session: Session) => void, reject: (error: unknown) => void): void {
    if (this.#ended) return reject(closedError())
    const session = this.#nextInLine() ? null : this.#take(exclusive)
    if (session) return give(session)
    const { waitMs } = this.#options
    const leave = () => {
      clearTimeout(late)
      const at = this.#waiting.indexOf(waiter)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
    const waiter: Waiter = {
      exclusive,
      give: (given) => {
        leave()
        give(given)
      },
      fail: (error) => {
        leave()
        reject(error)
      },
    }
    const message = `No connection to the database was free within ${waitMs} ms.`
    const late = setTimeout(() => waiter.fail(new NoConnectionError(message)), waitMs)
    this.#waiting.push(waiter)
    this.#serve()
  }

  waiting(): PendingWork {
    const all = [...this.#sessions, ...this.#abandoned.values()]
    const since = all.map((session) => session.writingSince()).filter((at) => at !== null)
    const oldestWriteMs = since.length > 0 ? performance.now() - Math.min(...since) : 0
    return { oldestWriteMs, abandoned: this.#abandoned.size, queued: this.#waiting.length }
  }

  #max(): number {
    return this.#options.max - this.#abandoned.size
  }

  #discard(session: Session): void {
    const pid = session.abandoned()
    if (pid === null || this.#ended) return
    this.#abandoned.set(pid, session)
    this.#countSoon()
  }

  #countSoon(): void {
    this.#counting ??= setTimeout(() => {
      this.#counting = null
      void this.#countAbandoned().finally(() => {
        if (this.#abandoned.size > 0 && !this.#ended) this.#countSoon()
        this.#serve()
      })
    }, abandonedEveryMs).unref()
  }

  /** Over a connection of its own: work on one of the pool might wait, too, and be given up. */
  async #countAbandoned(): Promise<void> {
    const pids = [...this.#abandoned.keys()]
    try {
      const session = await this.#options.open()
      try {
        const rows = await session.run(stillAtWork, [`{${pids.join()}}`], { prepare: true, values: false })
        const left = new Set((rows as { pid: number }[]).map(({ pid }) => pid))
        for (const pid of pids) if (!left.has(pid)) this.#abandoned.delete(pid)
      } finally {
        await session.end(1000)
      }
    } catch {
      // The server is away: it is asked again.
    }
  }

  /** Transactions never hold every connection: work inside one may send statements outside it. */
  #mayLend(): boolean {
    return this.#lent.size < Math.max(1, this.#max() - 1)
  }

  /** The next waiter. While no more connections may be lent, waiters that need one exclusively are skipped. */
  #nextInLine(): Waiter | undefined {
    return this.#mayLend() ? this.#waiting[0] : this.#waiting.find((waiter) => !waiter.exclusive)
  }

  /** Serves the waiters in order with the connections there are, and opens more when allowed. */
  #serve(): void {
    for (let waiter = this.#nextInLine(); waiter; waiter = this.#nextInLine()) {
      const session = this.#take(waiter.exclusive)
      if (!session) break
      waiter.give(session)
    }
    const mayOpen = this.#max() - this.#sessions.size - this.#opening
    const wanted = Math.min(this.#waiting.length - this.#opening, mayOpen)
    for (let i = 0; i < wanted && this.#retry === null && !this.#ended; i++) void this.#open()
  }

  #take(exclusive: boolean): Session | null {
    if (exclusive && !this.#mayLend()) return null
    const mayOpen = this.#sessions.size + this.#opening < this.#max() && this.#retry === null
    const session = this.#idle() ?? (exclusive || mayOpen ? null : this.#leastBusy())
    if (session && exclusive) this.#lent.add(session)
    return session
  }

  #idle(): Session | null {
    for (const session of this.#sessions) {
      if (this.#lent.has(session) || session.inFlight() > 0) continue
      if (!this.#isWorn(session)) return session
      this.#drop(session)
      void session.end(0)
    }
    return null
  }

  #leastBusy(): Session | null {
    let best: Session | null = null
    for (const session of this.#sessions) {
      if (this.#lent.has(session) || this.#isWorn(session)) continue
      if (best === null || session.inFlight() < best.inFlight()) best = session
    }
    return best !== null && best.inFlight() < maxPipelined ? best : null
  }

  #isWorn(session: Session): boolean {
    return session.openedAt < this.#oldest || isWorn(session)
  }

  #drop(session: Session): void {
    this.#sessions.delete(session)
    this.#lent.delete(session)
  }

  async #open(): Promise<void> {
    this.#opening++
    try {
      const session = await this.#options.open()
      this.#failures = 0
      if (this.#ended) return session.destroy()
      this.#sessions.add(session)
      session.onClosed(() => {
        this.#drop(session)
        this.#discard(session)
        this.#serve()
      })
    } catch (error) {
      this.#failures++
      // While there are other connections, open or opening, they can still serve the waiters.
      if (this.#sessions.size === 0 && this.#opening === 1)
        for (const waiter of this.#waiting.splice(0)) waiter.fail(error)
      this.#retry ??= setTimeout(() => {
        this.#retry = null
        this.#serve()
      }, backoff(this.#failures))
    } finally {
      this.#opening--
      this.#serve()
    }
  }
}

/**
 * Without those that wait for their client: the server may notice only much later that it is gone. Every role may read
 * these columns of its own connections.
 */
const stillAtWork = `select pid from pg_stat_activity
  where pid = any($1::int[]) and application_name = current_setting('application_name')
    and state <> 'idle' and wait_event_type is distinct from 'Client'`

function isWorn(session: Session): boolean {
  return session.prepared() > maxPrepared || performance.now() - session.openedAt > maxAgeMs
}

function closedError(): NoConnectionError {
  return new NoConnectionError('The connections to the database are closed.')
}
