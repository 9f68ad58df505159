/** What a tool call is: one request to run a tool, inside a generation or outside. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { toolCalls } from '../../store/db/tables/tools.ts'
import type { Requester } from '../access/index.ts'
import type { Attachment } from '../files/index.ts'
import type { CallKind, GatePolicy } from '../tools/index.ts'
import type { ToolCallStatus } from './state.ts'

/** One time that a call was sent. Without an outcome it is under way, or was left behind by a process that went away. */
export interface ToolCallAttempt {
  /** Counts from 1. */
  attempt: number
  /** What the outside world heard as Idempotency-Key. */
  idempotencyKey: string
  /** ISO 8601. */
  startedAt: string
  endedAt?: string
  outcome?: ToolCallStatus
  errorCode?: string | null
}

/** Questions of an upstream to its caller in the middle of a call (MCP 2026-07-28, multi round-trip requests). */
export interface AskedBack {
  /** By keys that are never used again within the call. */
  inputRequests: JsonObject
  /** What the upstream wants to have back. */
  requestState: string | null
  /** Answers so far, by the same keys. */
  answers: JsonObject
  /** Counts the times it asked. */
  round: number
}

/** What a person says of a call whose outcome is unknown. */
export const resolutions = ['SUCCEEDED', 'FAILED', 'RUN_AGAIN'] as const
export type Resolution = (typeof resolutions)[number]

export interface ToolCall {
  id: string
  projectId: string
  generationId: string | null
  stepIndex: number | null
  callIndex: number | null
  providerCallId: string | null
  source: 'GENERATION' | 'DIRECT' | 'BRIDGE'
  /** Of a call of an agent: that agent's id. */
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: CallKind | null
  /** Which of the tool's actions; null where it has one name. */
  action: string | null
  /** What was said of the action when the call was proposed. */
  definitionHash: string | null
  /** The run of another agent that it waits for. */
  childId: string | null
  status: ToolCallStatus
  /** Without presets; null when the model wrote no legal JSON. */
  arguments: JsonObject | null
  rawArguments: string | null
  /** Files that came with it. */
  attachments: Attachment[] | null
  /** Times the call was sent. */
  attempt: number
  result: ToolResult | null
  isError: boolean | null
  errorCode: string | null
  outputHash: string | null
  requestedBy: string
  /** With which rights, when it was a person with a token; null for a key. */
  requester: Requester | null
  /** For a call over the bridge: through which agent, its gate then, and in which conversation. */
  agentId: string | null
  agentGate: GatePolicy | null
  threadId: string | null
  requestHash: string | null
  /** It was stopped at the gate, and its caller has not fetched the outcome yet. */
  awaited: boolean
  callerGoneAt: Date | null
  cancelRequestedAt: Date | null
  /** What an upstream wants to know from the caller before it goes on; null when it asks nothing. */
  asked: AskedBack | null
  /** Each time it was sent, oldest first. */
  attempts: ToolCallAttempt[]
  approvalId: string | null
  grantId: string | null
  /** Arguments that an approver changed, by name. */
  editedKeys: string[] | null
  /** Places in the arguments that are never shown. */
  masked: string[][] | null
  resolution: Resolution | null
  resolvedBy: string | null
  resolvedAt: Date | null
  /** A limit holds it back until then; it waits by itself. */
  notBefore: Date | null
  deadlineAt: Date | null
  startedAt: Date | null
  settledAt: Date | null
  createdAt: Date
}

export function toolCallOf(row: typeof toolCalls.$inferSelect): ToolCall {
  const { wakeAt: _wakeAt, epoch: _epoch, ...rest } = row
  return rest as ToolCall
}
