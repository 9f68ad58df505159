/** The outcome of one call of a generation: what its commit writes. */
import type { ToolResult } from '../../../core/content.ts'
import { nowPlus } from '../../../store/db/database.ts'
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
import type { Change } from './commit.ts'
import { commitWithOutageRetry } from './commit-with-outage-retry.ts'
import type { Turn } from './turn.ts'

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
