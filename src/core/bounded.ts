/** Work on strangers' input that may not hold the event loop: stopped from outside when its time is over. */
import { createContext, Script } from 'node:vm'

export type Bounded<Result> = { ok: true; value: Result } | { ok: false }

const room = createContext({ work: null }) as { work: (() => unknown) | null }
const doIt = new Script('work()')

/**
 * Does synchronous work for at most so many milliseconds (wall clock). The engine stops it wherever it is, inside a loop
 * or a regular expression (https://nodejs.org/api/vm.html#scriptrunincontextcontextifiedobject-options), so it must own
 * what it changes. What the work throws is thrown. Costs about 70 microseconds. Inside other bounded work only the time
 * of the outermost counts.
 */
export function bounded<Result>(ms: number, work: () => Result): Bounded<Result> {
  if (room.work) return { ok: true, value: work() }
  room.work = work
  try {
    return { ok: true, value: doIt.runInContext(room, { timeout: ms }) as Result }
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { ok: false }
    throw error
  } finally {
    room.work = null
  }
}

/** What all stopped work together may take at once, in milliseconds, and which part of the time that passes pays it back. */
const budgetMs = 200
const paidBack = 0.1
/** What work gets while the budget is used up: enough for all that is honest, but for the largest. */
const leastMs = 25

let lostMs = 0
let countedAt = 0

/**
 * The same for work that strangers can ask for as often as they like: after some that was stopped all other gets less
 * time for a while, so that many pieces of it together do not hold the loop either.
 */
export function boundedTogether<Result>(ms: number, work: () => Result): Bounded<Result> {
  const begun = performance.now()
  lostMs = Math.max(0, lostMs - (begun - countedAt) * paidBack)
  countedAt = begun
  const done = bounded(Math.max(leastMs, Math.floor(Math.min(ms, budgetMs - lostMs))), work)
  if (!done.ok) lostMs += performance.now() - begun
  return done
}
