/** What is recorded of a call beside its row: its events, and an audit entry for each outcome. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewAuditEntry } from '../audit/index.ts'
import {
  toolCallProposed,
  toolCallSettled,
  toolCallStarted,
  toolCallUnknown,
  type GenerationEvent,
  type SettledStatus,
  type UnknownReason,
} from '../events/index.ts'
import { resourceOf, unknownReasonOf } from '../tools/index.ts'
import type { ToolCallStatus } from './state.ts'
import type { ToolCall } from './tool-call.ts'

type Named = Pick<ToolCall, 'id' | 'runtimeName' | 'stepIndex'>

/** The fields that every event of a call carries. The step is missing outside generations. */
export function factsOfCall({ id, runtimeName, stepIndex }: Named) {
  return { toolCallId: id, name: runtimeName, ...(stepIndex === null ? {} : { stepIndex }) }
}

export function callProposed(call: Named & { stepIndex: number }): GenerationEvent {
  return toolCallProposed({ ...factsOfCall(call), stepIndex: call.stepIndex })
}

/** `attempt` counts from 1. */
export function callStarted(call: Named, attempt: number): GenerationEvent {
  return toolCallStarted({ ...factsOfCall(call), attempt })
}

export function callSettled(call: Named, status: SettledStatus): GenerationEvent {
  return toolCallSettled({ ...factsOfCall(call), status })
}

/**
 * The events of an UNKNOWN outcome, in their order. Whoever follows a single call reads until TOOL_CALL_SETTLED, so that
 * comes last.
 */
export function callUnknown(call: Named, reason: UnknownReason): GenerationEvent[] {
  return [toolCallUnknown({ ...factsOfCall(call), reason }), callSettled(call, 'UNKNOWN')]
}

/** The events of an outcome of the executor. */
export function callEnded(call: Named, status: SettledStatus, result: ToolResult): GenerationEvent[] {
  return status === 'UNKNOWN' ? callUnknown(call, unknownReasonOf(result)) : [callSettled(call, status)]
}

type Executed = Pick<ToolCall, 'id' | 'projectId' | 'requestedBy' | 'actsFor' | 'toolId' | 'attempt'>

/** The audit entry for an outcome. */
export function executedEntry(call: Executed, status: ToolCallStatus, more: JsonObject = {}): NewAuditEntry {
  const { actsFor } = call
  return {
    projectId: call.projectId,
    principalId: call.requestedBy,
    action: 'tools:Call',
    resource: resourceOf(call.toolId ?? ''),
    outcome: 'EXECUTED',
    details: { toolCallId: call.id, status, attempt: call.attempt, ...(actsFor && { actsFor }), ...more },
  }
}
