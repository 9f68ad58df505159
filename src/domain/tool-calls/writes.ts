/** The inputs of the statements in sql.ts, and conditions that prove the right to write a call. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { To, TransitionName } from './state.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { heldRows, type HeldRow } from '../../store/work/work.ts'

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
export type SettlingTransition = Extract<
  TransitionName,
  | 'refuse'
  | 'refuseAgain'
  | 'settle'
  | 'timeOut'
  | 'report'
  | 'submit'
  | 'close'
  | 'closeSent'
  | 'approve'
  | 'reject'
  | 'withdraw'
  | 'settleLate'
  | 'resolve'
>

export interface CallOutcome<Name extends SettlingTransition = SettlingTransition> {
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

/** A condition on `t`: its writer may write it. */
export type Proof = SQL

/** Within the commit of the call's generation, whose row is the relation `g(id)`. Settled calls stay unchanged. */
export const inGeneration: Proof = sql`t.generation_id in (select id from g) and t.settled_at is null`

/** The writer holds the lease of the call's own row. */
export function underLease({ epoch }: HeldRow): Proof {
  return sql`t.epoch = ${epoch}::int`
}

/** The same for the outcomes of several calls, each with the epoch of its lease. The relation `o(id)` has locked the calls. */
export const underOwnLeases: Proof = sql`t.epoch = x.epoch and t.id in (select id from o)`

/**
 * The relation `o`: locks the held calls that nobody else has locked. It waits for nothing, so their order does not matter.
 * Each is looked up by itself: a plan that was made while the table was small would go on reading all of it.
 */
export function lockHeldCalls(held: readonly HeldRow[]): SQL {
  return sql`select t.id
    from ${heldRows(held)}
    cross join lateral (
      select c.id
      from tool_calls as c
      where c.id = h.id and c.epoch = h.epoch
      for update skip locked
    ) as t`
}

/** The transaction has locked the call, or the row that owns it. */
export const underLock: Proof = sql`true`
