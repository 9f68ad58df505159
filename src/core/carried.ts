/** A value that asynchronous work carries along, from where it is given to whatever that work calls. */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Carried<Value> {
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
export function carried<Value>(): Carried<Value> {
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
