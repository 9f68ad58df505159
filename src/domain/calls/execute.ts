/** Executes tool calls, inside a generation and outside: the only code that starts, sends and settles a call. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { StaleReadError, withProof, type Basis } from '../../store/db/proof.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import { basisOf, rememberedPrincipal, type Caller, type Services } from '../access/index.ts'
import { driftOf, isAsAgreed, type Agreed, type Drift } from '../approvals/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import {
  asksAgent,
  givenUpResult,
  goneResult,
  isGivenUp,
  isIdempotent,
  finished,
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
  type Run,
} from '../tools/index.ts'
import type { InputRequired, UpstreamRow } from '../upstream/index.ts'

/**
 * The writes of an execution. Each is committed with its events and audit entry, under the epoch of the row's owner,
 * before the next step. `Settled` is what `execute` returns.
 */
export interface CallStore<Settled> {
  /**
   * Commits EXECUTING with one more attempt. StaleReadError, with nothing written, when the basis does not hold any more, or
   * this process may not write the call; LeaseLostError for the latter when there is no basis.
   */
  start(call: ToolCall, basis: Basis): Promise<ToolCall>
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
 *
 * The requester's key and what was agreed to are judged by what this process has read before, and the commit that starts
 * the call proves them.
 */
export async function execute<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
): Promise<Settled | null> {
  if (how.prepared) return send(services, call, how.prepared, how)
  const requester = rememberedPrincipal(services.db, call.requestedBy, services.clock.now())
  const remembered = { requester, agreed: how.agreed }
  const next = await withProof<Remembered, Remembered, Next<Settled>>({
    remembered: requester || how.agreed ? remembered : null,
    read: async () => ({ requester: null, agreed: undefined }),
    judge: async (known) => known,
    write: (known) => startBy(services, call, how, known),
  })
  // Outside of the proof: what was sent is never started again.
  return 'started' in next ? send(services, next.started, next.prepared, how) : next.settled
}

/** What is left of an execution when nothing is to be proved any more. */
type Next<Settled> = { started: ToolCall; prepared: Prepared } | { settled: Settled | null }

/** What is not read again. */
interface Remembered {
  requester: Caller | null
  agreed: Agreed | undefined
}

async function startBy<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
  { requester, agreed }: Remembered,
): Promise<Next<Settled>> {
  const { store, isFresh } = how
  const isLost = call.status === 'EXECUTING' && !isFresh
  const isAgreed = call.status === 'APPROVED' && agreed && (await isAsAgreed(services, call, agreed))
  if (call.status === 'APPROVED' && !isAgreed) {
    const drift = await driftOf(services, call, how.gates)
    if (drift) return leftOpen(store.askAgain(call, drift))
  }
  if (store.startChild && asksAgent(call))
    return leftOpen((await isHeldBack(services, call, store)) ? null : store.startChild(call))
  const callable = await proposedCallable(services, call)
  if (isLost) {
    if (!callable || !isIdempotent(callable)) return { settled: await store.settle(call, lostOutcome) }
    if (isGivenUp(call)) return { settled: await store.settle(call, finished(givenUpResult())) }
  }
  // After a cancel, a call that was not sent is not sent any more.
  if (how.signal.aborted && !isFresh) return { settled: null }
  const prepared = callable && prepareCall(callable, call.arguments)
  const refuse = async (result: ToolResult) => ({
    settled: await store.settle(call, isLost ? lostOutcome : finished(result)),
  })
  if (!callable || !prepared?.ok) return refuse(callable ? misfit : goneResult())
  const ready = { callable, merged: prepared.merged }
  // A fresh call was checked a moment ago, when it was proposed.
  if (isFresh) return { started: call, prepared: ready }
  if (!requester && !(await mayStillRun(services, call))) return refuse(notValidResult())
  if (!isLost && (await isHeldBack(services, call, store))) return { settled: null }
  const basis = {
    ...(requester ? basisOf(requester) : {}),
    ...(isAgreed ? { toolId: call.toolId, toolVersion: call.toolVersion } : {}),
  }
  const started = await store.start(call, basis).catch(async (error: unknown) => {
    if (error instanceof StaleReadError && !isLost) await giveBackUse(services, call)
    throw error
  })
  return { started, prepared: ready }
}

const lostOutcome: Finished = { result: unknownResult(), outcome: 'unknown' }
const misfit: ToolResult = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')

async function leftOpen(done: Promise<void> | null): Promise<{ settled: null }> {
  await done
  return { settled: null }
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
