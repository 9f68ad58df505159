/** This process's worker of calls outside generations: approved ones, and those whose worker was lost. */
import { claim } from '../../store/work/work.ts'
import { startWorker, type Worker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { workOnCall, type HeldCall } from './work.ts'

/** `slots`: how many calls run at once. */
export function startCallWorker(
  services: Services,
  { slots }: { slots: number },
): Pick<Worker, 'drain' | 'stop'> {
  const { leaseDb, heartbeat, slots: freeSlots, pubsub, schedule, limits, log } = services
  return startWorker<HeldCall>({
    db: leaseDb,
    pubsub,
    table: 'tool_calls',
    leases: heartbeat.of('tool_calls'),
    freeSlots,
    slots,
    schedule,
    claim: (limit) => claim(leaseDb, 'tool_calls', limits.leaseMs, limit),
    run: (held, control) => workOnCall(services, held, control),
    onError: (error, id) =>
      log.error({ err: error, id }, 'a call was interrupted by an unexpected error; it is taken up again'),
  })
}
