/** The worker of upstreams: looks at each when its time has come, in whichever process is free. */
import { sql } from 'drizzle-orm'
import { query } from '../../store/db/database.ts'
import { claim } from '../../store/work/work.ts'
import { startWorker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { setFollower } from './follower.ts'
import { createFollower } from './listen.ts'
import { look } from './refresh.ts'

/** Upstreams that are looked at at once. */
const slots = 8

/** Refreshes upstreams in the background and follows what they tell. `stop` waits a moment for looks under way. */
export function startUpstreams(
  services: Services,
  options: { sweepMs: number },
): { stop(graceMs: number): Promise<void> } {
  const follower = createFollower(services)
  setFollower(services, follower)
  const { leaseMs } = services.limits
  const worker = startWorker({
    db: services.leaseDb,
    pubsub: services.pubsub,
    table: 'upstreams',
    slots,
    leases: services.heartbeat.of('upstreams'),
    sweepMs: options.sweepMs,
    claim: (limits) => claim(services.leaseDb, 'upstreams', leaseMs, limits),
    run: (held, { signal }) => look(services, held, signal),
    onError: (error, id) =>
      services.log.error({ err: error, id }, 'an upstream could not be looked at; it is taken up again'),
  })
  return {
    async stop(graceMs) {
      setFollower(services, null)
      follower.stop()
      await worker.stop(Math.min(graceMs, 2000))
      await giveUp(services, follower.name)
    },
  }
}

/** Another process looks at what this one followed, and follows it from then on. */
async function giveUp(services: Services, listener: string): Promise<void> {
  const rows = await query(
    services.db,
    sql`update upstreams set listener = null, wake_at = now() where listener = ${listener} returning id`,
  ).catch(() => [])
  if (rows.length > 0) services.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
}
