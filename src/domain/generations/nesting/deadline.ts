/**
 * Limits of nested runs, and the deadline of a generation. Time during which people are asked, in the generation or a
 * descendant, does not count.
 */
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { pausableOf } from '../../basis/index.ts'
import { treeOf } from './tree.ts'
import { asksAgent } from '../../tools/index.ts'
import type { ToolCall } from '../../tool-calls/index.ts'

/**
 * The approvals of a generation and all its descendants, and the spans of time in which it could not go on: a `with … `
 * clause, to be followed by a select over `asked` and `spans`.
 */
function askedUnder(id: SQL): SQL {
  return sql`with recursive ${treeOf(sql`select ${id} as top, ${id} as id`)},
    asked as (
      select a.*
      from approvals as a
      join tree on a.generation_id = tree.id
    ),
    spans as (
      select tstzrange(created_at, greatest(created_at, coalesce(settled_at, now()))) as span
      from asked
      union all
      select tstzrange(greatest(stop.created_at, run.created_at), coalesce(stop.ended_at, now()))
      from generations as run
      join pauses as stop on stop.project_id = run.project_id
      where run.id = ${id}
        and (stop.target in (${pausableOf(id)}) or run.settings->'toolIds' ? stop.target)
        and coalesce(stop.ended_at, now()) > greatest(stop.created_at, run.created_at)
    )`
}

/** The time during which people were asked or a pause held, as an SQL interval. */
const waited = sql`coalesce((
    select sum(upper(span) - lower(span))
    from unnest((select range_agg(span) from spans)) as span
  ), interval '0')`

/** When the time of the generation is over, as an SQL timestamp. `id` and `deadline` are columns of its row. */
export function ownDeadline(id: SQL, deadline: SQL): SQL {
  return sql`(${askedUnder(id)} select ${deadline} + ${waited})`
}

/**
 * When the time of a generation is over whose `deadlineAt` has passed, in milliseconds since 1970 (database clock);
 * then it must be checked again. While a person is asked, not before the approval's deadline.
 */
export async function readOwnDeadline(db: Database, id: string, deadlineAt: Date): Promise<number> {
  const deadline = sql`to_timestamp(${deadlineAt.getTime() / 1000}::float8)`
  const [row] = await query<{ end: number; now: number; asked: number | null }>(
    db,
    sql`${askedUnder(sql`${id}::text`)}
      select (extract(epoch from ${deadline} + ${waited}) * 1000)::float8 as "end",
        (extract(epoch from now()) * 1000)::float8 as now,
        (select (extract(epoch from min(expires_at)) * 1000)::float8 from asked where status = 'PENDING') as asked`,
  )
  const { end, now, asked } = row!
  return end > now ? Math.max(end, asked ?? 0) : end
}

/** Child runs: their limits, and which calls wait for one. Pure. */
export const nestingLimits = {
  /** Maximum length of a chain of runs, root included; a call that would exceed it is a tool error. */
  chain: 5,
  /** Maximum number of open child runs of one generation; further calls of its step stay PROPOSED until one ends. */
  openChildren: 8,
  /** Maximum number of descendants of one root over its whole life; a call that would exceed it is a tool error. */
  descendants: 100,
} as const

/** True while the call waits for its child run. No worker holds it, so a crash cannot make it UNKNOWN. */
export function waitsForChild(call: ToolCall): boolean {
  return call.childId !== null && call.status === 'EXECUTING'
}

/**
 * Which of the due calls may start now: child runs up to the limit; for an agent without parallel calls, nothing
 * beside or after a child run. `open`: all open calls; `inFlight`: calls that this worker is about to start, which
 * count too.
 */
export function startableNow(
  due: ToolCall[],
  open: ToolCall[],
  inFlight: ReadonlySet<string>,
  parallel: boolean,
): ToolCall[] {
  const running = open.filter(
    (call) => waitsForChild(call) || (inFlight.has(call.id) && asksAgent(call)),
  ).length
  if (!parallel) {
    const first = due.findIndex((call) => asksAgent(call))
    return running > 0 ? [] : first < 0 ? due : due.slice(0, Math.max(1, first))
  }
  let free = nestingLimits.openChildren - running
  return due.filter((call) => !asksAgent(call) || free-- > 0)
}
