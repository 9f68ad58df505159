/** Executes tool calls, inside a generation and outside: the only code that starts, sends and settles a call. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { momentNow, type Moment } from '../../core/time.ts'
import { StaleReadError, withProof, type Basis } from '../basis/index.ts'
import { isRefused } from '../../store/db/storage-error.ts'
import { basisOf, rememberedPrincipal, type Caller, type Services } from '../access/index.ts'
import { callableAsAgreed, driftOf, type AgreedCall } from '../approvals/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import {
  asksAgent,
  finish,
  givenUpResult,
  goneResult,
  isGivenUp,
  isIdempotent,
  mayStillRun,
  notValidResult,
  prepareCall,
  proposedCallable,
  unknownResult,
  finishUnsent,
  type FinishedCall,
} from '../tools/index.ts'
import type { CallStore, Execution, PreparedCall } from './execution.ts'
import { send } from './send.ts'

/**
 * Executes a call that is fresh, PROPOSED, APPROVED or EXECUTING. An APPROVED call whose tool has changed is asked
 * about again; a call whose tool has reached its rate limit is delayed. EXECUTING and not fresh means that its worker
 * was lost: an idempotent call is sent again under the same key, a bounded number of times; any other, and one that may
 * not be sent again, becomes UNKNOWN and is never sent twice. Returns what `settle` returned, or null when the call was
 * left open. Throws database errors and LeaseLostError.
 *
 * The requester's key and what was agreed to are judged by what this process has read before, and the commit that starts
 * the call proves them.
 */
export async function execute<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
): Promise<Settled | null> {
  const requester = rememberedPrincipal(services.db, call.requestedBy, services.clock.now(), call.requester)
  const remembered = { requester, agreed: how.agreed }
  const next = await withProof<Remembered, Remembered, Next<Settled>>({
    remembered: requester || how.agreed ? remembered : null,
    read: async () => ({ requester: null, agreed: undefined, isRead: true }),
    judge: async (known) => known,
    write: (known) => startBy(services, call, how, known),
  }).catch(async (error: unknown): Promise<Next<Settled>> => {
    // Whatever comes before it is sent would be refused again.
    if (!isRefused(error)) throw error
    services.log.error({ err: error, callId: call.id }, 'the database refused to begin a call')
    return {
      settled: await how.store.settle(call, wasSent(call, how) ? lostOutcome : finishUnsent(notBegun)),
    }
  })
  // Outside of the proof: what was sent is never started again.
  if (!('started' in next)) return next.settled
  const { started, prepared, begunAt } = next
  if (started.kind === 'client') return how.store.handOver!(started)
  return send(services, started, prepared, how, begunAt)
}

/** What is left of an execution when nothing is to be proved any more. */
type Next<Settled> =
  | { started: ToolCall; prepared: PreparedCall; begunAt: Moment | undefined }
  | { settled: Settled | null }

/** What is not read again. */
interface Remembered {
  requester: Caller | null
  agreed: AgreedCall | undefined
  /** Nothing is remembered: everything was read for this. */
  isRead?: true
}

async function startBy<Settled>(
  services: Services,
  call: ToolCall,
  how: Execution<Settled>,
  { requester, agreed, isRead }: Remembered,
): Promise<Next<Settled>> {
  const { store, isFresh } = how
  const isLost = call.status === 'EXECUTING' && !isFresh
  const isApproved = call.status === 'APPROVED'
  const asAgreed = isApproved && agreed ? await callableAsAgreed(services, call, agreed) : null
  if (isApproved && !asAgreed) {
    const drift = await driftOf(services, call, how.gates)
    if (drift) return leftOpen(store.askAgain(call, drift))
  }
  if (store.startChild && asksAgent(call))
    return leftOpen((await isHeldBack(services, call, store)) ? null : store.startChild(call))
  const callable = asAgreed ?? how.known?.callable ?? (await proposedCallable(services, call))
  if (isLost) {
    if (!callable || !isIdempotent(callable)) return { settled: await store.settle(call, lostOutcome) }
    if (isGivenUp(call)) return { settled: await store.settle(call, finish(givenUpResult())) }
  }
  // After a cancel, a call that was not sent is not sent any more.
  if (how.signal.aborted && !isFresh) return { settled: null }
  const prepared = callable && prepareCall(callable, call.arguments)
  const refuse = async (result: ToolResult) => ({
    settled: await store.settle(call, wasSent(call, how) ? lostOutcome : finishUnsent(result)),
  })
  if (!callable || !prepared?.ok) return refuse(callable ? misfit : goneResult())
  const ready = { callable, merged: prepared.merged }
  // The statement that created a fresh call began it, and proved what it was checked against.
  if (isFresh) {
    const { upstream } = how.known ?? {}
    return { started: call, prepared: { ...ready, ...(upstream && { upstream }) }, begunAt: how.begunAt }
  }
  if (!requester && !(await mayStillRun(services, call))) return refuse(notValidResult())
  if (!isLost && (await isHeldBack(services, call, store))) return { settled: null }
  const basis = {
    ...(requester ? basisOf(requester) : {}),
    ...(asAgreed ? { toolId: call.toolId, toolVersion: call.toolVersion } : {}),
  }
  const begunAt = momentNow()
  const started = await begin(store, call, basis).catch(async (error: unknown) => {
    if (!(error instanceof StaleReadError)) throw error
    if (!isLost) await giveBackUse(services, call)
    // Memory may have been wrong about more than a pause.
    if (isRead && (await store.park(call))) return null
    throw error
  })
  return started ? { started, prepared: ready, begunAt } : { settled: null }
}

/** Whether an earlier attempt was, or may have been, sent. */
function wasSent({ status, attempt }: ToolCall, { isFresh }: Execution<unknown>): boolean {
  // One that a person lets run again was sent before.
  return (status === 'EXECUTING' && !isFresh) || (status === 'PROPOSED' && attempt > 0)
}

const notBegun = errorResult(
  'not_stored',
  'The database refused to store that this call begins. It was not run.',
)

/** Starts the call, or gives it to the client that runs it: null then. */
async function begin(store: CallStore<unknown>, call: ToolCall, basis: Basis): Promise<ToolCall | null> {
  if (call.kind !== 'client' || !store.offer) return store.start(call, basis)
  await store.offer(call, basis)
  return null
}

const lostOutcome: FinishedCall = { result: unknownResult(), outcome: 'unknown' }
const misfit: ToolResult = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')

async function leftOpen(done: Promise<void> | null): Promise<{ settled: null }> {
  await done
  return { settled: null }
}

async function isHeldBack(services: Services, call: ToolCall, store: CallStore<unknown>): Promise<boolean> {
  if (!call.toolId || call.kind === 'client') return false
  const scope = call.kind === 'agent' ? 'AGENT' : 'TOOL'
  const waitMs = await services.rates.takeUse(call.projectId, scope, call.toolId)
  if (waitMs > 0) await store.holdBack(call, Math.ceil(waitMs))
  return waitMs > 0
}

/** The call does not run after all: it has used its tool no more than before. */
async function giveBackUse({ rates }: Services, { projectId, toolId, kind }: ToolCall): Promise<void> {
  if (toolId && kind !== 'client') await rates.giveBackUse(projectId, 'TOOL', toolId)
}
