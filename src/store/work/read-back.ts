/** Finds out whether a statement whose response was lost took effect, before it is sent again. */
import { setTimeout as pause } from 'node:timers/promises'
import { isOutage } from '../db/storage-error.ts'
import type { Lease } from './leases.ts'

/** The pause after so many failures while the database is unavailable, in milliseconds. */
const backoff = (failures: number) => Math.min(1000, 20 * 2 ** failures)

/**
 * Waits before work is repeated that an outage has stopped `failures` times in a row: a database without space answers, and a
 * loop without a pause would ask it, and whoever else takes part, without end.
 */
export async function afterOutage(failures: number, signal?: AbortSignal): Promise<void> {
  await pause(backoff(failures), undefined, { signal })
}

/**
 * Waits until the database responds, claims the row again, and reads: nothing that was sent under `epoch` can take
 * effect afterwards, so what is read is final. Throws LeaseLostError when another worker has, or may have, the row.
 */
export async function readBack<T>(lease: Lease, epoch: number, read: () => Promise<T>): Promise<T> {
  return whenAnswered(async () => {
    await lease.refence(epoch)
    return read()
  })
}

/**
 * Repeats work, which must be safe to repeat, until the database responds, for at most `maxMs`; then throws the last
 * error. Unless `atOnce`, waits 20 ms before the first try.
 */
export async function whenAnswered<T>(work: () => Promise<T>, maxMs = Infinity, atOnce = false): Promise<T> {
  const start = performance.now()
  for (let failures = 0; ; failures++) {
    if (failures > 0 || !atOnce) await pause(backoff(failures))
    try {
      return await work()
    } catch (error) {
      if (!isOutage(error) || performance.now() - start > maxMs) throw error
    }
  }
}
