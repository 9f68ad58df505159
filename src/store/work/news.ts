/** Tells workers whose rows are places in the event log when the log has grown. */
import type { PubSub } from '../pubsub/pubsub.ts'
import type { Schedule } from './schedule.ts'
import type { WorkTable } from '../db/tables/columns.ts'

/** The shortest time between two polls that hints cause, in milliseconds. */
const pollGapMs = 50

export interface News {
  pollSoon(): void
  /** A poll begins; call the result, if there is one, when it has found nothing that it could not take. */
  polling(): (() => void) | null
  stop(): void
}

/**
 * Calls `act` when the log has grown: soon after hints, and after each poll of the schedule until a poll has found
 * nothing while no process held a row of the table, because one that is given back may have news behind it. `count` reads
 * how many rows may get events, and how many of them a process holds.
 */
export function watchNews(
  { pubsub, schedule }: { pubsub: PubSub; schedule: Schedule },
  table: WorkTable,
  count: () => Promise<{ all: number; working: number }>,
  act: () => void,
): News {
  let quietAt: number | null = null
  let candidate: number | null = null
  let any = true
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  const pollSoon = () => {
    if (stopped) return
    timer ??= setTimeout(() => {
      timer = null
      act()
    }, pollGapMs).unref()
  }
  const poll = async (newest: number | null) => {
    if (newest !== null && newest === quietAt) return
    const counted = await count().catch(() => null)
    any = counted?.all !== 0
    if (stopped) return
    if (!any) quietAt = newest
    else {
      candidate = counted?.working === 0 ? newest : null
      act()
    }
  }
  const leave = schedule.onPoll((state) => void poll(state?.newest ?? null))
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'work' && hint.table === table) any = true
    if ((hint.kind === 'numbered' && any) || hint.kind === 'reconnected') pollSoon()
  })
  return {
    pollSoon,
    polling() {
      const newest = candidate
      candidate = null
      return newest === null ? null : () => void (quietAt = newest)
    },
    stop() {
      stopped = true
      leave()
      unsubscribe()
      if (timer) clearTimeout(timer)
    },
  }
}
