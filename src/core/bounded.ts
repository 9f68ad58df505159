/** What is bounded: synchronous work on untrusted input in time, and maps in the number of their entries. */
import { createContext, Script } from 'node:vm'

/** A map that keeps at most `most` entries: setting a key puts it last, and beyond the limit the first one is dropped. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#most) this.delete(this.keys().next().value!)
    return this
  }
}

export type BoundedRun<Result> = { ok: true; value: Result } | { ok: false }

/** The CPU time that this process has used so far, all threads together, in milliseconds. */
export type CpuClock = () => number

const processCpu: CpuClock = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const sandbox = createContext({ work: null }) as { work: (() => unknown) | null }
const script = new Script('work()')

/**
 * Work that used less than this share of its limit as CPU time was stopped because the machine was busy or the process
 * frozen. It is tried again, so often at most.
 */
const busyShare = 0.5
const mostTries = 3

/**
 * Runs synchronous work for at most `ms` milliseconds and returns `ok: false` when it was stopped. The engine stops the
 * work wherever it is, inside a loop or a regular expression
 * (https://nodejs.org/api/vm.html#scriptrunincontextcontextifiedobject-options), so the work must own what it changes
 * and must be repeatable. The engine's limit is wall-clock time. When the process got less than half of the limit as
 * CPU time, the work starts again with the CPU time that is left, at most twice; all tries together use at most `ms` of
 * CPU time and three times `ms` of wall-clock time. Errors that the work throws are thrown. Costs about 70 microseconds.
 * Inside other bounded work only the outermost limit counts.
 */
export function runBounded<Result>(
  ms: number,
  work: () => Result,
  cpuNow: CpuClock = processCpu,
): BoundedRun<Result> {
  if (sandbox.work) return { ok: true, value: work() }
  const start = cpuNow()
  let limitMs = ms
  for (let tries = 1; ; tries++) {
    const done = runOnce(limitMs, work)
    if (done.ok) return done
    const usedMs = cpuNow() - start
    if (usedMs >= ms * busyShare || tries === mostTries) return done
    limitMs = Math.ceil(ms - usedMs)
  }
}

function runOnce<Result>(limitMs: number, work: () => Result): BoundedRun<Result> {
  sandbox.work = work
  try {
    return { ok: true, value: script.runInContext(sandbox, { timeout: limitMs }) as Result }
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { ok: false }
    throw error
  } finally {
    sandbox.work = null
  }
}

/** Milliseconds of CPU that stopped work may lose in a row, and the share of passing time that reduces the loss. */
const budgetMs = 200
const repaidShare = 0.1
/** The limit while the budget is used up, in milliseconds: enough for all honest work but the largest. */
const leastMs = 25

/** What each project has lost. */
const losses = new BoundedMap<string, { ms: number; at: number }>(10_000)

/**
 * `runBounded` for work that untrusted clients can request as often as they like. After stopped work of a project, all
 * further work of the same project gets a shorter limit for a while, so that many requests together do not hold the
 * event loop either. No project shortens another's limit.
 */
export function runBoundedFor<Result>(projectId: string, ms: number, work: () => Result): BoundedRun<Result> {
  const start = performance.now()
  const cpuBefore = processCpu()
  const lost = losses.get(projectId)
  const lostMs = lost ? Math.max(0, lost.ms - (start - lost.at) * repaidShare) : 0
  const done = runBounded(Math.max(leastMs, Math.floor(Math.min(ms, budgetMs - lostMs))), work)
  if (lost && (lostMs === 0 || !done.ok)) losses.delete(projectId)
  if (done.ok) return done
  // CPU time: a busy machine costs nobody its budget.
  losses.set(projectId, { ms: lostMs + processCpu() - cpuBefore, at: performance.now() })
  return done
}

/** A pause after work that was stopped. */
export interface Cooldown {
  isActive(): boolean
  /** Starts the pause, or starts it again. */
  start(): void
}

/** How long stopped work is not tried again, in milliseconds: it gets a twentieth of the event loop at most. */
const cooldownMs = 4000

export function createCooldown(): Cooldown {
  let until = 0
  return {
    isActive: () => performance.now() < until,
    start: () => void (until = performance.now() + cooldownMs),
  }
}
