/** The background work on files: bytes that no file has are removed, and with a bucket those on the disk are moved there. */
import { elapsedSince, momentNow, type Moment } from '../../core/stopwatch.ts'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import type { Services } from '../access/index.ts'
import { moveToBucket } from './move.ts'
import { sweepBlobs } from './sweep.ts'

/** Times between two looks, in milliseconds: at the rows, and at the disk, to which a replica without the bucket may write. */
const sweepEveryMs = 30_000
const moveEveryMs = 10 * 60_000

export interface FileWorker {
  /** Does all that is due now. Rejects when it could not. */
  runNow(): Promise<void>
  /** Starts nothing new. */
  drain(): void
}

export function startFileWorker(services: Services): FileWorker {
  const { log } = services
  let stopped = false
  const isStopped = () => stopped
  const move = async () => {
    const { moved, left, faulty } = await moveToBucket(services, isStopped)
    if (moved > 0) log.info({ moved, left, faulty }, 'files were moved from the disk to the bucket')
  }
  let movedAt: Moment | null = null
  const run = async (moves: boolean) => {
    await sweepBlobs(services, isStopped)
    if (!moves || stopped) return
    movedAt = momentNow()
    await move()
  }
  const look = oneAtATime(() =>
    run(movedAt === null || elapsedSince(movedAt) >= moveEveryMs).catch((error: unknown) =>
      log.warn({ err: error }, 'not all files were checked; the next check goes on'),
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
