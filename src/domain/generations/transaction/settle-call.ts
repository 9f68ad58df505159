/** The outcome of one call of a generation: what its commit writes. */
import type { ToolResult } from '../../../core/content.ts'
import { nowPlus } from '../../../store/db/database.ts'
import type { Services } from '../../access/index.ts'
import { codeOf, loadCall, resourceOf, type ToolCall } from '../../tools/index.ts'
import type { Change } from './commit.ts'
import type { Turn } from './turn.ts'
import { writeSurely } from './commit-surely.ts'

type Outcome = 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN'

/** The change that settles a call, with its event and audit entry. */
export function outcomeOf(
  { services }: { services: { limits: Pick<Services['limits'], 'leaseMs'> } },
  call: ToolCall,
  result: ToolResult,
  status: Outcome,
): Change {
  return {
    wakeAt: nowPlus(services.limits.leaseMs),
    calls: [{ id: call.id, status, result, errorCode: codeOf(result) }],
    events: [{ type: 'TOOL_CALL_SETTLED', data: { ...dataOf(call), status } }],
    audit: [
      {
        projectId: call.projectId,
        principalId: call.requestedBy,
        action: 'tools:Call',
        resource: resourceOf(call.toolId ?? ''),
        outcome: 'EXECUTED',
        details: { toolCallId: call.id, status, attempt: call.attempt },
      },
    ],
  }
}

/**
 * Settles a call, however often the database does not answer. LeaseLostError when the generation is, or may be, another
 * worker's.
 */
export async function settleCall(
  turn: Turn,
  call: ToolCall,
  result: ToolResult,
  status: Outcome,
): Promise<void> {
  await writeSurely(
    turn,
    outcomeOf(turn, call, result, status),
    async (db) => (await loadCall(db, call.id)).settledAt !== null,
  )
}

/** What every event about a call tells. */
export function dataOf(call: ToolCall) {
  return { toolCallId: call.id, name: call.runtimeName, stepIndex: call.stepIndex }
}
