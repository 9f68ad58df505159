/** Finding out what became of a statement whose response was lost, before it is sent again. */
import { setTimeout as pause } from 'node:timers/promises'
import { isStorageError } from '../db/storage-error.ts'
import type { Lease } from './leases.ts'

/** Between tries while the database is away, in milliseconds. */
const backoff = (failures: number) => Math.min(1000, 20 * 2 ** failures)

/**
 * Waits until the database responds, claims the row again, and reads: nothing that was sent under `epoch` can take effect
 * afterwards, so what is read is final. LeaseLostError when the row is, or may be, another worker's.
 */
export async function readBack<T>(lease: Lease, epoch: number, read: () => Promise<T>): Promise<T> {
  return whenAnswered(async () => {
    await lease.refence(epoch)
    return read()
  })
}

/**
 * Repeats what is safe to repeat until the database responds, at most for `maxMs`; then throws its last error. Waits a
 * moment before the first try when `atOnce` is false.
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
