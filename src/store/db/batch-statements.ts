/** Statements for all that is asked for in the same moment. See decision 30. */
import { batch } from '../../core/batch.ts'
import type { Database } from './database.ts'
import { isOutage, sqlState } from './storage-error.ts'

/** Nothing is delayed for longer than this for the sake of others, in milliseconds. */
const waitMs = 1
const maxItems = 64
/** The most characters of one statement. A larger item has a statement of its own. */
const maxCharacters = 1_000_000

/**
 * Returns a function that writes or reads one item, with one statement for all items of the same moment and database; an
 * item that is alone waits for nothing. `work` gives a result for each of its items. When the database refuses a statement
 * of several, each item has its own: what is wrong with one concerns no other. Throws what the statement threw; a statement
 * without a response may have been executed.
 */
export function batchStatements<Uses extends { db: Database }, Item, Result>(
  work: (uses: Uses, items: readonly Item[]) => Promise<readonly Result[]>,
  charactersOf: (item: Item) => number = () => 0,
): (uses: Uses, item: Item) => Promise<Result> {
  const all = new WeakMap<Database, (item: Item) => Promise<Result>>()
  const limits = {
    maxItems,
    maxBytes: maxCharacters,
    bytesOf: charactersOf,
    waitMs,
    // After a deadlock as well: nothing was written, and one of them may have been the cause.
    splitsOn: (error: unknown) => !isOutage(error) || (sqlState(error) ?? '').startsWith('40'),
  }
  return (uses, item) => {
    const made = all.get(uses.db) ?? batch((items: readonly Item[]) => work(uses, items), limits)
    all.set(uses.db, made)
    return made(item)
  }
}
