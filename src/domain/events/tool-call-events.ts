/** Events of tool calls, in a generation and outside any. */
import { inGeneration, kindsOf, ofRequester } from './define.ts'

/** `name` is the runtime name. `stepIndex` is missing outside a generation and where an approval settles the call. */
type CallFacts = { toolCallId: string; name: string; stepIndex?: number | null }

/** The status of a settled call. */
export type SettledStatus =
  | 'SUCCEEDED'
  | 'ERRORED'
  | 'INVALID'
  | 'UNKNOWN'
  | 'REJECTED'
  | 'EXPIRED'
  | 'SKIPPED'
  | 'CANCELLED'

/**
 * Why the outcome of a call is unknown: no final response arrived, the process that sent it was lost, or its generation
 * ended while it ran.
 */
export type UnknownReason = 'NO_RESPONSE' | 'NOT_STORED' | 'WORKER_LOST' | 'GENERATION_ENDED'

export interface ToolCallEvents {
  TOOL_CALL_PROPOSED: CallFacts & { stepIndex: number }
  /** `attempt` is the one that is sent, from 1. */
  TOOL_CALL_STARTED: CallFacts & { attempt: number }
  TOOL_CALL_SETTLED: CallFacts & { status: SettledStatus }
  /** Written just before the TOOL_CALL_SETTLED of the same call, with its status UNKNOWN. */
  TOOL_CALL_UNKNOWN: CallFacts & { reason: UnknownReason }
  /** `decidedBy` is a key's id; `system` with `late` when the tool's own result came after the call was UNKNOWN. */
  UNKNOWN_CALL_RESOLVED: {
    toolCallId: string
    name: string
    outcome: 'SUCCEEDED' | 'FAILED' | 'RUN_AGAIN'
    decidedBy: string
    late?: true
  }
}

const kind = kindsOf<ToolCallEvents>()

export const toolCallProposed = kind('TOOL_CALL_PROPOSED', inGeneration)
export const toolCallStarted = kind('TOOL_CALL_STARTED', inGeneration)
export const toolCallSettled = kind('TOOL_CALL_SETTLED', inGeneration)
export const toolCallUnknown = kind('TOOL_CALL_UNKNOWN', inGeneration)
export const unknownCallResolved = kind('UNKNOWN_CALL_RESOLVED', ofRequester)
