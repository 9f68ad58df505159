/** The background work on files in a bucket: what no file has is removed, and what is on the disk is moved. */
import { elapsedSince, momentNow, type Moment } from '../../core/stopwatch.ts'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import type { Services } from '../access/index.ts'
import { moveToBucket } from './move.ts'
import { sweepBucket } from './sweep.ts'

/** Times between two looks, in milliseconds: at the rows, and at the disk, to which a replica without the bucket may write. */
const sweepEveryMs = 30_000
const moveEveryMs = 10 * 60_000

export interface FileWorker {
  /** Does all that is due now. Rejects when it could not. */
  runNow(): Promise<void>
  /** Starts nothing new. */
  drain(): void
}

/** Does nothing without a bucket. */
export function startFileWorker(services: Services): FileWorker {
  if (!services.blobs.bucket) return { runNow: async () => {}, drain: () => {} }
  const { log } = services
  let stopped = false
  const isStopped = () => stopped
  const move = async () => {
    const { moved, left, faulty } = await moveToBucket(services, isStopped)
    if (moved > 0) log.info({ moved, left, faulty }, 'files were moved from the disk to the bucket')
  }
  let movedAt: Moment | null = null
  const run = async (moves: boolean) => {
    await sweepBucket(services, isStopped)
    if (!moves || stopped) return
    movedAt = momentNow()
    await move()
  }
  const look = oneAtATime(() =>
    run(movedAt === null || elapsedSince(movedAt) >= moveEveryMs).catch((error: unknown) =>
      log.warn({ err: error }, 'not all files of the bucket were checked; the next check goes on'),
    ),
  )
  const timer = setInterval(() => void look(), sweepEveryMs).unref()
  void look()
  return {
    runNow: () => run(true),
    drain() {
      stopped = true
      clearInterval(timer)
    },
  }
}
