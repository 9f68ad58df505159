/** The sweeps of this process: the retention of a project is claimed by one process at a time. */
import { claim, release } from '../../store/work/work.ts'
import { startWorker, type Worker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { removedKinds, sumOf, type Removed } from './kinds.ts'
import { sweepProject } from './sweep.ts'

/** Sweeps at the same time: each sends one statement at a time. */
const slots = 2

export interface RetentionWorker extends Pick<Worker, 'drain' | 'stop'> {
  /** What this process has removed, and the sweeps that it has finished and that have failed. */
  counts(): { removed: Removed; sweeps: number; failures: number }
}

export function startRetention(services: Services): RetentionWorker {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  const totals = { removed: {} as Removed, sweeps: 0, failures: 0 }
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table: 'retentions',
    leases: heartbeat.of('retentions'),
    slots,
    schedule,
    claim: (limit) => claim(leaseDb, 'retentions', limits.leaseMs, limit),
    async run(held, { lease, isDraining, signal }) {
      const goesOn = async () => {
        if (isDraining() || signal.aborted) return false
        await lease.confirm()
        return true
      }
      const removed = await sweepProject(services, held, goesOn)
      if (!removed) return isDraining() ? release(leaseDb, 'retentions', [held]) : undefined
      totals.sweeps++
      totals.removed = sumOf(totals.removed, removed)
      pubsub.publish([{ kind: 'news', projectId: held.projectId, generationId: null, seq: null }])
      if (removedKinds.some((kind) => removed[kind]))
        log.info({ projectId: held.projectId, removed }, 'retention has removed what was due')
    },
    onError(error, id) {
      totals.failures++
      log.error(
        { err: error, id },
        'a retention sweep was interrupted by an unexpected error; it is taken up again',
      )
    },
  })
  return { drain: () => worker.drain(), stop: (graceMs) => worker.stop(graceMs), counts: () => totals }
}
