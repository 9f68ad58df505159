/** The worker that refreshes upstreams when they are due, in whichever process claims them. */
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { claim, madeDue } from '../../store/work/work.ts'
import { startWorker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { setFollower } from './changes.ts'
import { createFollower } from './listen.ts'
import { refreshHeld } from './catalog/refresh.ts'

/** Upstreams refreshed at the same time. */
const slots = 8

/**
 * Refreshes upstreams in the background and listens to their changes. `stop` waits up to 2 s for refreshes in flight.
 */
export function startUpstreams(services: Services): { stop(graceMs: number): Promise<void> } {
  const follower = createFollower(services)
  setFollower(services, follower)
  const { leaseMs } = services.limits
  const worker = startWorker({
    db: services.leaseDb,
    pubsub: services.pubsub,
    table: 'upstreams',
    slots,
    leases: services.heartbeat.of('upstreams'),
    schedule: services.schedule,
    claim: (limits) => claim(services.leaseDb, 'upstreams', leaseMs, limits),
    run: (held, { signal }) => refreshHeld(services, held, signal),
    onError: (error, id) =>
      services.log.error({ err: error, id }, 'could not refresh an upstream; it is claimed again later'),
  })
  return {
    async stop(graceMs) {
      setFollower(services, null)
      follower.stop()
      await worker.stop(Math.min(graceMs, 2000))
      await releaseUpstreams(services, follower.name)
    },
  }
}

/** Makes the upstreams of this process's follower due, so that another process refreshes and follows them. */
async function releaseUpstreams(services: Services, listener: string): Promise<void> {
  const rows = await query(
    services.db,
    sql`
      update upstreams
      set listener = null,
        ${madeDue}
      where listener = ${listener}
      returning id`,
  ).catch(() => [])
  if (rows.length > 0) services.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
}
