/** Passes of a sweep: batch after batch of one kind, with a pause after each. */
import { setTimeout as pause } from 'node:timers/promises'
import type { HeldRow } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { findRuns, mostJudged, type Candidate, type WhichRuns } from './find-runs.ts'
import { batchSize, type RemoveBatch } from './remove-others.ts'
import { removeRuns } from './remove-runs.ts'

/** The pause after each batch, in milliseconds: others write meanwhile. */
const pauseMs = 10

/** What a sweep works under. */
export interface Sweep {
  services: Pick<Services, 'db' | 'blobs' | 'pubsub'>
  held: HeldRow
  projectId: string
  /** The time by which ages count. */
  now: Date
  /** Rejects or returns false when the process must stop. */
  goesOn(): Promise<boolean>
}

/** Removes finished runs until none may go. False when the process must stop. */
export async function sweepRuns(
  sweep: Sweep,
  which: Omit<WhichRuns, 'projectId'>,
  removalId: string | null = null,
): Promise<boolean> {
  const { services, held, projectId } = sweep
  const remove = (ids: readonly string[]) =>
    removeRuns(services.db, held, { projectId, ids, before: which.before, removalId })
  for (let after: Candidate | null = null; await sweep.goesOn();) {
    const found: Candidate[] = await findRuns(services.db, { projectId, ...which }, after, mostJudged)
    const batch = fitting(found)
    if (batch.length === 0) return true
    const ids = batch.flatMap(({ id, kept }) => (kept ? [] : [id]))
    const isWhole = ids.length === 0 || (await remove(ids))
    // Followers have not read so far.
    if (!isWhole && !(ids.length > 1 && (await remove(ids.slice(0, 1))))) return true
    after = isWhole ? batch.at(-1)! : batch.find(({ id }) => id === ids[0])!
    await pause(pauseMs)
  }
  return false
}

/** A beginning of the list with at most a batch of events that go, and at least one run. */
function fitting(found: readonly Candidate[]): Candidate[] {
  let rows = 0
  const most = found.findIndex(({ events, kept }) => !kept && (rows += events) > batchSize)
  return most < 0 ? [...found] : found.slice(0, Math.max(1, most))
}

/** Removes batches until nothing more is due. False when the process must stop. */
export async function sweepBatches(
  sweep: Sweep,
  remove: RemoveBatch,
  before: Date,
  removalId: string | null = null,
): Promise<boolean> {
  const { services, held, projectId } = sweep
  while (await sweep.goesOn()) {
    const removed = await remove(services.db, held, { projectId, before, removalId })
    if (removed < batchSize) return true
    await pause(pauseMs)
  }
  return false
}
