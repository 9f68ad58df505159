/** Waiting for a call that somebody else runs: woken by the bell, certain by looking. */
import type { House } from '../access/index.ts'
import { isOpen, type ToolCall } from '../tools/index.ts'
import { loadCall } from './row.ts'

/** How often to look when no bell rings, in milliseconds. */
const lookMs = 1000
/** News may come by the hundred: not more than one look in so many milliseconds. */
const calmMs = 25

export interface Patience {
  maxMs: number
  signal?: AbortSignal | null
  /** Whether this is what was waited for. */
  enough(call: ToolCall): boolean
}

/** Whether the call is settled, or waits for a person. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status === 'AWAITING_APPROVAL'
}

/** Looks until it is enough, the time is over or the signal says so; answers the call as it stands then. */
export async function waitForCall(
  house: Pick<House, 'db' | 'bell'>,
  from: ToolCall,
  patience: Patience,
): Promise<ToolCall> {
  const until = Date.now() + patience.maxMs
  let call = from
  let ring = () => {}
  let rung = true
  const stop = house.bell.listen((hint) => {
    const concerns =
      hint.kind === 'reconnected' || (hint.kind === 'news' && hint.projectId === from.projectId)
    if (!concerns) return
    rung = true
    ring()
  })
  const onAbort = () => ring()
  patience.signal?.addEventListener('abort', onAbort)
  try {
    for (;;) {
      rung = false
      call = await loadCall(house.db, from.id)
      const left = until - Date.now()
      if (patience.enough(call) || left <= 0 || patience.signal?.aborted) return call
      await pause(Math.min(calmMs, left))
      if (!rung && !patience.signal?.aborted)
        await new Promise<void>((resolve) => {
          ring = resolve
          setTimeout(resolve, Math.max(0, Math.min(lookMs, until - Date.now()))).unref()
        })
    }
  } finally {
    stop()
    patience.signal?.removeEventListener('abort', onAbort)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
