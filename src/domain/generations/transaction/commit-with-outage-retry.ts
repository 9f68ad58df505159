/**
 * Commits whose confirmation from the database may be lost: the worker reads the rows under a new epoch, and commits
 * again if the commit did not happen.
 */
import type { Database } from '../../../store/db/database.ts'
import { isOutage } from '../../../store/db/storage-error.ts'
import { afterOutage, readBack } from '../../../store/work/read-back.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import type { Change } from './commit.ts'
import { commitTurn, type Turn } from './turn.ts'

type Writer = Pick<Turn, 'services' | 'held' | 'lease'>

/**
 * Writes the change exactly once, even if confirmations are lost. `isWritten` reads from the rows whether it was
 * written. Throws LeaseLostError when another worker holds the row, or may hold it, before that is known; `isWritten`
 * may still become true then.
 */
export async function commitWithOutageRetry(
  turn: Writer,
  change: Change,
  isWritten: (db: Database) => Promise<boolean>,
): Promise<void> {
  for (let failures = 0; ; failures++) {
    const { epoch } = turn.held
    try {
      return await commitTurn(turn, change, turn.services.leaseDb)
    } catch (error) {
      // Another commit of this worker has reclaimed the row meanwhile.
      const fenced = error instanceof LeaseLostError && turn.held.epoch > epoch
      if (!fenced && !isOutage(error)) throw error
    }
    if (await readBack(turn.lease, epoch, () => isWritten(turn.services.leaseDb)))
      return turn.services.pubsub.publish([newsOf(turn)])
    await afterOutage(failures)
  }
}

/**
 * Waits until the database is reachable and reclaims the row under a new epoch: no statement sent under an earlier
 * epoch can take effect afterwards. LeaseLostError when this takes longer than the lease certainly holds.
 */
export async function reclaim({ lease, held }: Writer): Promise<void> {
  await readBack(lease, held.epoch, () => Promise.resolve())
}

/** Hints for a commit that was written but not published. */
function newsOf({ held }: Writer) {
  return { kind: 'news', generationId: held.id, projectId: held.projectId, seq: null } as const
}
