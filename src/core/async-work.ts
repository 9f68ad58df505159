/** Asynchronous work: done together, one at a time, or with a value that it carries along. */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface BatchLimits<Item> {
  /** The most items of a group, and their most bytes. One larger item is a group of its own. */
  maxItems: number
  maxBytes: number
  bytesOf(item: Item): number
  /** The longest time that an item waits for others while another group is under way, in milliseconds. */
  waitMs: number
  /** Whether an error may be the fault of one item: then a group of several is done again, each by itself. By default never. */
  splitsOn?(error: unknown): boolean
}

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Returns a function that does `work` for one item, together with what others ask for in the same moment: in the same turn
 * of the event loop, or while another group is under way, for at most `waitMs`. An item that is alone waits for nothing.
 * `work` gets the items in the order in which they were asked for and gives a result for each of them; when it throws, each
 * of them rejects with its error, unless `splitsOn` it. Groups do not wait for each other.
 */
export function batch<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, maxBytes, bytesOf, waitMs, splitsOn = () => false }: BatchLimits<Item>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let bytes = 0
  let underWay = 0
  let timer: NodeJS.Timeout | null = null
  let turn: NodeJS.Immediate | null = null

  const send = () => {
    if (timer) clearTimeout(timer)
    if (turn) clearImmediate(turn)
    timer = turn = null
    const group = waiting
    waiting = []
    bytes = 0
    void run(group)
  }
  const run = async (group: readonly Waiting<Item, Result>[]) => {
    underWay++
    try {
      const results = await work(group.map(({ item }) => item))
      for (const [i, { resolve }] of group.entries()) resolve(results[i]!)
    } catch (error) {
      if (group.length > 1 && splitsOn(error)) await Promise.all(group.map((one) => run([one])))
      else for (const { reject } of group) reject(error)
    }
    underWay--
    if (waiting.length > 0) turn ??= setImmediate(send)
  }
  return (item) =>
    new Promise((resolve, reject) => {
      const size = bytesOf(item)
      if (waiting.length > 0 && bytes + size > maxBytes) send()
      waiting.push({ item, resolve, reject })
      bytes += size
      if (waiting.length >= maxItems) send()
      else if (underWay === 0) turn ??= setImmediate(send)
      else timer ??= setTimeout(send, waitMs)
    })
}

/**
 * Wraps work so that it never runs twice at the same time. Calls made while it runs cause one more run, however many
 * calls there were. The promise resolves when the last run has ended.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let again = false
  const run = async () => {
    try {
      do {
        again = false
        await work()
      } while (again)
    } finally {
      // At once when nobody has asked again: a call between the two would cause no run.
      running = null
    }
  }
  return () => {
    if (running) again = true
    return (running ??= run())
  }
}

/** A value that asynchronous work carries along, from where it is given to whatever that work calls. */
export interface Carrier<Value> {
  /** The value of the work that runs now; null outside any. */
  get(): Value | null
  /** Runs work that carries the value until `done` is called, which may be later than its end and is called once. */
  run<Result>(value: Value, work: () => Promise<Result>): { result: Promise<Result>; done(): void }
  /** Runs work that outlives whoever starts it, without a value. */
  without<Result>(work: () => Promise<Result>): Promise<Result>
}

/**
 * Up to Node 22 an AsyncLocalStorage makes the process follow every promise, which costs it a sixth of its CPU time, from the
 * first value on: this one ends that when no work carries one any more.
 */
export function createCarrier<Value>(): Carrier<Value> {
  const storage = new AsyncLocalStorage<Value | null>()
  let carrying = 0
  return {
    get: () => storage.getStore() ?? null,
    run(value, work) {
      carrying++
      const done = () => {
        if (--carrying === 0) storage.disable()
      }
      return { result: storage.run(value, work), done }
    },
    without: (work) => (storage.getStore() ? storage.run(null, work) : work()),
  }
}
