/**
 * Commits whose confirmation from the database may be lost, such as the outcome of a call: the worker reads the rows
 * under a new epoch, and commits again if the commit is not there.
 */
import { type Database, nowPlus } from '../../../store/db/database.ts'
import { isOutage } from '../../../store/db/storage-error.ts'
import { afterOutage, readBack } from '../../../store/work/leases.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import type { Change } from './commit.ts'
import { commitTurn, type Turn } from './turn.ts'
import type { ToolResult } from '../../../core/content.ts'
import type { Services } from '../../access/index.ts'
import {
  callEnded,
  endOf,
  executedEntry,
  inGeneration,
  loadCall,
  settleCalls,
  type ToolCall,
} from '../../tool-calls/index.ts'

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

type Status = 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN'

/** The change that settles a call, with its event and audit entry. */
export function outcomeOf(
  { services }: { services: { limits: Pick<Services['limits'], 'leaseMs'> } },
  call: ToolCall,
  result: ToolResult,
  status: Status,
): Change {
  return {
    wakeAt: nowPlus(services.limits.leaseMs),
    calls: [settleCalls(endOf(call.status, status), [{ id: call.id, status, result }], inGeneration)],
    events: callEnded(call, status, result),
    audit: [executedEntry(call, status)],
  }
}

/**
 * Settles a call, retrying while the database is unreachable. LeaseLostError when another worker holds the
 * generation, or may hold it.
 */
export async function settleCall(
  turn: Turn,
  call: ToolCall,
  result: ToolResult,
  status: Status,
): Promise<void> {
  const change = outcomeOf(turn, call, result, status)
  await commitWithOutageRetry(turn, change, async (db) => (await loadCall(db, call.id)).settledAt !== null)
}
