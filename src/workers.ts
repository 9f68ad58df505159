/** Starts everything that works in the background of this process: claims due rows, keeps deadlines, tidies up. */
import { forgetExpiredKeys, type Services } from './domain/access/index.ts'
import { startDeadlines } from './domain/approvals/index.ts'
import { startCallWorker } from './domain/calls/index.ts'
import { startGenerationWorker, type Models } from './domain/generations/index.ts'
import { startUpstreams } from './domain/upstream/index.ts'

export interface WorkersOptions {
  /** Generations worked on at once. */
  slots: number
  /** Approved and recovered calls outside generations that run at once. */
  callSlots: number
}

export interface Workers {
  /** Generations that this process works on. */
  busy(): number
  /** Claims nothing more and begins nothing new; what was begun goes on. */
  drain(): void
  /** Drains, lets work end for `graceMs`, gives the rest back. */
  stop(graceMs: number): Promise<void>
}

/** How often each worker polls for due rows without a hint, in milliseconds. */
const sweepMs = 500
const housekeepingMs = 10 * 60 * 1000

export function startWorkers(services: Services, models: Models, options: WorkersOptions): Workers {
  const generations = startGenerationWorker(services, models, { slots: options.slots, sweepMs })
  const calls = startCallWorker(services, { slots: options.callSlots, sweepMs })
  const upstreams = startUpstreams(services, { sweepMs })
  const deadlines = startDeadlines(services)
  const housekeeping = setInterval(
    () => void forgetExpiredKeys(services.db).catch(() => {}),
    housekeepingMs,
  ).unref()
  const claiming = [generations, calls]
  return {
    busy: () => generations.busy(),
    drain: () => claiming.forEach((worker) => worker.drain()),
    async stop(graceMs) {
      clearInterval(housekeeping)
      await Promise.all([deadlines.stop(), ...claiming.map((worker) => worker.stop(graceMs))])
      await upstreams.stop(0)
    },
  }
}
