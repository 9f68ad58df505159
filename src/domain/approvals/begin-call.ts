/**
 * The call of a verdict, begun by the statement that approves it and claims its owner: the request goes out after one commit.
 * Whatever the commit of an attempt proves, this statement proves; where it cannot, the worker begins the call by itself.
 */
import { prove, type Basis } from '../../store/db/proof.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { areFree, runIsFree } from '../../store/work/pauses.ts'
import { basisOf, rememberedPrincipal, type Ctx } from '../access/index.ts'
import { isOpen, targetsOf, withAttempt, type ToolCall } from '../tool-calls/index.ts'
import type { PreparedVerdict } from './decision.ts'
import { callableAsAgreed, isToldByVersion } from './drift.ts'
import type { Outcome } from './outcome.ts'
import type { SeenOwner } from './run-state.ts'

/** An attempt that the statement of a verdict begins. */
export interface Beginning {
  /** The call as it is then. */
  call: ToolCall
  /** What its requester and its tool were judged by. */
  basis: Basis
}

/**
 * The attempt with which the call begins, when the worker of its owner would begin it at once, and nothing that this needs has
 * to be read. It has taken a use of its tool: `giveBackUse` when nothing was written.
 */
export async function beginningOf(
  ctx: Ctx,
  { approval, seen: { goesOn } }: PreparedVerdict,
  { call: decided }: Outcome,
): Promise<Beginning | null> {
  const call = goesOn && callToBegin(goesOn, approval.toolCallId)
  if (!call || decided?.status !== 'APPROVED' || !isToldByVersion(call)) return null
  const now = ctx.clock.now()
  const requester = rememberedPrincipal(ctx.db, call.requestedBy, now)
  if (!requester || !(await callableAsAgreed(ctx, call, { approval, toolVersions: goesOn.toolVersions })))
    return null
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
  const { generationId } = call
  const isFree = generationId ? runIsFree(generationId, [call.toolId!]) : areFree(...targetsOf(call))
  return sql`${prove(basis)!} and ${isFree}`
}

/** The call, if it would begin first: no pause holds it, its run has time left, and other calls of that wait for somebody. */
export function callToBegin({ row, calls, now, paused }: SeenOwner, id: string): ToolCall | null {
  const open = calls.filter(isOpen)
  const waits = ({ status }: ToolCall) => status === 'AWAITING_APPROVAL' || status === 'AWAITING_CLIENT'
  if (paused || (row && row.deadlineAt.getTime() <= now) || !open.every(waits)) return null
  const step = row ? row.stepCount : null
  return open.find((call) => call.id === id && call.stepIndex === step) ?? null
}
