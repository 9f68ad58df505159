/** The worker of upstreams: looks at each when its time has come, in whichever process is free. */
import { sql } from 'drizzle-orm'
import { query } from '../../store/db/database.ts'
import { createLeases } from '../../store/work/leases.ts'
import { claim } from '../../store/work/work.ts'
import { startWorker } from '../../store/work/worker.ts'
import type { House } from '../access/index.ts'
import { setFollower } from './follower.ts'
import { createFollower } from './listen.ts'
import { look } from './refresh.ts'

/** Upstreams that are looked at at once. */
const slots = 8

/** Refreshes upstreams in the background and follows what they tell. `stop` waits a moment for looks under way. */
export function startUpstreams(
  house: House,
  options: { sweepMs: number },
): { stop(graceMs: number): Promise<void> } {
  const follower = createFollower(house)
  setFollower(house, follower)
  const { leaseMs } = house.limits
  const leases = createLeases({
    db: house.leaseDb,
    table: 'upstreams',
    leaseMs,
    onError: (error) => house.log.warn({ err: error }, 'the leases of upstreams could not be renewed'),
  })
  const worker = startWorker({
    db: house.leaseDb,
    bell: house.bell,
    table: 'upstreams',
    slots,
    leases,
    sweepMs: options.sweepMs,
    claim: (limits) => claim(house.leaseDb, 'upstreams', leaseMs, limits),
    run: (held, { signal }) => look(house, held, signal),
    onError: (error, id) =>
      house.log.error({ err: error, id }, 'an upstream could not be looked at; it is taken up again'),
  })
  return {
    async stop(graceMs) {
      setFollower(house, null)
      follower.stop()
      await worker.stop(Math.min(graceMs, 2000))
      leases.stop()
      await giveUp(house, follower.name)
    },
  }
}

/** Another process looks at what this one followed, and follows it from then on. */
async function giveUp(house: House, listener: string): Promise<void> {
  const rows = await query(
    house.db,
    sql`update upstreams set listener = null, wake_at = now() where listener = ${listener} returning id`,
  ).catch(() => [])
  if (rows.length > 0) house.bell.ring([{ kind: 'work', table: 'upstreams' }])
}
