/** A tool call: one request to run a tool, inside a generation or outside. */
import type { z } from 'zod'
import { choice, entity } from '../../core/shapes.ts'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { inKeyOrder, type KeyOrder } from '../../core/key-order.ts'
import type { TraceContext } from '../../core/telemetry/unit.ts'
import type { toolCalls } from '../../store/db/tables/tools.ts'
import type { Requester } from '../access/index.ts'
import type { Attachment } from '../files/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import type { CallKind } from '../tools/index.ts'
import type { ToolCallStatus } from './state.ts'

/** One time that a call was sent. Without an outcome it is running, or its process was lost. */
export interface ToolCallAttempt {
  /** Counts from 1. */
  attempt: number
  /** The Idempotency-Key that was sent. */
  idempotencyKey: string
  /** ISO 8601. */
  startedAt: string
  /** Identifies who began the attempt; see OwnAttempt. Never shown. */
  token?: string
  endedAt?: string
  outcome?: ToolCallStatus
  errorCode?: string | null
}

/**
 * Input that an upstream requires from the caller in the middle of a call (MCP 2026-07-28, multi round-trip
 * requests).
 */
export interface CallerQuestion {
  /** By keys that are unique within the call. */
  inputRequests: JsonObject
  /** The state that the upstream wants back with the responses. */
  requestState: string | null
  /** Responses so far, by the same keys. */
  answers: JsonObject
  /** How often the upstream has asked. */
  round: number
}

/** What a person can say about a call whose outcome is unknown. */
export const resolution = choice(
  'UnknownCallOutcome',
  'The outcome that a person sets for a tool call with status UNKNOWN.',
  {
    SUCCEEDED: 'The call took effect.',
    FAILED: 'The call did not take effect, or failed.',
    RUN_AGAIN: 'The call is sent once more, with the same Idempotency-Key.',
  },
)
export type Resolution = z.output<typeof resolution>

export interface ToolCall {
  id: string
  projectId: string
  generationId: string | null
  stepIndex: number | null
  callIndex: number | null
  providerCallId: string | null
  source: 'GENERATION' | 'DIRECT' | 'BRIDGE'
  /** For a call of an agent: that agent's id. */
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: CallKind | null
  /** The action of the tool; null for a tool with only one. */
  action: string | null
  /** Hash of the action's definition when the call was proposed. */
  definitionHash: string | null
  /** The child run that the call waits for. */
  childId: string | null
  status: ToolCallStatus
  /** Without presets; null when the model sent no valid JSON. */
  arguments: JsonObject | null
  rawArguments: string | null
  /** Attached files. */
  attachments: Attachment[] | null
  /** How often the call was sent. */
  attempt: number
  result: ToolResult | null
  isError: boolean | null
  errorCode: string | null
  outputHash: string | null
  requestedBy: string
  /** The rights of a person with a token; null for a key. */
  requester: Requester | null
  /** Of the request, for a call outside a generation; null without one. */
  trace: TraceContext | null
  /** For a call over the bridge: its agent, the agent's gate at that time, and the conversation. */
  agentId: string | null
  agentGate: GatePolicy | null
  threadId: string | null
  requestHash: string | null
  /** The call was stopped at the gate, and its caller has not fetched the outcome yet. */
  awaited: boolean
  cancelRequestedAt: Date | null
  /** Input that an upstream requires from the caller before it continues; null for none. */
  asked: CallerQuestion | null
  /** Every attempt, oldest first. */
  attempts: ToolCallAttempt[]
  approvalId: string | null
  grantId: string | null
  /** Names of the arguments that an approver changed. */
  editedKeys: string[] | null
  /** Argument paths that are never shown. */
  masked: string[][] | null
  resolution: Resolution | null
  resolvedBy: string | null
  resolvedAt: Date | null
  /** A rate limit delays the call until then. */
  notBefore: Date | null
  deadlineAt: Date | null
  startedAt: Date | null
  settledAt: Date | null
  createdAt: Date
}

export const ToolCall = entity<ToolCall>()('ToolCall')

export function toolCallOf(row: typeof toolCalls.$inferSelect): ToolCall {
  const { wakeAt: _wakeAt, epoch: _epoch, argumentOrder, ...rest } = row
  const call = rest as ToolCall
  return argumentOrder && call.arguments
    ? { ...call, arguments: inKeyOrder(call.arguments, argumentOrder as KeyOrder) }
    : call
}

/** What holds a call outside any generation when it is paused: its project, its tool, and the agent through which it came. */
export type Pausable = Pick<ToolCall, 'projectId' | 'toolId' | 'agentId'>

/** The ids of these. */
export function targetsOf({ projectId, toolId, agentId }: Pausable): string[] {
  return [projectId, toolId, agentId].filter((id) => id !== null)
}
