/** What is written of a call: the shapes that tool-calls/sql.ts takes. */
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
  /** For AWAITING_CLIENT: how long its output is waited for, in milliseconds. */
  waitMs: number | null
}

/** What an approver put in place of the arguments. */
export interface EditedCall {
  own: JsonObject
  keys: string[]
  masked: string[][]
}

/** Transitions that settle a call with a result. */
export type Settling = Extract<
  TransitionName,
  | 'refuse'
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
  status: To<Name>
  result: ToolResult
  /** Tells an identical repeat of a submitted output from a conflict. */
  outputHash?: string
  /** Places in the arguments that are not shown from now on. */
  masked?: string[][]
}
