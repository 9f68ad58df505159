/** Executes tool calls, inside a generation and outside: the only code that starts, sends and settles a call. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import { rememberedPrincipal, type Caller, type Services } from '../access/index.ts'
import { driftOf, isAsAgreed, type Agreed, type Drift } from '../approvals/index.ts'
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
import type { InputRequired, UpstreamRow } from '../upstream/index.ts'

/**
 * The writes of an execution. Each is committed with its events and audit entry, under the epoch of the row's owner,
 * before the next step. `Settled` is what `execute` returns.
 */
export interface CallStore<Settled> {
  /**
   * Commits EXECUTING with one more attempt, provided that the requester's key is still valid, if one is given, and that the
   * tool still has the call's version, with `isAgreed`. Returns null, with nothing written, when that is not so, or when
   * this process may not write the call any more.
   */
  start(call: ToolCall, requester: Caller | null, isAgreed: boolean): Promise<ToolCall | null>
  settle(call: ToolCall, finished: Finished): Promise<Settled>
  /** Voids the approval and asks for a new one, or settles the call when nothing can be asked. */
  askAgain(call: ToolCall, drift: Drift): Promise<void>
  /** A rate limit of the tool or agent delays the call: its status stays, and it is due in `waitMs` milliseconds. */
  holdBack(call: ToolCall, waitMs: number): Promise<void>
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
  /** What a fresh call was prepared to, if this process has it. */
  prepared?: Prepared
  /** Gates that apply beside the tool's own. */
  gates: readonly GatePolicy[]
  /** What was read of an APPROVED call; absent: it is read. */
  agreed?: Agreed | undefined
  /** Receives progress and can be asked for input; null when there is no caller. */
  caller?: CallerChannel | null
  /** After an abort: true when the call stays EXECUTING, and the next owner of the row repeats it. */
  isLeftToNext(): boolean
}

/** What is sent: the callable, and the arguments with presets merged in. */
export interface Prepared {
  callable: Callable
  merged: JsonObject
  /** The row of an mcp tool's upstream, as it was when the call was committed; absent: it is read. */
  upstream?: UpstreamRow | null
}

/**
 * Executes a call that is fresh, PROPOSED, APPROVED or EXECUTING. An APPROVED call whose tool has changed is asked
 * about again; a call whose tool has reached its rate limit is delayed. EXECUTING and not fresh means that its worker
 * was lost: an idempotent call is sent again under the same key, a bounded number of times; any other, and one that may
 * not be sent again, becomes UNKNOWN and is never sent twice. Returns what `settle` returned, or null when the call was left open. Throws database
 * errors and LeaseLostError.
 */
export async function execute<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
): Promise<Settled | null> {
  const { store, isFresh } = how
  if (how.prepared) return send(services, call, how.prepared, how)
  const isLost = call.status === 'EXECUTING' && !isFresh
  const isAgreed = call.status === 'APPROVED' && how.agreed && (await isAsAgreed(services, call, how.agreed))
  if (call.status === 'APPROVED' && !isAgreed) {
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
  // After a cancel, a call that was not sent is not sent any more.
  if (how.signal.aborted && !isFresh) return null
  const prepared = callable && prepareCall(callable, call.arguments)
  if (!callable || !prepared?.ok)
    return store.settle(call, isLost ? lostOutcome : known(callable ? misfit : goneResult()))
  const sendIt = (started: ToolCall) => send(services, started, { callable, merged: prepared.merged }, how)
  // A fresh call was checked a moment ago, when it was proposed.
  return isFresh
    ? sendIt(call)
    : startAndSend(services, call, how, { isLost, isAgreed: isAgreed === true, sendIt })
}

/**
 * Commits that the call is sent, and sends it. With `isAgreed` the commit proves that what was agreed to has not changed; when it
 * writes nothing, the tool is read. A requester's key that this process has read before costs no statement: the
 * commit proves that it is still valid. When the commit writes nothing, the key is read.
 */
async function startAndSend<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
  {
    isLost,
    isAgreed,
    sendIt,
  }: { isLost: boolean; isAgreed: boolean; sendIt(started: ToolCall): Promise<Settled | null> },
): Promise<Settled | null> {
  const { store } = how
  const requester = rememberedPrincipal(services.db, call.requestedBy, services.clock.now())
  const refuse = () => store.settle(call, isLost ? lostOutcome : known(notValidResult()))
  if (!requester && !(await mayStillRun(services, call))) return refuse()
  if (!isLost && (await isHeldBack(services, call, store))) return null
  let started = await store.start(call, requester, isAgreed)
  if (!started && requester) {
    if (!(await mayStillRun(services, call))) {
      if (!isLost) await giveBackUse(services, call)
      return refuse()
    }
    started = await store.start(call, null, isAgreed)
  }
  if (started) return sendIt(started)
  if (!isAgreed) return null
  // The tool may have changed since it was read.
  await giveBackUse(services, call)
  return execute(services, call, { ...how, agreed: undefined })
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

/** The call does not run after all: it has used its tool no more than before. */
async function giveBackUse({ rates }: Services, { projectId, toolId }: ToolCall): Promise<void> {
  if (toolId) await rates.giveBackUse(projectId, 'TOOL', toolId)
}

async function send<Settled>(
  services: Services,
  call: ToolCall,
  { callable, merged, upstream = null }: Prepared,
  how: Execution<Settled>,
): Promise<Settled | null> {
  const { store, lease, signal, caller = null } = how
  const run: Run = {
    projectId: call.projectId,
    callable,
    merged,
    upstream,
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
    // This process may have been suspended since the commit, and another worker may hold the lease by now.
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
