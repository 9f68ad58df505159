/** Waiting for what somebody else runs: woken by the bell, certain by looking. */
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort } from '../../core/abort.ts'
import type { House } from '../access/index.ts'
import { isOpen, loadCall, type ToolCall } from '../tools/index.ts'

/** How often to look when no bell rings, in milliseconds. */
const lookMs = 1000
/** News may come by the hundred: not more than one look in so many milliseconds. */
const calmMs = 25

export interface Patience<T> {
  maxMs: number
  signal?: AbortSignal | null
  /** Whether this is what was waited for. */
  enough(seen: T): boolean
}

/** Whether the call is settled, or waits for a person or its caller. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status.startsWith('AWAITING')
}

/** Looks at a call until it is enough, the time is over or the signal says so; answers the call as it stands then. */
export function waitForCall(
  house: Pick<House, 'db' | 'bell'>,
  call: ToolCall,
  patience: Patience<ToolCall>,
): Promise<ToolCall> {
  return waitFor(house, call.projectId, () => loadCall(house.db, call.id), patience)
}

/** The same for anything that changes with the news of a project. */
export async function waitFor<T>(
  { bell }: Pick<House, 'bell'>,
  projectId: string,
  read: () => Promise<T>,
  patience: Patience<T>,
): Promise<T> {
  const until = Date.now() + patience.maxMs
  const nap = napping(patience.signal ?? null)
  const stop = bell.listen((hint) => {
    if (hint.kind === 'reconnected' || (hint.kind === 'news' && hint.projectId === projectId)) nap.wake()
  })
  try {
    for (;;) {
      nap.begin()
      const seen = await read()
      const left = until - Date.now()
      if (patience.enough(seen) || left <= 0 || patience.signal?.aborted) return seen
      await pause(Math.min(calmMs, left))
      await nap.sleep(Math.min(lookMs, until - Date.now()))
    }
  } finally {
    stop()
    nap.end()
  }
}

/** Sleep that a bell or a signal ends, also one that came since `begin`. */
function napping(signal: AbortSignal | null) {
  let woken = false
  let resolve: (() => void) | null = null
  const wake = () => {
    woken = true
    resolve?.()
  }
  const end = onAbort(signal, wake)
  return {
    wake,
    begin: () => void (woken = false),
    async sleep(ms: number): Promise<void> {
      if (woken || ms <= 0 || signal?.aborted) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((done) => {
        resolve = done
        timer = setTimeout(done, ms)
      })
      clearTimeout(timer)
      resolve = null
    },
    end,
  }
}
