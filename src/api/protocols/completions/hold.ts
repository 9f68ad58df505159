/** Follows a run for a client that waits for one answer, and is told in words when a person must decide first. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../../../domain/access/index.ts'
import { loadPendingUnder, summaryOf, type Approval } from '../../../domain/approvals/index.ts'
import { readGenerationEvents, requiresAction } from '../../../domain/events/index.ts'
import type { StartedSegment } from '../segments/answers.ts'
import { followRun } from '../segments/follow.ts'
import type { RunUpdate } from '../segments/segment-log.ts'

/** The run waits for these approvals, and the client is not kept any longer. */
export interface Held {
  type: 'held'
  approvals: Approval[]
}

/** How often a run is looked at that may reach a gate when its client is not kept any longer, in milliseconds. */
const lookMs = 1000

/**
 * What happens in the run up to its end, to calls for this client, or to a gate at which it waits at the time `keptUntil`, by the
 * monotonic clock, or later. A gate that is decided before is passed. Action `events:Subscribe`, checked before this resolves.
 */
export async function followHeld(
  ctx: Ctx,
  { generation, segment }: StartedSegment,
  keptUntil: number,
  gone: AbortSignal,
): Promise<AsyncGenerator<RunUpdate | Held, void, undefined>> {
  const over = new AbortController()
  const signal = AbortSignal.any([gone, over.signal])
  const runUpdates = await followRun(ctx, generation, segment, signal, true)
  const known = { seq: segment.after }
  const held = heldFrom(ctx, generation.id, known, keptUntil, signal)
  // It may fail before anybody waits for it; whoever does gets the error.
  held.catch(() => {})
  return untilHeld(runUpdates, known, held, over)
}

/** The event up to which the client knows the log. */
interface Position {
  seq: number
}

async function* untilHeld(
  runUpdates: AsyncGenerator<RunUpdate, void, undefined>,
  known: Position,
  held: Promise<Held | null>,
  over: AbortController,
): AsyncGenerator<RunUpdate | Held, void, undefined> {
  try {
    for (;;) {
      const next = await Promise.race([runUpdates.next(), held])
      if (next === null) return
      if ('type' in next) return yield next
      if (next.done) return
      known.seq = next.value.seq
      yield next.value
    }
  } finally {
    over.abort()
  }
}

/** Resolves when the run waits at a gate at that time or later; null when the signal fires. */
async function heldFrom(
  ctx: Ctx,
  id: string,
  known: Position,
  time: number,
  signal: AbortSignal,
): Promise<Held | null> {
  for (let waitMs = Math.max(0, time - performance.now()); ; waitMs = lookMs) {
    const isOver = await pause(waitMs, true, { signal }).catch(() => false)
    if (!isOver) return null
    const approvals = await loadPendingUnder(ctx.db, id)
    if (approvals.length > 0 && !(await hasCalls(ctx, id, known))) return { type: 'held', approvals }
  }
}

/** Whether calls for the client are in the log, of which it was not told yet: they go before the words. */
async function hasCalls(ctx: Ctx, id: string, { seq }: Position): Promise<boolean> {
  for (let after = seq; ;) {
    const { events, more } = await readGenerationEvents(ctx, id, { after, first: 200 })
    if (events.some(({ type }) => type === requiresAction.type)) return true
    if (!more) return false
    after = events.at(-1)!.seq!
  }
}

/** Clients show Markdown: what came with a call must be no link in it. */
const asCode = (text: string) => `\`${text.replaceAll('`', '’')}\``

/** The most questions that are named. */
const mostNamed = 5

/** What the client is told instead of an answer. */
export function wordsOf(ctx: Ctx, { approvals }: Held): string {
  const lines = approvals
    .slice(0, mostNamed)
    .map((one) => `- ${asCode(summaryOf(one).text)}: ${ctx.publicUrl()}/approvals/${one.id}`)
  const more = approvals.length - lines.length
  return [
    approvals.length === 1 ? 'This waits for an approval:' : `This waits for ${approvals.length} approvals:`,
    ...lines,
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    'Nothing was lost: send the same request again, or any message, to go on when it is decided.',
  ].join('\n')
}
