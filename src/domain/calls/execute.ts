/** Executes a tool call, inside a generation or outside: the one way in which a call is started, sent and settled. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { driftOf, type Drift } from '../approvals/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import {
  asksAgent,
  givenUpResult,
  goneResult,
  isGivenUp,
  isIdempotent,
  known,
  mayStillRun,
  notValidResult,
  prepareCall,
  proposedCallable,
  runTool,
  runToolFor,
  unknownResult,
  WithheldError,
  type Callable,
  type CallerChannel,
  type Finished,
  type GatePolicy,
  type Run,
} from '../tools/index.ts'
import type { InputRequired } from '../upstream/index.ts'

/**
 * Where an execution writes: each write is committed, with its events and audit entry, under the proof of whoever holds
 * the call, before the next act. `Settled` is what the caller of `execute` gets.
 */
export interface CallStore<Settled> {
  /** Commits EXECUTING with one more attempt. Null when the call is not ours any more. */
  start(call: ToolCall): Promise<ToolCall | null>
  settle(call: ToolCall, finished: Finished): Promise<Settled>
  /** Voids the approval and asks once more, or settles the call when nothing can be asked. */
  askAgain(call: ToolCall, drift: Drift): Promise<void>
  /** A limit of the tool or agent holds the call back: it stays as it is, and is due after so many milliseconds. */
  holdBack(call: ToolCall, waitMs: number): Promise<void>
  /** The request leaves now: from here on its outcome may be unknown. */
  onSend(call: ToolCall): void
  /** The call was surely not sent, for this reason. */
  notSent(call: ToolCall, reason: unknown): Promise<Settled>
  /** Starts the run of another agent that the call asks for, and leaves the call to it. Missing where calls have no runs. */
  startChild?(call: ToolCall): Promise<void>
  /** Parks a call whose upstream asks its caller something first. Missing where nobody can be asked. */
  askCaller?(call: ToolCall, asked: InputRequired): Promise<Settled>
}

export interface Execution<Settled> {
  store: CallStore<Settled>
  /** Of the row that stands for the call: its own, or its generation's. */
  lease: Lease
  /** Cuts off an idempotent call. One that may take effect is waited for: its outcome must be known. */
  signal: AbortSignal
  /** The call was committed as EXECUTING by this process and has not been sent. */
  isFresh: boolean
  /** What a fresh call was prepared to, when that is known here. */
  prepared?: Prepared
  /** Gates that hold beside the tool's own. */
  gates: readonly GatePolicy[]
  /** Who is told of progress and can be asked; null for nobody. */
  caller?: CallerChannel | null
  /** After an abort: the call stays EXECUTING for whoever takes the row next, who repeats it. */
  isLeftToNext(): boolean
}

/** What is sent: the callable, and the arguments with presets merged in. */
export interface Prepared {
  callable: Callable
  merged: JsonObject
}

/**
 * Executes a call that is fresh, PROPOSED, APPROVED or EXECUTING. An APPROVED one whose tool has changed is asked about
 * again; one whose tool is used as often as its limits allow is held back. EXECUTING and not fresh means that its worker
 * was lost: an idempotent call is sent again under the same key, a bounded number of times; any other becomes UNKNOWN
 * and is never sent twice. Returns what `settle` returned, or null when the call was left open. Throws what the database
 * throws, and LeaseLostError.
 */
export async function execute<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
): Promise<Settled | null> {
  const { store, isFresh } = how
  if (how.prepared) return send(services, call, how.prepared, how)
  const isLost = call.status === 'EXECUTING' && !isFresh
  if (call.status === 'APPROVED') {
    const drift = await driftOf(services, call, how.gates)
    if (drift) return leave(store.askAgain(call, drift))
  }
  if (store.startChild && asksAgent(call))
    return (await isHeldBack(services, call, store)) ? null : leave(store.startChild(call))
  const callable = await proposedCallable(services, call)
  if (isLost) {
    if (!callable || !isIdempotent(callable)) return store.settle(call, lostOutcome)
    if (isGivenUp(call)) return store.settle(call, known(givenUpResult()))
  }
  // A cancel leaves what was not sent unsent.
  if (how.signal.aborted && !isFresh) return null
  const prepared = callable && prepareCall(callable, call.arguments)
  if (!callable || !prepared?.ok) return store.settle(call, known(callable ? misfit : goneResult()))
  if (!isFresh) {
    // Of a fresh call this was checked when it was proposed, a moment ago.
    if (!(await mayStillRun(services, call))) return store.settle(call, known(notValidResult()))
    if (!isLost && (await isHeldBack(services, call, store))) return null
  }
  const started = isFresh ? call : await store.start(call)
  return started && send(services, started, { callable, merged: prepared.merged }, how)
}

const lostOutcome: Finished = { result: unknownResult(), outcome: 'unknown' }
const misfit: ToolResult = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')

async function leave(done: Promise<void>): Promise<null> {
  await done
  return null
}

async function isHeldBack(services: Services, call: ToolCall, store: CallStore<unknown>): Promise<boolean> {
  if (!call.toolId) return false
  const scope = call.kind === 'agent' ? 'AGENT' : 'TOOL'
  const waitMs = await services.rates.takeUse(call.projectId, scope, call.toolId)
  if (waitMs > 0) await store.holdBack(call, Math.ceil(waitMs))
  return waitMs > 0
}

async function send<Settled>(
  services: Services,
  call: ToolCall,
  { callable, merged }: Prepared,
  how: Execution<Settled>,
): Promise<Settled | null> {
  const { store, lease, signal, caller = null } = how
  const run: Run = {
    projectId: call.projectId,
    callable,
    merged,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    requester: call.requester,
    signal: isIdempotent(callable) ? signal : new AbortController().signal,
    mayStart() {
      const may = lease.isSure()
      if (may) store.onSend(call)
      return may
    },
  }
  let ran
  try {
    // This process may have been suspended since the commit: then the lease may be another's.
    await lease.confirm()
    ran = store.askCaller ? await runToolFor(services, run, caller) : await runTool(services, run)
  } catch (error) {
    const isUnsent =
      error instanceof LeaseLostError || error instanceof WithheldError || isStorageError(error)
    if (isUnsent) return store.notSent(call, error)
    throw error
  }
  if ('inputRequired' in ran) return store.askCaller!(call, ran.inputRequired)
  if (ran.result.isError && isIdempotent(callable) && how.isLeftToNext()) return null
  return store.settle(call, ran)
}
