/** What a process remembers of the rows of a database, so that it need not read them again. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Database } from './database.ts'

export interface Memory<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  delete(key: string): void
}

/**
 * A memory for each database, of at most `max` values; the one that was set first is dropped first. A transaction has a
 * memory of its own, which is empty. Values can be out of date: whoever uses one proves it in the statement that relies
 * on it, or remembers only what never changes.
 */
export function memoryOf<Value>(max: number): (db: Database) => Memory<Value> {
  const all = new WeakMap<Database, Memory<Value>>()
  return (db) => {
    const known = all.get(db)
    if (known) return known
    const made = new BoundedMap<string, Value>(max)
    all.set(db, made)
    return made
  }
}
