/**
 * The state of a run as this API shows it, waiting for the next one at which its caller can act, and the run as
 * server-sent events.
 */
import { notFound } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { loadPendingUnder, type Approval } from '../../../domain/approvals/index.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import {
  getGenerations,
  isTerminal,
  loadAskedUnder,
  type Generation,
  readEvents,
  watchGeneration,
} from '../../../domain/generations/index.ts'
import { loadOpenCallsOf, type ToolCall } from '../../../domain/tool-calls/index.ts'
import type { ShownGeneration } from './shapes.ts'
import type { ServerResponse } from 'node:http'
import { encodeGenerationCursor, publicName, type StreamItem } from '../../../domain/events/index.ts'
import { openEventStream, type EventWriter } from '../segments/sse.ts'

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

interface Watched {
  generation: Generation
  /** The cursor to go on from; null: the beginning. */
  after: string | null
  maxMs: number
  /** Called when all was sent to a client that is still there, before the stream ends. */
  sent?: () => Promise<void>
}

/**
 * Streams until the run has ended, waits for its caller, or the time is over; the last event is `result`. Actions
 * `events:Subscribe` and `generations:Get`.
 */
export async function streamRun(
  ctx: Ctx,
  { generation, after, maxMs, sent }: Watched,
  response: ServerResponse,
): Promise<null> {
  const stream = await watchGeneration(ctx, { generationId: generation.id, after })
  let cursor = after
  const left = new AbortController()
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
  const writer = openEventStream(response, () => left.abort(), headers)
  const turn = waitForTurn(ctx, generation, maxMs, left.signal, true)
  const over = turn.then(
    () => stream.return?.(),
    () => stream.return?.(),
  )
  try {
    for await (const item of stream) {
      if (response.destroyed) return null
      await show(writer, item)
      if ('event' in item) cursor = encodeGenerationCursor(item.event)
    }
    const state = await turn
    // What was committed before that state, and had not come yet when the stream was ended.
    for (let more = true; more;) {
      const page = await readEvents(ctx, generation, { after: cursor, first: 100 })
      for (const event of page.events) {
        await show(writer, { event })
        cursor = encodeGenerationCursor(event)
      }
      more = page.more && !response.destroyed
    }
    await writer.send(state, 'result')
    if (!response.destroyed) await sent?.()
    writer.end()
    return null
  } finally {
    // A stream that has ended with its key waits for no turn.
    left.abort()
    await over
  }
}

function show(writer: EventWriter, item: StreamItem): Promise<boolean> {
  if ('delta' in item) {
    const { stepIndex, attempt, offset, text } = item.delta
    return writer.send({ step_index: stepIndex, attempt, offset, text }, 'text_delta')
  }
  const { event } = item
  const type = publicName(event.type)
  return writer.send(
    { type, at: event.at.toISOString(), data: event.data },
    type,
    encodeGenerationCursor(event),
  )
}
