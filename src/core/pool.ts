/** Things that are costly to open are kept open under a key: lent out, closed when idle, too old or too many. */

export interface Pooled {
  close(): Promise<void>
}

/** A thing on loan. Give it back exactly once; what comes after the first time does nothing. */
export interface Lease<Thing extends Pooled> {
  thing: Thing
  release(): void
}

export interface Pool {
  /** The open thing of this key, opened when there is none. Askers of one key at the same time share one opening. */
  lease<Thing extends Pooled>(key: string, open: () => Promise<Thing>): Promise<Lease<Thing>>
  /** Nobody gets this thing any more; it is closed when its last borrower gives it back. Idempotent. */
  retire(thing: Pooled): void
  /** Joins the work that is under way under this key, or starts it. */
  share<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** How many things are open. */
  size(): number
  /** Closes everything, also what is on loan, and opens nothing more. */
  close(): Promise<void>
}

export interface PoolOptions {
  /** At most so many are kept; more are opened when all are on loan, and closed as soon as they come back. */
  max: number
  /** Unused for so long, it is closed. Milliseconds. */
  idleMs: number
  /** Older than this, it is not lent again. Milliseconds. */
  maxAgeMs: number
}

interface Entry {
  key: string
  opening: Promise<Pooled>
  thing: Pooled | null
  users: number
  bornAt: number
  retired: boolean
  timer: NodeJS.Timeout | null
}

/** What is open: by key for those who ask next, and all of it. */
function createEntries({ max, idleMs, maxAgeMs }: PoolOptions) {
  /** Insertion-ordered: an entry moves to the end when it comes back, so the first idle one is the oldest. */
  const entries = new Map<string, Entry>()
  /** Everything open, also what has been retired and is still on loan. */
  const open = new Set<Entry>()

  const shut = async (entry: Entry) => {
    open.delete(entry)
    if (entry.timer) clearTimeout(entry.timer)
    await entry.thing?.close().catch(() => {})
  }
  const retire = (entry: Entry) => {
    if (entries.get(entry.key) === entry) entries.delete(entry.key)
    entry.retired = true
    if (entry.users === 0 && entry.thing) void shut(entry)
  }
  const release = (entry: Entry) => {
    entry.users -= 1
    if (entry.users > 0) return
    if (entry.retired || entries.get(entry.key) !== entry) return void shut(entry)
    entries.delete(entry.key)
    entries.set(entry.key, entry)
    entry.timer = setTimeout(() => retire(entry), idleMs)
    entry.timer.unref()
  }
  const makeRoom = () => {
    if (entries.size < max) return true
    const idle = [...entries.values()].find((entry) => entry.users === 0 && entry.thing)
    if (idle) retire(idle)
    return idle !== undefined
  }
  const begin = (key: string, make: () => Promise<Pooled>): Entry => {
    const entry: Entry = {
      key,
      opening: make(),
      thing: null,
      users: 0,
      bornAt: Date.now(),
      retired: false,
      timer: null,
    }
    if (makeRoom()) entries.set(key, entry)
    else entry.retired = true
    open.add(entry)
    return entry
  }
  const fresh = (key: string): Entry | null => {
    const known = entries.get(key)
    if (known && Date.now() - known.bornAt > maxAgeMs) retire(known)
    return entries.get(key) ?? null
  }
  const drop = (entry: Entry) => {
    retire(entry)
    open.delete(entry)
  }
  const shutAll = async () => {
    entries.clear()
    await Promise.all([...open].map(shut))
  }
  return { open, fresh, begin, release, retire, drop, shut, shutAll }
}

export function createPool(options: PoolOptions): Pool {
  const entries = createEntries(options)
  const shared = new Map<string, Promise<unknown>>()
  let closed = false

  return {
    async lease<Thing extends Pooled>(key: string, make: () => Promise<Thing>): Promise<Lease<Thing>> {
      if (closed) throw new Error('The pool is closed.')
      const entry = entries.fresh(key) ?? entries.begin(key, make)
      entry.users += 1
      if (entry.timer) clearTimeout(entry.timer)
      try {
        entry.thing = await entry.opening
      } catch (error) {
        entry.users -= 1
        entries.drop(entry)
        throw error
      }
      if (closed) {
        await entries.shut(entry)
        throw new Error('The pool is closed.')
      }
      let given = true
      return {
        thing: entry.thing as Thing,
        release() {
          if (given) entries.release(entry)
          given = false
        },
      }
    },
    retire(thing) {
      for (const entry of entries.open) if (entry.thing === thing) entries.retire(entry)
    },
    share<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
      const known = shared.get(key) as Promise<Result> | undefined
      if (known) return known
      const started = work().finally(() => shared.delete(key))
      shared.set(key, started)
      return started
    },
    size: () => entries.open.size,
    async close() {
      closed = true
      await entries.shutAll()
    },
  }
}
