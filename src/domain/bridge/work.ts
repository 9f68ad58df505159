/** Work that an MCP caller waits for: a call of a tool, or a run of the agent. One view of both. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { kindOfId } from '../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Ctx } from '../access/index.ts'
import { loadApprovals, loadPendingUnder, type Approval } from '../approvals/index.ts'
import { answerCall, cancelCall, loadTogether, noteFetched, waitFor, type Patience } from '../calls/index.ts'
import { cancelGeneration, getGenerations, isTerminal, type Generation } from '../generations/index.ts'
import { type Caller } from '../tools/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import { findOwnCall } from './call.ts'

/** WAITING: for a person at the gate. ASKS: for its caller. DONE and CANCELLED are final. */
export type WorkStatus = 'RUNNING' | 'WAITING' | 'ASKS' | 'DONE' | 'CANCELLED'

export interface Work {
  /** The id of the tool call or generation. */
  id: string
  projectId: string
  status: WorkStatus
  /** What is waited for. */
  pending: { approvalId: string; expiresAt: Date } | null
  /** What an upstream wants to know from the caller, not answered yet, by key. */
  asked: JsonObject | null
  /** Once it is DONE. */
  result: ToolResult | null
  /** The conversation of a run. */
  conversationId: string | null
  /** The outcome was not fetched since it was stopped at the gate. */
  awaited: boolean
  /** Its caller hung up: it is withdrawn unless somebody notes that the caller is back. */
  abandoned: boolean
  createdAt: Date
  changedAt: Date
}

/** The work as it stands, when the caller itself asked for it; anybody else's does not exist. */
export async function readWork(ctx: Ctx, id: string): Promise<Work> {
  return kindOfId(id) === 'generation' ? readTalk(ctx, id) : readCall(ctx, await findOwnCall(ctx, id))
}

/** Looks until it is enough or the time is over; answers the work as it stands then. */
export function waitForWork(ctx: Ctx, work: Work, patience: Patience<Work>): Promise<Work> {
  // Who may see it was asked when it was read first.
  const read = async () =>
    kindOfId(work.id) === 'generation'
      ? readTalk(ctx, work.id)
      : readCall(ctx, await loadTogether(ctx, work.id))
  return waitFor(ctx, work, read, patience)
}

/** Ends the work: what waits is withdrawn, what runs is told to stop. Idempotent. */
export async function cancelWork(ctx: Ctx, id: string): Promise<void> {
  const { status } = await readWork(ctx, id)
  if (status === 'DONE' || status === 'CANCELLED') return
  if (kindOfId(id) === 'generation') await cancelGeneration(ctx, { generationId: id })
  else await cancelCall(ctx, { toolCallId: id })
}

/** Notes that the caller has the outcome of a call that was stopped at the gate. */
export async function fetched(ctx: Ctx, work: Work): Promise<void> {
  if (work.awaited && work.status !== 'WAITING') await noteFetched(ctx, work)
}

async function readCall(ctx: Ctx, call: ToolCall): Promise<Work> {
  const waits = call.status === 'AWAITING_APPROVAL'
  const [approval] = waits && call.approvalId ? await loadApprovals(ctx.db, [call.approvalId]) : [null]
  return {
    id: call.id,
    projectId: call.projectId,
    status: wasCutOff(call) ? 'CANCELLED' : waits ? 'WAITING' : openStatus(call),
    pending: pendingOf(approval ? [approval] : []),
    asked: openStatus(call) === 'ASKS' ? unanswered(call) : null,
    result: call.result,
    conversationId: null,
    awaited: call.awaited,
    abandoned: waits && call.callerGoneAt !== null,
    createdAt: call.createdAt,
    changedAt: call.settledAt ?? call.cancelRequestedAt ?? call.startedAt ?? call.createdAt,
  }
}

async function readTalk(ctx: Ctx, id: string): Promise<Work> {
  const [generation] = await getGenerations(ctx, [id])
  if (!generation || generation.requestedBy !== ctx.principal.id) throw notFound('generation', id)
  const pending = generation.storedStatus === 'WAITING' ? await loadPendingUnder(ctx.db, id) : []
  return {
    id,
    projectId: generation.projectId,
    status: statusOf(generation, pending.length > 0),
    pending: pendingOf(pending),
    asked: null,
    result: isTerminal(generation.storedStatus) ? resultOf(generation) : null,
    conversationId: generation.threadId,
    awaited: false,
    abandoned: false,
    createdAt: generation.createdAt,
    changedAt: generation.finishedAt ?? generation.startedAt ?? generation.createdAt,
  }
}

/** Withdrawn before it ran, or cut off. What ran to its end is told as what it was, though somebody asked to stop it. */
function wasCutOff({ status, settledAt, cancelRequestedAt, errorCode }: ToolCall): boolean {
  return (
    status === 'CANCELLED' || (settledAt !== null && cancelRequestedAt !== null && errorCode === 'cancelled')
  )
}

function openStatus(call: ToolCall): WorkStatus {
  if (!isOpen(call)) return 'DONE'
  return call.status === 'AWAITING_CLIENT' && call.asked ? 'ASKS' : 'RUNNING'
}

function unanswered({ asked }: ToolCall): JsonObject {
  const { inputRequests, answers } = asked!
  return Object.fromEntries(Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(answers, key)))
}

/**
 * Gives the caller's answers to what an upstream asked. Action `tools:Call`, and only for who made the call. Answers the
 * running call when nothing is missing any more, else null.
 */
export async function answerWork(
  ctx: Ctx,
  id: string,
  answers: JsonObject,
  caller: Caller,
): Promise<{ running: Promise<ToolCall> } | null> {
  const call = await findOwnCall(ctx, id)
  return call.asked ? answerCall(ctx, call, answers, caller) : null
}

function statusOf({ storedStatus }: Generation, asks: boolean): WorkStatus {
  if (storedStatus === 'CANCELLED') return 'CANCELLED'
  if (isTerminal(storedStatus)) return 'DONE'
  return asks ? 'WAITING' : 'RUNNING'
}

/** The one that ends first. */
function pendingOf(approvals: readonly Approval[]): Work['pending'] {
  const [first] = approvals.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())
  return first ? { approvalId: first.id, expiresAt: first.expiresAt } : null
}

/** The final text, and with an output schema its object; a run that failed is an error with its code. */
function resultOf(generation: Generation): ToolResult {
  const { storedStatus, error, output, threadId, id, stepCount } = generation
  if (storedStatus !== 'COMPLETED') {
    const code = error?.code.toLowerCase() ?? `agent_${storedStatus.toLowerCase()}`
    return errorResult(code, error?.message ?? 'The run of the agent ended without an answer.', {
      conversation_id: threadId,
      generation_id: id,
      // Its calls would be made again.
      ...(stepCount > 0 ? { retryable: false } : {}),
    })
  }
  const text = output?.text ?? (output?.object ? JSON.stringify(output.object) : '')
  const object = output?.object as Json | undefined
  return {
    content: [{ type: 'text', text }],
    ...(isJsonObject(object) ? { structuredContent: object } : {}),
    isError: false,
  }
}
