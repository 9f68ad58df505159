/** The workers of this process: for generations, for calls outside them, and for the deadlines of approvals. */
import { claim } from '../../store/work/work.ts'
import { startWorker, type Worker } from '../../store/work/worker.ts'
import { forgetExpiredKeys, type House } from '../access/index.ts'
import { startDeadlines } from '../approvals/index.ts'
import { workOnCall } from '../calls/index.ts'
import { claimGenerations } from './claim.ts'
import { runGeneration } from './loop.ts'
import type { Models } from './providers.ts'

export interface WorkersOptions {
  /** Generations worked on at once. */
  slots: number
  /** How often to look for due rows without being rung, in milliseconds. */
  sweepMs: number
}

export interface Workers {
  /** Generations in hand. */
  busy(): number
  /** Stops claiming, lets work end for `graceMs`, gives the rest back. */
  stop(graceMs: number): Promise<void>
}

const housekeepingMs = 10 * 60 * 1000

export function startWorkers(house: House, models: Models, options: WorkersOptions): Workers {
  const { db, bell, limits, log } = house
  const shared = { db, bell, leaseMs: limits.leaseMs, sweepMs: options.sweepMs }
  const onError = (error: unknown, id: string | null) =>
    log.error({ err: error, id }, 'work was interrupted by an unexpected error; it is taken up again')
  const generations = startWorker({
    ...shared,
    table: 'generations',
    slots: options.slots,
    claim: (limit) => claimGenerations(db, limits.leaseMs, limit),
    run: (held, reins) => runGeneration(house, models, held, reins),
    onError,
  })
  const calls = startWorker({
    ...shared,
    table: 'tool_calls',
    slots: 8,
    claim: (limit) => claim(db, 'tool_calls', limits.leaseMs, limit),
    run: (held, { signal }) => workOnCall(house, held, signal),
    onError,
  })
  const unlisten = bell.listen((hint) => {
    if (hint.kind !== 'signal') return
    if (hint.name === 'cancel') generations.interrupt(hint.id)
    if (hint.name === 'look') generations.nudge(hint.id)
  })
  const deadlines = startDeadlines(house)
  const housekeeping = setInterval(() => void forgetExpiredKeys(db).catch(() => {}), housekeepingMs)
  housekeeping.unref()
  const all: Worker[] = [generations, calls]
  return {
    busy: () => generations.busy(),
    async stop(graceMs) {
      unlisten()
      clearInterval(housekeeping)
      await Promise.all([deadlines.stop(), ...all.map((worker) => worker.stop(graceMs))])
    },
  }
}
