/**
 * The call of a verdict, begun by the statement that approves it and claims its run: the request goes out after one commit.
 * Whatever the commit of an attempt proves, this statement proves; where it cannot, the run begins the call by itself.
 */
import { prove, type Basis } from '../../store/db/proof.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { runIsFree } from '../../store/work/pauses.ts'
import { basisOf, rememberedPrincipal, type Ctx } from '../access/index.ts'
import { isOpen, withAttempt, type ToolCall } from '../tool-calls/index.ts'
import type { PreparedVerdict } from './decision.ts'
import { isAsAgreed } from './drift.ts'
import type { Outcome } from './outcome.ts'
import type { SeenRun } from './run-state.ts'

/** An attempt that the statement of a verdict begins. */
export interface Beginning {
  /** The call as it is then. */
  call: ToolCall
  /** What its requester and its tool were judged by. */
  basis: Basis
}

/**
 * The attempt with which the call begins, when the loop of the run would begin it at once, and nothing that this needs has
 * to be read. It has taken a use of its tool: `giveBackUse` when nothing was written.
 */
export async function beginningOf(
  ctx: Ctx,
  { approval, seen: { run } }: PreparedVerdict,
  { call: decided }: Outcome,
): Promise<Beginning | null> {
  const call = run && callToBegin(run, approval.toolCallId)
  if (!call || decided?.status !== 'APPROVED') return null
  const now = ctx.clock.now()
  const requester = rememberedPrincipal(ctx.db, call.requestedBy, now)
  if (!requester || !(await isAsAgreed(ctx, call, { approval, toolVersions: run.toolVersions }))) return null
  const { projectId, toolId, toolVersion } = call
  if ((await ctx.rates.takeUse(projectId, 'TOOL', toolId!)) > 0) return null
  return { call: withAttempt(call, now), basis: { ...basisOf(requester), toolId, toolVersion } }
}

/** The call has not begun: it has used its tool no more than before. */
export async function giveBackUse(ctx: Ctx, { call: { projectId, toolId } }: Beginning): Promise<void> {
  await ctx.rates.giveBackUse(projectId, 'TOOL', toolId!)
}

/** A condition: what the call was judged by holds, and no pause holds it. */
export function mayBegin({ call, basis }: Beginning): SQL {
  return sql`${prove(basis)!} and ${runIsFree(call.generationId!, [call.toolId!])}`
}

/** The call, if the run would begin it first: it has time left, no pause holds it, and its other calls wait for somebody. */
export function callToBegin({ row, calls, now, paused }: SeenRun, id: string): ToolCall | null {
  const open = calls.filter(isOpen)
  const waits = ({ status }: ToolCall) => status === 'AWAITING_APPROVAL' || status === 'AWAITING_CLIENT'
  if (paused || row.deadlineAt.getTime() <= now || !open.every(waits)) return null
  return open.find((call) => call.id === id && call.stepIndex === row.stepCount) ?? null
}
