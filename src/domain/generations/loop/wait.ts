/** The two ways in which the loop waits: beside its calls in flight, or with the row released. */
import { atomically, timeOf, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { isOpen, loadCallsOf, type ToolCall } from '../../tool-calls/index.ts'
import { nextDeadline, toRun } from '../decide.ts'
import { waitsForChild } from '../nesting/deadline.ts'
import { commit, unlessCancelled } from '../transaction/commit.ts'
import { lockOwn, type Turn } from '../transaction/turn.ts'

/**
 * Time between reads of the rows while a person or child run is waited for, in milliseconds: the hint that asks for a
 * recheck can be lost.
 */
const pollWhileAskedMs = 1000

/** Waits for the calls in flight, for a recheck, or until the deadline, whichever comes first. */
export async function waitForCalls(
  turn: Turn,
  forMs: number | null,
  rechecked: Promise<void>,
): Promise<'goOn'> {
  const { inFlight, calls, signal } = turn
  const isPolled = calls.some(
    (call) => isOpen(call) && (call.status.startsWith('AWAITING') || waitsForChild(call)),
  )
  if (forMs === null || signal.aborted) {
    await inFlight.idle()
    return 'goOn'
  }
  let timer: NodeJS.Timeout | undefined
  const due = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(forMs, isPolled ? pollWhileAskedMs : 2 ** 31 - 1))
  })
  await Promise.race([inFlight.idle(), rechecked, due]).finally(() => clearTimeout(timer))
  return 'goOn'
}

/**
 * Releases the row until a deadline. The open calls are read again under the row's lock: an output or verdict that
 * arrived meanwhile has written its part, but did not wake the row, because this worker held it.
 */
export async function park({ services, held, generation }: Turn): Promise<'goOn' | 'parked'> {
  const parked = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    const open = (await loadCallsOf(tx, [held.id])).filter(isOpen)
    const { sent, due } = toRun(open, new Set(), generation.settings, await nowIfHeld(tx, open))
    if (open.length === 0 || sent.length + due.length > 0) return false
    const until = nextDeadline(open, generation.deadlineAt.getTime())
    // What only waits for a limit or for the end of a pause waits for no one else.
    const asks = open.some((call) => call.status.startsWith('AWAITING') || waitsForChild(call))
    await commit(tx, held, {
      set: [asks ? sql`status = 'WAITING'` : sql`status = 'QUEUED'`],
      wakeAt: unlessCancelled(sql`to_timestamp(${until / 1000}::float8)`),
      release: true,
    })
    return true
  })
  return parked ? 'parked' : 'goOn'
}

/** Time of the database; read only when a rate limit or a pause delays a call. */
async function nowIfHeld(tx: Database, open: ToolCall[]): Promise<number> {
  if (open.every((call) => call.notBefore === null)) return 0
  return timeOf(tx)
}
