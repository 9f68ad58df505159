/** Statements of the same moment that share a commit. See docs/decisions/0054. */
import type { Database } from './database.ts'

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
