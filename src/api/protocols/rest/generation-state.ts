/** The state of a run as this API shows it, and waiting for the next one at which its caller can act. */
import { notFound } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { loadPendingUnder, type Approval } from '../../../domain/approvals/index.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import {
  getGenerations,
  isTerminal,
  loadAskedUnder,
  type Generation,
} from '../../../domain/generations/index.ts'
import { loadOpenCallsOf, type ToolCall } from '../../../domain/tool-calls/index.ts'
import type { ShownGeneration } from './run-shapes.ts'

/** The run of this agent. NOT_FOUND, also for a run of another agent. Action `generations:Get`. */
export async function findRun(ctx: Ctx, agentId: string, id: string): Promise<Generation> {
  const [generation] = await getGenerations(ctx, [id])
  if (!generation || generation.agentId !== agentId) throw notFound('generation', id)
  return generation
}

/** The run with what it waits for. Action `generations:Get`. */
export async function readState(ctx: Ctx, id: string): Promise<ShownGeneration> {
  const [generation] = await getGenerations(ctx, [id])
  if (!generation) throw notFound('generation', id)
  return stateOf(generation, ...(await questionsOf(ctx, generation)))
}

async function questionsOf(ctx: Ctx, { id, storedStatus }: Generation): Promise<[ToolCall[], Approval[]]> {
  if (storedStatus !== 'WAITING') return [[], []]
  const [own, under, approvals] = await Promise.all([
    loadOpenCallsOf(ctx.db, [id]),
    loadAskedUnder(ctx.db, [id]),
    loadPendingUnder(ctx.db, id),
  ])
  const calls = [...own, ...under.map(({ call }) => call)]
  return [calls.filter(({ status, kind }) => status === 'AWAITING_CLIENT' && kind === 'client'), approvals]
}

function stateOf(generation: Generation, calls: ToolCall[], approvals: Approval[]): ShownGeneration {
  const { id, storedStatus, output, createdAt, finishedAt } = generation
  const asked = calls.map((call) => ({
    tool_call_id: call.id,
    tool_name: call.runtimeName,
    args: call.arguments ?? {},
  }))
  const waits =
    asked.length > 0 ? 'requires_action' : approvals.length > 0 ? 'awaiting_approval' : ('running' as const)
  return {
    id,
    generation_id: id,
    agent_id: generation.agentId,
    thread_id: generation.threadId,
    status:
      storedStatus === 'WAITING' ? waits : (storedStatus.toLowerCase() as Lowercase<typeof storedStatus>),
    text: output?.text ?? null,
    object: output?.object ?? null,
    tool_calls: asked.length > 0 ? asked : null,
    required_action: asked.length > 0 ? { type: 'submit_tool_outputs', tool_calls: asked } : null,
    approvals: approvals.map(shownApproval),
    stop_reason: generation.stopReason?.toLowerCase() ?? null,
    error: generation.error,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  }
}

export function shownApproval({ id, toolCallId, runtimeName, expiresAt }: Approval) {
  return {
    approval_id: id,
    tool_call_id: toolCallId,
    tool_name: runtimeName,
    expires_at: expiresAt.toISOString(),
  }
}

/** Whether the run has ended, or waits for its caller: nothing more happens by itself or by a person. */
export function isCallersTurn({ status }: ShownGeneration): boolean {
  return status === 'requires_action' || isEnded(status)
}

function isEnded(status: ShownGeneration['status']): boolean {
  return isTerminal(status.toUpperCase() as Generation['storedStatus'])
}

/**
 * Waits until it is the caller's turn, at most `maxMs`; returns the state of that moment. Action `generations:Get`.
 * `counted`: the request also follows a stream of the run.
 */
export function waitForTurn(
  ctx: Ctx,
  { id, projectId }: Pick<Generation, 'id' | 'projectId'>,
  maxMs: number,
  signal: AbortSignal,
  counted = false,
): Promise<ShownGeneration> {
  const patience = { maxMs, signal, counted, enough: isCallersTurn }
  return waitFor(ctx, { id, projectId }, () => readState(ctx, id), patience)
}
