/** The inputs of the statements in sql.ts. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { To, TransitionName } from './state.ts'

/** A call as its generation proposes it. */
export interface ProposedCall {
  id: string
  stepIndex: number
  callIndex: number
  providerCallId: string
  tool: {
    id: string
    version: number
    kind: string
    action: string | null
    definitionHash: string | null
    inputSchema: JsonObject
  } | null
  runtimeName: string
  status: To<'propose'>
  arguments: JsonObject | null
  rawArguments: string | null
  masked: string[][] | null
  result: ToolResult | null
  errorCode: string | null
  approvalId: string | null
  grantId: string | null
  /** For AWAITING_CLIENT: how long the client has for the output, in milliseconds. */
  waitMs: number | null
}

/** The arguments with which an approver replaced the original ones. */
export interface EditedCall {
  own: JsonObject
  keys: string[]
  masked: string[][]
}

/** Transitions that settle a call with a result. */
export type Settling = Extract<
  TransitionName,
  | 'refuse'
  | 'refuseAgain'
  | 'settle'
  | 'timeOut'
  | 'submit'
  | 'close'
  | 'closeSent'
  | 'approve'
  | 'reject'
  | 'withdraw'
  | 'settleLate'
  | 'resolve'
>

export interface CallOutcome<Name extends Settling = Settling> {
  id: string
  /** The epoch of the lease under which the outcome is written, with `underOwnLeases`. */
  epoch?: number
  status: To<Name>
  result: ToolResult
  /** Hash of a submitted output: distinguishes an identical repeat from a conflict. */
  outputHash?: string
  /** Argument paths to hide from now on. */
  masked?: string[][]
}
