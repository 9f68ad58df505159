/** Waiting for what somebody else runs: hints make it fast, looking at the rows makes it certain. */
import { onAbort } from '../../core/abort.ts'
import type { Services } from '../access/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import { loadTogether } from './load-together.ts'
import { rowWatch, type WatchedRow } from './row-watch.ts'

export interface Patience<T> {
  maxMs: number
  signal?: AbortSignal | null | undefined
  /** Whether this is what was waited for. */
  enough(seen: T): boolean
}

/** Whether the call is settled, or waits for a person or its caller. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status.startsWith('AWAITING')
}

/** Looks at a call until it is enough, the time is over or the signal says so; answers the call as it stands then. */
export function waitForCall(
  services: Pick<Services, 'db' | 'pubsub'>,
  call: ToolCall,
  patience: Patience<ToolCall>,
): Promise<ToolCall> {
  return waitFor(services, call, () => loadTogether(services, call.id), patience)
}

/**
 * The same for anything that changes with a row of tool_calls or generations. It is read at the beginning, when the row
 * has changed, and at the end; in between all who wait in this process share the looks at their rows.
 */
export async function waitFor<T>(
  services: Pick<Services, 'db' | 'pubsub'>,
  row: WatchedRow,
  read: () => Promise<T>,
  patience: Patience<T>,
): Promise<T> {
  const until = Date.now() + patience.maxMs
  const isOver = () => Date.now() >= until || patience.signal?.aborted === true
  let seen = await read()
  if (patience.enough(seen) || isOver()) return seen
  const changes = changesOf(services, row, patience.signal ?? null)
  try {
    for (;;) {
      await changes.next(until)
      seen = await read()
      if (patience.enough(seen) || isOver()) return seen
    }
  } finally {
    changes.end()
  }
}

/** `next` resolves when the row has another version than at the last time, when the signal fires, or at that moment. */
function changesOf(services: Pick<Services, 'db' | 'pubsub'>, row: WatchedRow, signal: AbortSignal | null) {
  let version: string | null = null
  let changed = false
  let wake = () => {}
  const stop = rowWatch(services)({ id: row.id, projectId: row.projectId }, (now) => {
    // The first version may be newer than what was read before it.
    if (now === version) return
    version = now
    changed = true
    wake()
  })
  const forget = onAbort(signal, () => wake())
  return {
    async next(until: number): Promise<void> {
      if (!changed && !signal?.aborted) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, Math.min(Math.max(0, until - Date.now()), 2 ** 31 - 1))
        })
        clearTimeout(timer)
      }
      changed = false
    },
    end() {
      stop()
      forget()
    },
  }
}
