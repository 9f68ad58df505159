/** This process's worker of generations. */
import { startWorker, type Worker } from '../../../store/work/worker.ts'
import type { Services } from '../../access/index.ts'
import type { Models } from '../../models/index.ts'
import { claimGenerations } from '../transaction/claim.ts'
import { runGeneration } from './run-loop.ts'

/** `slots`: how many generations run at once. */
export function startGenerationWorker(
  services: Services,
  models: Models,
  { slots }: { slots: number },
): Pick<Worker, 'busy' | 'drain' | 'stop'> {
  const { leaseDb, heartbeat, slots: freeSlots, pubsub, schedule, limits, log } = services
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table: 'generations',
    leases: heartbeat.of('generations'),
    freeSlots,
    slots,
    schedule,
    claim: (limit) => claimGenerations(leaseDb, limits.leaseMs, limit),
    run: (held, control) => runGeneration(services, models, held, control),
    onError: (error, id) =>
      log.error(
        { err: error, id },
        'a generation was interrupted by an unexpected error; it is taken up again',
      ),
  })
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind !== 'signal') return
    if (hint.name === 'cancel') worker.interrupt(hint.id)
    if (hint.name === 'recheck') worker.recheck(hint.id)
  })
  return {
    busy: worker.busy,
    drain: worker.drain,
    stop(graceMs) {
      unsubscribe()
      return worker.stop(graceMs)
    },
  }
}
