/** Finds out whether a statement whose response was lost took effect, before it is sent again. */
import { setTimeout as pause } from 'node:timers/promises'
import { isStorageError } from '../db/storage-error.ts'
import type { Lease } from './leases.ts'

/** The pause between tries while the database is unavailable, in milliseconds. */
const backoff = (failures: number) => Math.min(1000, 20 * 2 ** failures)

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
      if (!isStorageError(error) || performance.now() - start > maxMs) throw error
    }
  }
}
