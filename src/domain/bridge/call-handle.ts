/** One view of everything that an MCP caller waits for: a tool call, or a run of the agent. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { kindOfId } from '../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject, writeJson } from '../../core/json.ts'
import { hasAsked, type Ctx } from '../access/index.ts'
import { hasAskedUnder, loadApprovals, loadPendingUnder, type Approval } from '../approvals/index.ts'
import { answerCall, cancelCall, batchLoadCall, noteFetched, waitFor, type Patience } from '../calls/index.ts'
import {
  answerDelivered,
  cancelGeneration,
  getGenerations,
  isTerminal,
  type Generation,
} from '../generations/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import type { CallerChannel } from '../tools/index.ts'
import { findOwnCall } from './call.ts'

/** DONE and CANCELLED are final. */
export type CallHandleStatus = 'RUNNING' | 'AWAITING_APPROVAL' | 'INPUT_REQUIRED' | 'DONE' | 'CANCELLED'

/** A request of an upstream to the client, elicitation, sampling or roots: `method`, and mostly `params`. */
export type InputRequest = JsonObject & { method: string }

/** The state of a tool call or generation when it was read. */
export interface CallHandle {
  /** The id of the tool call or generation. */
  id: string
  projectId: string
  status: CallHandleStatus
  /**
   * The approval that is awaited; of several the one that expires first. `login`: the page on which the person for whom the call
   * is made logs in at the server of the tool, where it waits for that.
   */
  pendingApproval: { approvalId: string; expiresAt: Date; login: string | null } | null
  /** With INPUT_REQUIRED: the upstream's requests that the client has not answered yet, by key. */
  inputRequests: Record<string, InputRequest> | null
  /** With DONE. */
  result: ToolResult | null
  /** The thread of a run. */
  conversationId: string | null
  /** A gate stopped the call, and the caller has not received the outcome yet. */
  awaited: boolean
  createdAt: Date
  changedAt: Date
}

/** Reads the caller's own tool call or generation. NOT_FOUND for those of anybody else. */
export async function readCallHandle(ctx: Ctx, id: string): Promise<CallHandle> {
  return kindOfId(id) === 'generation' ? readRun(ctx, id) : readCall(ctx, await findOwnCall(ctx, id))
}

/** Waits until `patience` is satisfied, its time is over or its signal aborts; returns the state of that moment. */
export function waitForHandle(
  ctx: Ctx,
  handle: CallHandle,
  patience: Patience<CallHandle>,
): Promise<CallHandle> {
  // Whoever holds a handle was allowed to read it.
  const read = async () =>
    kindOfId(handle.id) === 'generation'
      ? readRun(ctx, handle.id)
      : readCall(ctx, await batchLoadCall(ctx, handle.id))
  return waitFor(ctx, handle, read, patience)
}

/** Cancels the caller's own call or run: a waiting one is withdrawn, a running one is asked to stop. Idempotent. */
export async function cancelOwnCall(ctx: Ctx, id: string): Promise<void> {
  const { status } = await readCallHandle(ctx, id)
  if (status === 'DONE' || status === 'CANCELLED') return
  if (kindOfId(id) === 'generation') await cancelGeneration(ctx, { generationId: id })
  else await cancelCall(ctx, { toolCallId: id })
}

/**
 * Whether a gate has stopped the caller's call, or one inside its run. Its question, the verdict and what follows do not end
 * with the patience of a client.
 */
export async function isBehindGate(ctx: Ctx, id: string): Promise<boolean> {
  return kindOfId(id) === 'generation'
    ? hasAskedUnder(ctx.db, id)
    : (await findOwnCall(ctx, id)).approvalId !== null
}

/**
 * Records that the caller receives the outcome of a gated call or of a run: the same request is a new one from now on, unless
 * `lost` fires before the response has arrived.
 */
export async function markDelivered(ctx: Ctx, handle: CallHandle, lost: AbortSignal): Promise<void> {
  if (kindOfId(handle.id) === 'generation') await answerDelivered(ctx, handle, lost)
  else if (handle.awaited && handle.status !== 'AWAITING_APPROVAL') await noteFetched(ctx, handle, lost)
}

/**
 * Gives the caller's responses to the input requests of its own call. Returns the resumed call when no response is
 * missing, else null. Action `tools:Call`.
 */
export async function answerInputRequests(
  ctx: Ctx,
  id: string,
  responses: JsonObject,
  caller: CallerChannel,
): Promise<{ running: Promise<ToolCall> } | null> {
  const call = await findOwnCall(ctx, id)
  return call.asked ? answerCall(ctx, call, responses, caller) : null
}

async function readCall(ctx: Ctx, call: ToolCall): Promise<CallHandle> {
  const waits = call.status === 'AWAITING_APPROVAL'
  const [approval] = waits && call.approvalId ? await loadApprovals(ctx.db, [call.approvalId]) : [null]
  const status = statusOfCall(call)
  return {
    id: call.id,
    projectId: call.projectId,
    status,
    pendingApproval: firstToExpire(ctx, approval ? [approval] : []),
    inputRequests: status === 'INPUT_REQUIRED' ? unansweredRequests(call) : null,
    result: call.result,
    conversationId: null,
    awaited: call.awaited,
    createdAt: call.createdAt,
    changedAt: call.settledAt ?? call.cancelRequestedAt ?? call.startedAt ?? call.createdAt,
  }
}

/** A call that was cut off is CANCELLED; one that ran to its end is DONE, although somebody asked to stop it. */
function statusOfCall(call: ToolCall): CallHandleStatus {
  const { status, settledAt, cancelRequestedAt, errorCode } = call
  const cutOff = settledAt !== null && cancelRequestedAt !== null && errorCode === 'cancelled'
  if (status === 'CANCELLED' || cutOff) return 'CANCELLED'
  if (status === 'AWAITING_APPROVAL') return 'AWAITING_APPROVAL'
  if (!isOpen(call)) return 'DONE'
  return status === 'AWAITING_CLIENT' && call.asked ? 'INPUT_REQUIRED' : 'RUNNING'
}

function unansweredRequests({ asked }: ToolCall): Record<string, InputRequest> {
  const { inputRequests, answers } = asked!
  const open = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(answers, key))
  return Object.fromEntries(open) as Record<string, InputRequest>
}

async function readRun(ctx: Ctx, id: string): Promise<CallHandle> {
  const [generation] = await getGenerations(ctx, [id])
  if (!generation || !hasAsked(ctx.principal, generation)) throw notFound('generation', id)
  const pending = generation.storedStatus === 'WAITING' ? await loadPendingUnder(ctx.db, id) : []
  return {
    id,
    projectId: generation.projectId,
    status: statusOfRun(generation, pending.length > 0),
    pendingApproval: firstToExpire(ctx, pending),
    inputRequests: null,
    result: isTerminal(generation.storedStatus) ? resultOfRun(generation) : null,
    conversationId: generation.threadId,
    awaited: false,
    createdAt: generation.createdAt,
    changedAt: generation.finishedAt ?? generation.startedAt ?? generation.createdAt,
  }
}

function statusOfRun({ storedStatus }: Generation, hasPendingApproval: boolean): CallHandleStatus {
  if (storedStatus === 'CANCELLED') return 'CANCELLED'
  if (isTerminal(storedStatus)) return 'DONE'
  return hasPendingApproval ? 'AWAITING_APPROVAL' : 'RUNNING'
}

function firstToExpire(ctx: Ctx, approvals: readonly Approval[]): CallHandle['pendingApproval'] {
  const [first] = approvals.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())
  if (!first) return null
  const { id: approvalId, expiresAt, requirement } = first
  return {
    approvalId,
    expiresAt,
    login: requirement.loginOf ? `${ctx.publicUrl()}/approvals/${approvalId}` : null,
  }
}

/** The final text, with an output schema also the object; for a failed run an error with its code. */
function resultOfRun(generation: Generation): ToolResult {
  const { storedStatus, error, output, threadId, id, stepCount } = generation
  if (storedStatus !== 'COMPLETED') {
    const code = error?.code.toLowerCase() ?? `agent_${storedStatus.toLowerCase()}`
    return errorResult(code, error?.message ?? 'The agent run ended without an answer.', {
      conversation_id: threadId,
      generation_id: id,
      // A retry would make its tool calls again.
      ...(stepCount > 0 ? { retryable: false } : {}),
    })
  }
  const text = output?.text ?? (output?.object ? writeJson(output.object) : '')
  const object = output?.object as Json | undefined
  return {
    content: [{ type: 'text', text }],
    ...(isJsonObject(object) ? { structuredContent: object } : {}),
    isError: false,
  }
}
