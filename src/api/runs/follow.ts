/** Follows a run over its pauses, for protocols whose stream ends only when the client is asked for something. */
import type { Ctx } from '../../domain/access/index.ts'
import { getApprovals } from '../../domain/approvals/index.ts'
import type { Generation } from '../../domain/generations/index.ts'
import { getToolCalls } from '../../domain/tool-calls/index.ts'
import { endsLeg, readLeg, type Happening } from './leg-log.ts'
import type { RunLeg } from './legs.ts'

/**
 * What happens from a place of the run on: stored events, then live ones. It ends after the end of the run, or at a pause
 * of which something is still to be answered by this caller; a pause that was answered is passed, and with `callsOnly`
 * one that asks for verdicts. Action `events:Subscribe`, checked before this resolves.
 */
export async function followRun(
  ctx: Ctx,
  generation: Generation,
  leg: RunLeg,
  signal: AbortSignal,
  callsOnly = false,
): Promise<AsyncGenerator<Happening, void, undefined>> {
  const open = (after: number) => readLeg(ctx, generation, { ...leg, after }, true, signal)
  return legs(ctx, await open(leg.after), open, callsOnly)
}

async function* legs(
  ctx: Ctx,
  first: AsyncIterable<Happening>,
  open: (after: number) => Promise<AsyncIterable<Happening>>,
  callsOnly: boolean,
): AsyncGenerator<Happening, void, undefined> {
  for (let happenings = first; ;) {
    let last: Happening | null = null
    const asked: Asked = { calls: [], approvals: [] }
    for await (const one of happenings) {
      last = one
      if (one.is === 'clientCalls') asked.calls.push(...one.calls.map(({ id }) => id))
      if (one.is === 'approvals' && !callsOnly) asked.approvals.push(...one.approvals.map(({ id }) => id))
      yield one
    }
    if (!last || !endsLeg(last) || last.is === 'end' || (await isOpen(ctx, asked))) return
    happenings = await open(last.seq)
  }
}

/** What a leg asked the client for. */
interface Asked {
  calls: string[]
  approvals: string[]
}

/** Whether any of it is still to be answered; else the run has gone on. */
async function isOpen(ctx: Ctx, asked: Asked): Promise<boolean> {
  const [calls, approvals] = await Promise.all([
    getToolCalls(ctx, asked.calls),
    getApprovals(ctx, asked.approvals),
  ])
  return (
    calls.some((call) => call?.status === 'AWAITING_CLIENT') ||
    approvals.some((approval) => approval?.status === 'PENDING')
  )
}
