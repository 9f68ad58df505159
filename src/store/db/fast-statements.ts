/**
 * Statements of the same moment: one for all that is asked for, or several that share a commit. See decisions 30 and
 * 54.
 */
import type { Database } from './database.ts'
import { batch } from '../../core/async-work.ts'
import { isOutage, sqlState } from './storage-error.ts'

const sharing = new WeakMap<Database, Database>()

/** Names the database over the same connections whose single statements share commits. */
export function shareCommits(db: Database, shared: Database): Database {
  sharing.set(db, shared)
  return db
}

/**
 * The database as one whose single statements, when several are sent in the same moment, are committed together or not at
 * all. Each is executed, proved and answered for itself, after that commit; one that the server refuses, or that waits for a
 * lock, fails or waits alone. A transaction is returned as it is, and so is the embedded database, which commits cheaply.
 */
export function sharingCommits(db: Database): Database {
  return sharing.get(db) ?? db
}

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
