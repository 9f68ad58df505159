/** A run that a pause holds: asked before something of it leaves, and parked while the pause certainly holds. */
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { parkedMs, pausesOfRun, stillPaused } from '../../../store/work/pauses.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { commit, unlessCancelled, type Change } from './commit.ts'
import { lockOwn, publishCommit, type Turn } from './turn.ts'

type Writer = Pick<Turn, 'services' | 'held'>

/** Whether a pause holds the run, or one of these tools of it. */
export async function isPaused({ services, held }: Writer, toolIds: readonly string[]): Promise<boolean> {
  return (await query(services.leaseDb, pausesOfRun(held.id, toolIds))).length > 0
}

/** Which of these tools a pause holds: all of them when it holds the run. LeaseLostError when another worker has the row. */
export async function pausedTools(
  { services, held }: Writer,
  toolIds: readonly string[],
): Promise<readonly string[]> {
  const found = sql`select target from pauses where id in (${pausesOfRun(held.id, toolIds)})`
  const [row] = await query<{ targets: string[] }>(
    services.db,
    sql`select coalesce((select jsonb_agg(target) from (${found}) as p), '[]') as targets
      from generations where id = ${held.id} and epoch = ${held.epoch}`,
  )
  if (!row) throw new LeaseLostError(held.id)
  const isWhole = row.targets.some((target) => !toolIds.includes(target))
  return isWhole ? toolIds : row.targets
}

/**
 * Commits the change while a pause holds the run or one of these tools, and in the sight of whoever ends it; else writes
 * nothing and returns false. LeaseLostError when another worker has the row.
 */
export async function whilePaused(
  turn: Writer,
  toolIds: readonly string[],
  change: Change,
): Promise<boolean> {
  const { services, held } = turn
  const made = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    return (await stillPaused(tx, pausesOfRun(held.id, toolIds))) ? commit(tx, held, change) : null
  })
  if (made) publishCommit(turn, made)
  return made !== null
}

/**
 * Releases the row of a run whose next step a pause holds, with these assignments. Its end makes it due; a cancel ends it at
 * once.
 */
export async function parkPaused(turn: Writer, also: readonly SQL[] = []): Promise<'goOn' | 'parked'> {
  const parked = await whilePaused(turn, [], {
    set: [sql`status = 'QUEUED'`, ...also],
    wakeAt: unlessCancelled(nowPlus(parkedMs)),
    release: true,
  })
  return parked ? 'parked' : 'goOn'
}
