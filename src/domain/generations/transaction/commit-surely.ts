/** Commits of a worker whose answer may be lost: read back under a new epoch, and made again when they did not take place. */
import type { Database } from '../../../store/db/database.ts'
import { isStorageError } from '../../../store/db/storage-error.ts'
import { readBack } from '../../../store/work/read-back.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import type { Change } from './commit.ts'
import { commitTurn, type Turn } from './turn.ts'

type Writer = Pick<Turn, 'services' | 'held' | 'lease'>

/**
 * Writes the change once, however often its answer is lost. `stands` tells from the rows whether it took place. Throws
 * LeaseLostError when the row is, or may be, another worker's before that is known; then `stands` may still be true.
 */
export async function commitSurely(
  turn: Writer,
  change: Change,
  stands: (db: Database) => Promise<boolean>,
): Promise<void> {
  for (;;) {
    const { epoch } = turn.held
    try {
      return await commitTurn(turn, change, turn.services.leaseDb)
    } catch (error) {
      // Another commit of this worker has taken the row anew meanwhile.
      const fenced = error instanceof LeaseLostError && turn.held.epoch > epoch
      if (!fenced && !isStorageError(error)) throw error
    }
    if (await readBack(turn.lease, epoch, () => stands(turn.services.leaseDb)))
      return turn.services.pubsub.publish([newsOf(turn)])
  }
}

/**
 * Waits until the database answers again and takes the row anew: nothing that was sent under an earlier epoch can take
 * effect afterwards. LeaseLostError when that takes longer than the lease is sure.
 */
export async function reclaim({ lease, held }: Writer): Promise<void> {
  await readBack(lease, held.epoch, () => Promise.resolve())
}

/** What took place was told to nobody. */
function newsOf({ held }: Writer) {
  return { kind: 'news', generationId: held.id, projectId: held.projectId, seq: null } as const
}
