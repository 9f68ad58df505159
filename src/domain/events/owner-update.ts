/** Appends events to the log of a generation and, copied, to that of its root. */
import type { SQL } from 'drizzle-orm'
import { type Database } from '../../store/db/database.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import * as store from '../../store/events/owner-update.ts'
import { eventKinds, type GenerationEvent, type RootCopy } from './event.ts'

/** The copies that the root of a generation gets of its events, in their order. */
export function rootCopies(events: readonly GenerationEvent[], descendantId: string): RootCopy[] {
  return events.flatMap((event) => {
    if (!eventKinds[event.type].traits.copiedToRoot) return []
    return [{ type: event.type, data: { ...event.data, descendantId } } as RootCopy]
  })
}

/** See the store's function of the same name. */
export const insertRootCopies: (copies: readonly RootCopy[]) => SQL = store.insertRootCopies

/**
 * The part of a statement that appends events to an owner's log and their copies to that of its root, and wakes the
 * owner when it is parked: now, at an SQL moment, or not at all with null. With `when`, a relation of at most one
 * row, nothing is written and no row is returned when that is empty. `claim` claims it instead of waking it. The owner
 * and its root must be locked.
 */
export function ownerUpdate(
  owner: Owner,
  events: readonly GenerationEvent[],
  wake: 'now' | SQL | null,
  { when = null, claim = null }: { when?: SQL | null; claim?: store.OwnerClaim | null } = {},
): store.OwnerUpdate {
  return store.ownerUpdate(owner, { events, copies: rootCopies(events, owner.id), wake, when, claim })
}

/** An update of an owner as a statement of its own. Returns the hints to publish after the commit. */
export async function updateOwner(
  tx: Database,
  owner: Owner,
  events: readonly GenerationEvent[],
  wake: 'now' | SQL | null,
): Promise<Hint[]> {
  return store.runOwnerUpdate(tx, ownerUpdate(owner, events, wake))
}
