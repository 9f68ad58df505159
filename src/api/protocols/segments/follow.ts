/** Follows a run over its pauses, for protocols whose stream ends only when the client is asked for something. */
import type { Ctx } from '../../../domain/access/index.ts'
import { getApprovals } from '../../../domain/approvals/index.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { endsSegment, readSegment, type RunUpdate } from './segment-log.ts'
import type { RunSegment } from './segments.ts'

/**
 * What happens from a place of the run on: stored events, then live ones. It ends after the end of the run, or at a pause
 * of which something is still to be answered by this caller; a pause that was answered is passed, and with `callsOnly`
 * one that asks for verdicts. Action `events:Subscribe`, checked before this resolves.
 */
export async function followRun(
  ctx: Ctx,
  generation: Generation,
  segment: RunSegment,
  signal: AbortSignal,
  callsOnly = false,
): Promise<AsyncGenerator<RunUpdate, void, undefined>> {
  const open = (after: number) => readSegment(ctx, generation, { ...segment, after }, true, signal)
  return segments(ctx, await open(segment.after), open, callsOnly)
}

async function* segments(
  ctx: Ctx,
  first: AsyncIterable<RunUpdate>,
  open: (after: number) => Promise<AsyncIterable<RunUpdate>>,
  callsOnly: boolean,
): AsyncGenerator<RunUpdate, void, undefined> {
  for (let runUpdates = first; ;) {
    let last: RunUpdate | null = null
    const asked: ClientRequests = { calls: [], approvals: [] }
    for await (const one of runUpdates) {
      last = one
      if (one.type === 'clientCalls') asked.calls.push(...one.calls.map(({ id }) => id))
      if (one.type === 'approvals' && !callsOnly) asked.approvals.push(...one.approvals.map(({ id }) => id))
      yield one
    }
    if (!last || !endsSegment(last) || last.type === 'end' || (await isOpen(ctx, asked))) return
    runUpdates = await open(last.seq)
  }
}

/** What a segment asked the client for. */
interface ClientRequests {
  calls: string[]
  approvals: string[]
}

/** Whether any of it is still to be answered; else the run has gone on. */
async function isOpen(ctx: Ctx, asked: ClientRequests): Promise<boolean> {
  const [calls, approvals] = await Promise.all([
    getToolCalls(ctx, asked.calls),
    getApprovals(ctx, asked.approvals),
  ])
  return (
    calls.some((call) => call?.status === 'AWAITING_CLIENT') ||
    approvals.some((approval) => approval?.status === 'PENDING')
  )
}
