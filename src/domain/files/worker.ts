/**
 * The background work on files: bytes that no file has are removed, and with a bucket those on the disk are moved
 * there.
 */
import { AppError } from '../../core/errors.ts'
import { nowPlus, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { BucketFaultError, bucketPrefix } from '../../store/blobs/blobs.ts'
import type { Services } from '../access/index.ts'
import { uploadKey, moveToBucket } from './bucket-keys.ts'
import { settleUpload } from './direct.ts'
import { loadFiles } from './file.ts'
import { elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import { oneAtATime } from '../../core/async-work.ts'

const batch = 50
/** How long a process has a batch in work until another one may take it, in milliseconds. */
const takenMs = 5 * 60 * 1000

/** Does what is due, until `isStopped`. Idempotent, and safe in any number of processes. Throws BucketFaultError. */
export async function sweepBlobs(services: Services, isStopped: () => boolean): Promise<void> {
  const { db, blobs } = services
  // Without the bucket what is in it waits, and holds nothing up.
  const isReachable = blobs.bucket ? sql`true` : sql`not starts_with(key, ${bucketPrefix})`
  for (let taken = batch; taken === batch;) {
    const rows = await query<{ key: string; fileId: string }>(
      db,
      sql`update blob_writes set taken_until = ${nowPlus(takenMs)}
        where key in (
          select key from blob_writes
          where due_at <= now() and coalesce(taken_until < now(), true) and ${isReachable}
          order by due_at limit ${batch}
          for update skip locked
        )
        returning key, file_id as "fileId"`,
    )
    taken = rows.length
    const faults: unknown[] = []
    for (const { key, fileId } of rows) {
      if (isStopped()) return
      // One that the disk does not let go holds up no other; without its bucket none can be removed.
      await settle(services, key, fileId).catch((error: unknown) => {
        if (error instanceof BucketFaultError) throw error
        faults.push(error)
      })
    }
    if (faults.length > 0) throw faults[0]
  }
}

async function settle(services: Services, key: string, fileId: string): Promise<void> {
  if ((await keyOf(services, key, fileId)) !== key) await services.blobs.remove(key)
  await query(services.db, sql`delete from blob_writes where key = ${key}`)
}

/** The key that the file has, after its upload was checked once more. */
async function keyOf(services: Services, key: string, fileId: string): Promise<string | null> {
  const [file] = await loadFiles(services.db, [fileId])
  if (!file) return null
  if (key !== uploadKey(fileId)) return file.blobKey
  const settled = await settleUpload(services, file).catch((error: unknown) => {
    // What the quota does not allow is not kept.
    if (error instanceof AppError && error.code === 'LIMITED') return file
    throw error
  })
  return settled.blobKey
}

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
