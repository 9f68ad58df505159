/** The workers of this process: for generations, for calls outside them, and for the deadlines of approvals. */
import { createLeases } from '../../../store/work/leases.ts'
import { claim } from '../../../store/work/work.ts'
import { startWorker, type Worker } from '../../../store/work/worker.ts'
import { forgetExpiredKeys, type Services } from '../../access/index.ts'
import { startDeadlines } from '../../approvals/index.ts'
import { workOnCall } from '../../calls/index.ts'
import { claimGenerations } from '../transaction/claim.ts'
import { runGeneration } from './run-loop.ts'
import type { Models } from '../providers/provider-records.ts'

export interface WorkersOptions {
  /** Generations worked on at once. */
  slots: number
  /** Approved and recovered calls outside generations that run at once. */
  callSlots: number
  /** How often to look for due rows without being rung, in milliseconds. */
  sweepMs: number
}

export interface Workers {
  /** Generations in hand. */
  busy(): number
  /** Claims nothing more and begins nothing new; what was begun goes on. */
  drain(): void
  /** Drains, lets work end for `graceMs`, gives the rest back. */
  stop(graceMs: number): Promise<void>
}

const housekeepingMs = 10 * 60 * 1000

export function startWorkers(services: Services, models: Models, options: WorkersOptions): Workers {
  const { db, leaseDb, callLeases, pubsub, limits, log } = services
  const { leaseMs } = limits
  const shared = { db: leaseDb, pubsub, sweepMs: options.sweepMs }
  const onError = (error: unknown, id: string | null) =>
    log.error({ err: error, id }, 'work was interrupted by an unexpected error; it is taken up again')
  const leases = createLeases({
    db: leaseDb,
    table: 'generations',
    leaseMs,
    onError: (error) =>
      log.warn({ err: error }, 'the leases of generations could not be renewed; it is tried again'),
  })
  const generations = startWorker({
    ...shared,
    table: 'generations',
    leases,
    slots: options.slots,
    claim: (limits) => claimGenerations(leaseDb, leaseMs, limits),
    run: (held, control) => runGeneration(services, models, held, control),
    onError,
  })
  const calls = startWorker({
    ...shared,
    table: 'tool_calls',
    leases: callLeases,
    slots: options.callSlots,
    claim: (limits) => claim(leaseDb, 'tool_calls', leaseMs, limits),
    run: (held, control) => workOnCall(services, held, control),
    onError,
  })
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind !== 'signal') return
    if (hint.name === 'cancel') generations.interrupt(hint.id)
    if (hint.name === 'recheck') generations.recheck(hint.id)
  })
  const deadlines = startDeadlines(services)
  const housekeeping = setInterval(() => void forgetExpiredKeys(db).catch(() => {}), housekeepingMs)
  housekeeping.unref()
  const all: Worker[] = [generations, calls]
  return {
    busy: () => generations.busy(),
    drain: () => all.forEach((worker) => worker.drain()),
    async stop(graceMs) {
      unsubscribe()
      clearInterval(housekeeping)
      await Promise.all([deadlines.stop(), ...all.map((worker) => worker.stop(graceMs))])
      leases.stop()
    },
  }
}
