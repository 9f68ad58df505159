/** What an execution of a call is given: its writes, its lease and what is sent. Types only. */
import type { JsonObject } from '../../core/json.ts'
import type { Moment } from '../../core/time.ts'
import type { TraceContext } from '../../core/telemetry/unit.ts'
import type { Basis } from '../basis/index.ts'
import type { Lease } from '../../store/work/leases.ts'
import type { AgreedCall, Drift, NewApproval } from '../approvals/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import type { Callable, CallerChannel, FinishedCall } from '../tools/index.ts'
import type { InputRequired, UpstreamRow } from '../upstream/index.ts'

/**
 * The writes of an execution. Each is committed with its events and audit entry, under the epoch of the row's owner,
 * before the next step. `Settled` is what `execute` returns.
 */
export interface CallStore<Settled> {
  /**
   * Commits EXECUTING with one more attempt. StaleReadError, with nothing written, when the basis does not hold any more, a
   * pause holds, or this process may not write the call.
   */
  start(call: ToolCall, basis: Basis): Promise<ToolCall>
  /**
   * Commits that the call is its client's to run from now on. Errors as those of `start`. Missing for calls outside a
   * generation, which no client runs.
   */
  offer?(call: ToolCall, basis: Basis): Promise<void>
  /**
   * Commits that a call which was begun is its caller's to run, who says how it ended. Missing for calls of a generation, which
   * are offered.
   */
  handOver?(call: ToolCall): Promise<Settled>
  settle(call: ToolCall, finished: FinishedCall): Promise<Settled>
  /** Voids the approval and asks for a new one, or settles the call when nothing can be asked. */
  askAgain(call: ToolCall, drift: Drift): Promise<void>
  /** Stops a call that was begun and not acted on, until the person that the question names has logged in. */
  askLogin(call: ToolCall, question: NewApproval): Promise<Settled>
  /** A rate limit of the tool or agent delays the call: its status stays, and it is due in `waitMs` milliseconds. */
  holdBack(call: ToolCall, waitMs: number): Promise<void>
  /**
   * Parks the call while a pause of its project, agent or tool holds; its status stays. False when there is none.
   * LeaseLostError when this process may not write the call.
   */
  park(call: ToolCall): Promise<boolean>
  /** Whether a pause holds the call, which is not sent yet. */
  isPaused(call: ToolCall): Promise<boolean>
  /** The request is sent now: from here on its outcome may be unknown. */
  onSend(call: ToolCall): void
  /** This attempt was certainly not sent, for this reason. Null: the call is left to the next owner of the row. */
  notSent(call: ToolCall, reason: unknown): Promise<Settled | null>
  /**
   * Starts the child run that the call asks for, which settles the call later. Missing for calls that cannot have
   * child runs.
   */
  startChild?(call: ToolCall): Promise<void>
  /** Parks a call whose upstream requires input from the caller. Missing when there is no caller to ask. */
  askCaller?(call: ToolCall, asked: InputRequired): Promise<Settled>
}

export interface Execution<Settled> {
  store: CallStore<Settled>
  /** The lease of the work row: the call's own, or its generation's. */
  lease: Lease
  /** Aborts an idempotent call. A call that may have effects is waited for, because its outcome must be known. */
  signal: AbortSignal
  /** True when this process has just committed the call as EXECUTING and has not sent it. */
  isFresh: boolean
  /** When the statement of a fresh call was sent; it has found no pause. Absent: that is asked again. */
  begunAt?: Moment | undefined
  /** What was read when a fresh call was created, if this process did that. Absent: it is read. */
  known?: Pick<PreparedCall, 'callable' | 'upstream'>
  /** The span that asks for the call; or, for one that waited, the request that its own trace is linked to. */
  trace?: { parent?: TraceContext | undefined; continues?: TraceContext | undefined }
  /** Gates that apply beside the tool's own. */
  gates: readonly GatePolicy[]
  /** What was read of an APPROVED call; absent: it is read. */
  agreed?: AgreedCall | undefined
  /** Receives progress and can be asked for input; null when there is no caller. */
  caller?: CallerChannel | null
  /** After an abort: true when the call stays EXECUTING, and the next owner of the row repeats it. */
  isLeftToNext(): boolean
}

/** What is sent: the callable, and the arguments with presets merged in. */
export interface PreparedCall {
  callable: Callable
  merged: JsonObject
  /** The row of an mcp tool's upstream, as it was when the call was committed; absent: it is read. */
  upstream?: UpstreamRow | null
}
