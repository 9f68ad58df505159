/** Keeps resources that are costly to open under a key: leased to callers, closed when idle, too old or too many. */

export interface PoolResource {
  close(): Promise<void>
}

/** A leased resource. Release it when done; releasing it again has no effect. */
export interface Lease<Resource extends PoolResource> {
  resource: Resource
  release(): void
}

export interface Pool {
  /**
   * The open resource of this key, opened with `open` when there is none. Concurrent calls for one key share one
   * opening, and its error; the next call opens again.
   */
  lease<Resource extends PoolResource>(key: string, open: () => Promise<Resource>): Promise<Lease<Resource>>
  /** Leases this resource no more, and closes it when its last lease is released. Idempotent. */
  retire(resource: PoolResource): void
  /** Joins the work that is running under this key, or starts it. */
  share<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** How many resources are open. */
  size(): number
  /** Closes every resource, also leased ones; a later `lease` throws. */
  close(): Promise<void>
}

export interface PoolOptions {
  /** The most resources that are kept. More are opened while all are leased, and closed when they are released. */
  max: number
  /** A resource that was not leased for so long is closed. Milliseconds. */
  idleMs: number
  /** A resource older than this is not leased again. Milliseconds. */
  maxAgeMs: number
}

interface Entry {
  key: string
  opening: Promise<PoolResource>
  resource: PoolResource | null
  leases: number
  openedAt: number
  retired: boolean
  idleTimer: NodeJS.Timeout | null
}

export function createPool(options: PoolOptions): Pool {
  return new ResourcePool(options)
}

class ResourcePool implements Pool {
  #options: PoolOptions
  /** Insertion-ordered: a released entry moves to the end, so the first idle one is the least recently used. */
  #entries = new Map<string, Entry>()
  /** Every open entry, also those that were retired and are still leased. */
  #open = new Set<Entry>()
  #shared = new Map<string, Promise<unknown>>()
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  async lease<Resource extends PoolResource>(
    key: string,
    open: () => Promise<Resource>,
  ): Promise<Lease<Resource>> {
    if (this.#closed) throw closedError()
    const entry = this.#current(key) ?? this.#begin(key, open)
    entry.leases += 1
    if (entry.idleTimer) clearTimeout(entry.idleTimer)
    try {
      entry.resource = await entry.opening
    } catch (error) {
      entry.leases -= 1
      this.#retire(entry)
      this.#open.delete(entry)
      throw error
    }
    if (this.#closed) {
      await this.#closeEntry(entry)
      throw closedError()
    }
    let leased = true
    const release = () => {
      if (leased) this.#release(entry)
      leased = false
    }
    return { resource: entry.resource as Resource, release }
  }

  retire(resource: PoolResource): void {
    for (const entry of this.#open) if (entry.resource === resource) this.#retire(entry)
  }

  share<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const known = this.#shared.get(key) as Promise<Result> | undefined
    if (known) return known
    const started = work().finally(() => this.#shared.delete(key))
    this.#shared.set(key, started)
    return started
  }

  size(): number {
    return this.#open.size
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#entries.clear()
    await Promise.all([...this.#open].map((entry) => this.#closeEntry(entry)))
  }

  /** The entry of this key, unless it is too old. */
  #current(key: string): Entry | null {
    const known = this.#entries.get(key)
    if (known && Date.now() - known.openedAt > this.#options.maxAgeMs) this.#retire(known)
    return this.#entries.get(key) ?? null
  }

  #begin(key: string, open: () => Promise<PoolResource>): Entry {
    const entry: Entry = {
      key,
      opening: open(),
      resource: null,
      leases: 0,
      openedAt: Date.now(),
      retired: false,
      idleTimer: null,
    }
    if (this.#hasCapacity()) this.#entries.set(key, entry)
    else entry.retired = true
    this.#open.add(entry)
    return entry
  }

  /** Whether one more entry may be kept; retires the least recently used idle one when the pool is full. */
  #hasCapacity(): boolean {
    if (this.#entries.size < this.#options.max) return true
    const idle = [...this.#entries.values()].find((entry) => entry.leases === 0 && entry.resource)
    if (idle) this.#retire(idle)
    return idle !== undefined
  }

  #release(entry: Entry): void {
    entry.leases -= 1
    if (entry.leases > 0) return
    if (entry.retired || this.#entries.get(entry.key) !== entry) return void this.#closeEntry(entry)
    this.#entries.delete(entry.key)
    this.#entries.set(entry.key, entry)
    entry.idleTimer = setTimeout(() => this.#retire(entry), this.#options.idleMs)
    entry.idleTimer.unref()
  }

  #retire(entry: Entry): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key)
    entry.retired = true
    if (entry.leases === 0 && entry.resource) void this.#closeEntry(entry)
  }

  async #closeEntry(entry: Entry): Promise<void> {
    this.#open.delete(entry)
    if (entry.idleTimer) clearTimeout(entry.idleTimer)
    await entry.resource?.close().catch(() => {})
  }
}

function closedError(): Error {
  return new Error('The pool is closed.')
}
