/** Connections to PostgreSQL: shared by single statements, lent whole to transactions, replaced when they end. */
import { NoConnectionError } from '../storage-error.ts'
import type { Manner, Session } from './session.ts'

export interface PoolOptions {
  open(): Promise<Session>
  /** At most so many connections. */
  max: number
  /** How long somebody waits for a connection, in milliseconds. */
  waitMs: number
}

/** Statements that one connection carries at once, when no other is free. */
const maxPipelined = 32
/** A connection is replaced when it is so old, in milliseconds, or has prepared so many statements. */
const maxAgeMs = 30 * 60_000
const maxPrepared = 1000
/** How long nothing is tried after a connection could not be opened, in milliseconds. */
const backoff = (failures: number) => Math.min(2000, 25 * 2 ** failures)

interface Waiter {
  /** Wants the connection for itself. */
  whole: boolean
  give(session: Session): void
  fail(error: unknown): void
}

export class SessionPool {
  #options: PoolOptions
  #sessions = new Set<Session>()
  /** Those that a transaction has for itself. */
  #lent = new Set<Session>()
  #waiting: Waiter[] = []
  #opening = 0
  #failures = 0
  #retry: NodeJS.Timeout | null = null
  #ended = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Runs one statement on whichever connection is free, or has the least to do. */
  run(text: string, parameters: readonly unknown[], manner: Manner): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const give = (session: Session) =>
        resolve(session.run(text, parameters, manner).finally(() => this.#serve()))
      this.#acquire(false, give, reject)
    })
  }

  /** Lends a connection that nobody else uses meanwhile. It comes back when the promise settles. */
  async withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await new Promise<Session>((resolve, reject) => this.#acquire(true, resolve, reject))
    try {
      return await work(session)
    } finally {
      this.#lent.delete(session)
      this.#serve()
    }
  }

  /** Ends all connections; what is under way has `ms` to finish. */
  async end(ms: number): Promise<void> {
    this.#ended = true
    if (this.#retry) clearTimeout(this.#retry)
    for (const waiter of this.#waiting.splice(0)) waiter.fail(closedError())
    await Promise.all([...this.#sessions].map((session) => session.end(ms)))
  }

  /**
   * Hands over a connection in the very moment in which it is free: between a promise and its listener another could
   * take the same one for a transaction.
   */
  #acquire(whole: boolean, give: (session: Session) => void, reject: (error: unknown) => void): void {
    if (this.#ended) return reject(closedError())
    const session = this.#nextInLine() ? null : this.#take(whole)
    if (session) return give(session)
    const { waitMs } = this.#options
    const leave = () => {
      clearTimeout(late)
      const at = this.#waiting.indexOf(waiter)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
    const waiter: Waiter = {
      whole,
      give: (given) => {
        leave()
        give(given)
      },
      fail: (error) => {
        leave()
        reject(error)
      },
    }
    const words = `No connection to the database was free within ${waitMs} ms.`
    const late = setTimeout(() => waiter.fail(new NoConnectionError(words)), waitMs)
    this.#waiting.push(waiter)
    this.#serve()
  }

  /** Transactions never hold every connection: what they do beside themselves must get through. */
  #mayLend(): boolean {
    return this.#lent.size < Math.max(1, this.#options.max - 1)
  }

  /** Who is next. Those who want a whole connection let others pass while they may not have one. */
  #nextInLine(): Waiter | undefined {
    return this.#mayLend() ? this.#waiting[0] : this.#waiting.find((waiter) => !waiter.whole)
  }

  /** Gives to those who wait what there is, in their order, and opens what may be opened. */
  #serve(): void {
    for (let waiter = this.#nextInLine(); waiter; waiter = this.#nextInLine()) {
      const session = this.#take(waiter.whole)
      if (!session) break
      waiter.give(session)
    }
    const room = this.#options.max - this.#sessions.size - this.#opening
    const wanted = Math.min(this.#waiting.length - this.#opening, room)
    for (let i = 0; i < wanted && this.#retry === null && !this.#ended; i++) void this.#open()
  }

  #take(whole: boolean): Session | null {
    if (whole && !this.#mayLend()) return null
    const mayOpen = this.#sessions.size + this.#opening < this.#options.max && this.#retry === null
    const session = this.#idle() ?? (whole || mayOpen ? null : this.#leastBusy())
    if (session && whole) this.#lent.add(session)
    return session
  }

  #idle(): Session | null {
    for (const session of this.#sessions) {
      if (this.#lent.has(session) || session.inFlight() > 0) continue
      if (!isWorn(session)) return session
      this.#drop(session)
      void session.end(0)
    }
    return null
  }

  #leastBusy(): Session | null {
    let best: Session | null = null
    for (const session of this.#sessions) {
      if (this.#lent.has(session) || isWorn(session)) continue
      if (best === null || session.inFlight() < best.inFlight()) best = session
    }
    return best !== null && best.inFlight() < maxPipelined ? best : null
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
        this.#serve()
      })
    } catch (error) {
      this.#failures++
      // Others may still be served by the connections that are there, or are being opened.
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

function isWorn(session: Session): boolean {
  return session.prepared() > maxPrepared || performance.now() - session.openedAt > maxAgeMs
}

function closedError(): NoConnectionError {
  return new NoConnectionError('The connections to the database are closed.')
}
