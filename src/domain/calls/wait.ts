/**
 * Waiting for a call or generation that another process may run: hints make it fast, polling the rows makes it
 * certain.
 */
import { onAbort } from '../../core/abort.ts'
import type { Services } from '../access/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import { loadTogether } from './load-together.ts'
import { rowWatch, type WatchedRow } from './row-watch.ts'

export interface Patience<T> {
  maxMs: number
  signal?: AbortSignal | null | undefined
  /** Whether the state is the one waited for. */
  enough(seen: T): boolean
}

/** Whether the call is settled, or waits for an approval or for its caller. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status.startsWith('AWAITING')
}

/** Reads the call until `enough` is true, the time is over or the signal fires. Returns the call as last read. */
export function waitForCall(
  services: Pick<Services, 'db' | 'pubsub'>,
  call: ToolCall,
  patience: Patience<ToolCall>,
): Promise<ToolCall> {
  return waitFor(services, call, () => loadTogether(services, call.id), patience)
}

/**
 * The same for anything that changes with a row of tool_calls or generations. Reads at the beginning, when the row
 * has changed, and at the end; all waiting requests of this process share the polls of their rows.
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

/** `next` resolves when the row's version differs from the last one, when the signal fires, or at the given time. */
function changesOf(services: Pick<Services, 'db' | 'pubsub'>, row: WatchedRow, signal: AbortSignal | null) {
  let version: string | null = null
  let changed = false
  let wake = () => {}
  const stop = rowWatch(services)({ id: row.id, projectId: row.projectId }, (now) => {
    // The first version may be newer than the state that was read before it.
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
