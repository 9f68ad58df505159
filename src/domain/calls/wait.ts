/**
 * Waiting for a call or generation that another process may run: hints make it fast, polling the rows makes it
 * certain.
 */
import { onAbort } from '../../core/abort.ts'
import { AppError } from '../../core/errors.ts'
import { unauthenticated, type Ctx } from '../access/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import { batchLoadCall } from './load.ts'
import { rowWatch, type WatchedRow } from './row-watch.ts'

export interface Patience<T> {
  maxMs: number
  signal?: AbortSignal | null | undefined
  /** The request also follows a stream, which counts already. */
  counted?: boolean
  /** Whether the state is the one waited for. */
  enough(seen: T): boolean
}

type Waiting = Pick<Ctx, 'db' | 'pubsub' | 'revocations' | 'principal'>

/** Whether the call is settled, or waits for an approval, for its caller or for the end of a pause. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status.startsWith('AWAITING') || call.notBefore !== null
}

/** Reads the call until `enough` is true, the time is over or the signal fires. Returns the call as last read. */
export function waitForCall(ctx: Waiting, call: ToolCall, patience: Patience<ToolCall>): Promise<ToolCall> {
  return waitFor(ctx, call, () => batchLoadCall(ctx, call.id), patience)
}

/**
 * The same for anything that changes with a row of tool_calls or generations. Reads at the beginning, when the row
 * has changed, and at the end; all waiting requests of this process share the polls of their rows. A request that waits
 * counts as a stream of its key and ends with it: UNAUTHENTICATED. What it waits for has begun, so beyond the limit of
 * streams it is no error: it gets the state at once.
 */
export async function waitFor<T>(
  ctx: Waiting,
  row: WatchedRow,
  read: () => Promise<T>,
  patience: Patience<T>,
): Promise<T> {
  const until = performance.now() + patience.maxMs
  const isOver = () => performance.now() >= until || patience.signal?.aborted === true
  let seen = await read()
  if (patience.enough(seen) || isOver()) return seen
  const revoked = new AbortController()
  const leave = patience.counted ? () => {} : placeOf(ctx, () => revoked.abort())
  if (!leave) return seen
  const changes = changesOf(ctx, row, [patience.signal ?? null, revoked.signal])
  try {
    for (;;) {
      await changes.next(until)
      if (revoked.signal.aborted) throw unauthenticated()
      seen = await read()
      if (patience.enough(seen) || isOver()) return seen
    }
  } finally {
    changes.end()
    leave()
  }
}

/** Takes a place among the streams of the caller's key until the returned function is called; null when it has none left. */
function placeOf({ revocations, principal }: Waiting, end: () => void): (() => void) | null {
  try {
    return revocations.onRevoked(principal, end)
  } catch (error) {
    if (error instanceof AppError && error.code === 'LIMITED') return null
    throw error
  }
}

/**
 * `next` resolves when the row's version differs from the last one, when a signal fires, or at the given time of
 * `performance.now()`, which nobody sets.
 */
function changesOf(
  services: Pick<Ctx, 'db' | 'pubsub'>,
  row: WatchedRow,
  signals: readonly (AbortSignal | null)[],
) {
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
  const ended = () => signals.some((signal) => signal?.aborted)
  const listeners = signals.map((signal) => onAbort(signal, () => wake()))
  return {
    async next(until: number): Promise<void> {
      if (!changed && !ended()) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, Math.min(Math.max(0, until - performance.now()), 2 ** 31 - 1))
        })
        clearTimeout(timer)
      }
      changed = false
    },
    end() {
      stop()
      for (const forget of listeners) forget()
    },
  }
}
