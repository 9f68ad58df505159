/**
 * Pauses of projects, agents and tools. A statement that starts something proves that no pause holds it, and the process
 * sends within `sendWithinMs` of that statement or asks again. So who pauses something and then waits for that long knows
 * that nothing of it leaves any more, in whichever process. Whoever finds a pause parks its row while the pause certainly
 * holds; the end of the pause makes what was parked due.
 */
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'

/** How long what a statement has found about pauses may be acted upon, in milliseconds since it was sent. */
export const sendWithinMs = 2000

/** When a parked row is claimed again, in milliseconds, should the process die that ends the pause. */
export const parkedMs = 10 * 60_000

/** A condition: nothing at all is paused. It reads an index that is empty then, once for the statement. */
const nothingPaused = sql`not exists (select 1 from pauses where ended_at is null)`

/** Selects the pauses that hold for one of these targets, some of which may be null. */
export function pausesOf(targets: readonly (SQL | string | null)[]): SQL {
  const given = targets.filter((target) => target !== null).map((target) => sql`${target}`)
  return sql`select open_pause.id from pauses as open_pause
    where open_pause.ended_at is null and open_pause.target in (${sql.join(given, sql`, `)})`
}

/** Selects the ids whose pause holds a generation: its project, its agent and those of its ancestors. */
export function pausableOf(id: SQL | string): SQL {
  return sql`with recursive chain as (
      select parent_id, project_id, agent_id from generations where id = ${id}
      union all
      select a.parent_id, a.project_id, a.agent_id
      from chain join generations as a on a.id = chain.parent_id
    )
    select unnest(array[project_id, agent_id]) as target from chain`
}

/** Selects the pauses that hold for a generation, or for one of these tools of it. */
export function pausesOfRun(id: SQL | string, toolIds: readonly string[] = []): SQL {
  const ofTools = toolIds.length > 0 ? sql`or open_pause.target in ${[...toolIds]}` : sql``
  return sql`select open_pause.id from pauses as open_pause
    where open_pause.ended_at is null and (open_pause.target in (${pausableOf(id)}) ${ofTools})`
}

/** A condition: no pause holds for the generation, or for one of these tools of it. */
export function runIsFree(id: SQL | string, toolIds: readonly string[] = []): SQL {
  return sql`(${nothingPaused} or not exists (${pausesOfRun(id, toolIds)}))`
}

/** A condition: no pause holds for one of these targets. */
export function areFree(...targets: (SQL | string | null)[]): SQL {
  return sql`(${nothingPaused} or not exists (${pausesOf(targets)}))`
}

/**
 * Whether one of these pauses holds, and goes on to hold until the transaction ends: call it in the transaction that parks
 * a row. Its end waits for that, and finds the row.
 */
export async function stillPaused(tx: Database, found: SQL): Promise<boolean> {
  const held = sql`select 1 from pauses where id in (${found}) and ended_at is null limit 1 for share`
  return (await query(tx, held)).length > 0
}
