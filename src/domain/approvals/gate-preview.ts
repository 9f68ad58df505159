/**
 * Evaluates gates without side effects: what a call would need, and which recorded calls a draft policy would have
 * stopped.
 */
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { desc, eq, and, isNotNull } from 'drizzle-orm'
import { z } from 'zod'
import { check, text, whole } from '../../core/check.ts'
import { invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { assertCost, assertMay, type Ctx } from '../access/index.ts'
import {
  gateFaults,
  gateInput,
  judgeGate,
  type GateInput,
  type GatePolicy,
  requirementShape,
} from '../gates/index.ts'
import {
  requireCallable,
  findTool,
  maskAt,
  maskedPaths,
  ownGateOf,
  prepareCall,
  type Callable,
} from '../tools/index.ts'
import { toolCallOf, ToolCall } from '../tool-calls/index.ts'
import { isRefusal } from './grant.ts'
import { answersTo, findGrants } from './grants.ts'

/** Points for compiling a condition and judging by it once. */
export const judgingCost = 25

export const gateEvaluation = part(
  'GateEvaluation',
  'The decision of the gate about a call, without making the call.',
  {
    requirement: requirementShape
      .describe('The verdict that the gate requires; null when it requires none.')
      .nullable(),
    /** It is not used up. */
    grantId: view
      .object(
        'grant',
        'Grant',
        'The grant that would let the call pass the gate, or refuse it; null when none would.',
      )
      .nullable(),
  },
)
export interface GateEvaluation extends z.output<typeof gateEvaluation> {
  /** Whether a grant would let it pass. */
  passes: boolean
}

/**
 * What the gate would require of a direct call of the tool with these arguments. Nothing is called, asked or used up.
 * Action `tools:Get`. INVALID for arguments that the tool would refuse.
 */
export async function evaluateGate(
  ctx: Ctx,
  input: { toolId: string; action?: string | null | undefined; arguments: unknown },
): Promise<GateEvaluation> {
  const stored = await findTool(ctx, input.toolId)
  await assertMay(ctx, 'tools:Get', stored.projectId, `tool/${stored.id}`)
  await assertCost(ctx, judgingCost)
  const tool = await requireCallable(ctx, stored, input.action ?? null, ['action'])
  const trial = onTrial(tool)
  const prepared = prepareCall(trial, input.arguments ?? {})
  if (!prepared.ok) throw invalid(prepared.issues)
  const { merged } = prepared
  const requirement = judgeGate([ownGateOf(tool)], merged, trial.projectId)
  if (!requirement) return { requirement, grantId: null, passes: false }
  const { id: requestedBy, actsFor = null } = ctx.principal
  const holder = { agentId: null, threadId: null, requestedBy, actsFor }
  const grants = await findGrants(ctx.db, [tool.id], holder)
  const [grant] = answersTo(grants, { tool, merged, requirement })
  return { requirement, grantId: grant?.id ?? null, passes: grant !== undefined && !isRefusal(grant) }
}

/** Trials have a budget of their own, so that they never keep calls of the project from being judged. */
export function onTrial<Tool extends { projectId: string }>(tool: Tool): Tool {
  return { ...tool, projectId: `${tool.projectId} trial` }
}

const maxReplayed = 1000
const defaultReplayed = 100
const maxShown = 20
const maxReturned = 200

const previewShape = z.object({
  toolId: z.string(),
  action: text(200).nullish(),
  gate: gateInput,
  last: whole(1, maxReplayed).nullish(),
})

export const gatePreview = part('GatePreview', 'The effect of a draft gate on recorded calls.', {
  replayed: view.int('The number of recorded calls that were evaluated.'),
  stopped: view.int('The number of calls that the draft stops.'),
  newlyStopped: view.int('The number of calls that the draft stops and the current gate lets pass.'),
  newlyPassing: view.int('The number of calls that the draft lets pass and the current gate stops.'),
  calls: z.array(ToolCall).describe('The newest of the evaluated calls, at most 200.'),
  newlyStoppedCalls: z.array(ToolCall).describe('The newest calls of newlyStopped, at most 20.'),
  newlyPassingCalls: z.array(ToolCall).describe('The newest calls of newlyPassing, at most 20.'),
})
export type GatePreview = z.output<typeof gatePreview>

/**
 * Evaluates a draft policy on the newest recorded calls of a tool (`last`, 100 by default) and compares it with the
 * current gate. Skips calls whose arguments no longer fit. Masked arguments are evaluated as masked: a caller could
 * find hidden values by trying many drafts. Actions `tools:Get` and `toolCalls:List`.
 */
export async function previewGate(
  ctx: Ctx,
  input: {
    toolId: string
    action?: string | null | undefined
    gate: GateInput
    last?: number | null | undefined
  },
): Promise<GatePreview> {
  const { toolId, action = null, gate, last } = check(previewShape, input, [])
  const stored = await findTool(ctx, toolId)
  await assertMay(ctx, 'tools:Get', stored.projectId, `tool/${stored.id}`)
  await assertMay(ctx, 'toolCalls:List', stored.projectId, 'toolCall/*')
  // Each call is checked against the schema of the tool, and judged by both gates.
  await assertCost(ctx, judgingCost + 3 * (last ?? defaultReplayed))
  const faults = gateFaults(gate, onTrial(stored).projectId, ['gate'])
  if (faults.length > 0) throw invalid(faults)
  const tool = await requireCallable(ctx, stored, action, ['action'])
  const own = tool.action === null ? undefined : eq(toolCalls.action, tool.action)
  const rows = await ctx.db
    .select()
    .from(toolCalls)
    .where(and(eq(toolCalls.toolId, tool.id), own, isNotNull(toolCalls.arguments)))
    .orderBy(desc(toolCalls.createdAt), desc(toolCalls.id))
    .limit(last ?? defaultReplayed)
  return compare(onTrial(tool), gate, rows.map(toolCallOf))
}

function compare(tool: Callable, draft: GatePolicy, calls: ToolCall[]): GatePreview {
  const judged = calls.flatMap((call) => {
    const prepared = prepareCall(tool, call.arguments)
    if (!prepared.ok) return []
    const paths = [...(call.masked ?? []), ...maskedPaths(tool, prepared.merged)]
    const shown = maskAt(prepared.merged, paths)
    return [{ call, stopsNow: stops(ownGateOf(tool), shown, tool), wouldStop: stops(draft, shown, tool) }]
  })
  const newlyStopped = judged.filter((one) => one.wouldStop && !one.stopsNow).map((one) => one.call)
  const newlyPassing = judged.filter((one) => one.stopsNow && !one.wouldStop).map((one) => one.call)
  return {
    replayed: judged.length,
    stopped: judged.filter((one) => one.wouldStop).length,
    newlyStopped: newlyStopped.length,
    newlyPassing: newlyPassing.length,
    calls: judged.slice(0, maxReturned).map((one) => one.call),
    newlyStoppedCalls: newlyStopped.slice(0, maxShown),
    newlyPassingCalls: newlyPassing.slice(0, maxShown),
  }
}

function stops(policy: GatePolicy, merged: JsonObject, { projectId }: Callable): boolean {
  return judgeGate([policy], merged, projectId) !== null
}
