/** Finds finished root runs that may go, and says why others stay. */
import { query, type Database } from '../../store/db/database.ts'
import { newestPositionOfAll } from '../../store/db/newest-position.ts'
import { sql, type SQL } from '../../store/db/sql.ts'

/** Why a finished run stays although its time has come. */
export const keptReasons = ['HELD', 'OPEN', 'UNKNOWN', 'RETRIED', 'IN_USE', 'RECENT'] as const
export type KeptReason = (typeof keptReasons)[number]

/** The run `g` and its descendants, as an array of ids. */
export const treeOf = sql`array(select g.id union all select t.id from generations as t where t.root_id = g.id)`

/** Whether a hold keeps what a principal has made, or all of the project. */
export function isHeld(projectId: SQL | string, ...targets: readonly SQL[]): SQL {
  return sql`exists (
    select 1
    from legal_holds as h
    where h.project_id = ${projectId} and h.lifted_at is null and h.target in (${sql.join([sql`${projectId}`, ...targets], sql`, `)})
  )`
}

/**
 * Why a root run `g` stays, as an expression; null when it may go with all its descendants. A run is as old as the newest
 * event of it, so that the start of the feed does not pass younger events. The newest event of the installation stays,
 * because positions count on from it.
 */
export function keptBecause(before: Date): SQL {
  const at = sql`${before.toISOString()}::timestamptz`
  return sql`case
      when ${isHeld(sql`g.project_id`, sql`g.id`, sql`g.requested_by`)} then 'HELD'
      when g.finished_at is null or exists (
        select 1 from generations as d where d.root_id = g.id and d.finished_at is null
      ) or exists (
        select 1 from tool_calls as c where c.generation_id = any(${treeOf}) and c.settled_at is null
      ) then 'OPEN'
      when exists (
        select 1
        from tool_calls as c
        where c.generation_id = any(${treeOf}) and c.status = 'UNKNOWN' and c.resolution is null
      ) then 'UNKNOWN'
      when exists (
        select 1
        from generations as r
        where r.retry_of_id = any(${treeOf}) and r.id <> g.id and r.root_id is distinct from g.id
      ) then 'RETRIED'
      when exists (
        select 1 from generations as o where o.thread_id = g.thread_id and o.finished_at is null
      ) then 'IN_USE'
      when g.finished_at >= ${at} or exists (
        select 1
        from events as e
        where e.generation_id = any(${treeOf})
          and (e.position is null or e.created_at >= ${at} or e.position >= ${newestPositionOfAll})
      ) then 'RECENT'
    end`
}

/** A root run whose time has come. */
export interface Candidate {
  id: string
  /** What it is sorted by, in milliseconds since 1970. */
  at: number
  /** The number of its events, without those of its descendants. */
  events: number
}

export interface WhichRuns {
  projectId: string
  /** Finished before this. */
  before: Date
  /** Only those of one requester; null: of all. */
  requester: string | null
}

/** Those after a candidate that may go, oldest first. */
export function findRuns(
  db: Database,
  which: WhichRuns,
  after: Candidate | null,
  limit: number,
): Promise<Candidate[]> {
  const at = which.requester === null ? sql`g.finished_at` : sql`g.created_at`
  return query<Candidate>(
    db,
    sql`select g.id, (extract(epoch from ${at}) * 1000)::float8 as at, g.last_seq as events
      from generations as g
      where ${matches(which)}
        ${after ? sql`and (${at}, g.id) > (${new Date(after.at).toISOString()}::timestamptz, ${after.id})` : sql``}
        and ${keptBecause(which.before)} is null
      order by ${at}, g.id
      limit ${limit}`,
  )
}

/** How many of the runs whose time has come may go, and how many stay, by reason; at most `most` are counted. */
export async function countRuns(
  db: Database,
  which: WhichRuns,
  most: number,
): Promise<{ runs: number; kept: Partial<Record<KeptReason, number>> }> {
  const rows = await query<{ why: KeptReason | null; n: number }>(
    db,
    sql`select why, count(*)::int as n
      from (
        select ${keptBecause(which.before)} as why
        from generations as g
        where ${matches(which)}
        limit ${most}
      ) as judged
      group by why`,
  )
  return {
    runs: rows.find(({ why }) => why === null)?.n ?? 0,
    kept: Object.fromEntries(rows.flatMap(({ why, n }) => (why ? [[why, n]] : []))),
  }
}

/** Finished roots of a project; of one requester also those that are open, which are told as kept. */
function matches({ projectId, before, requester }: WhichRuns): SQL {
  return requester === null
    ? sql`g.project_id = ${projectId} and g.root_id is null and g.finished_at < ${before.toISOString()}::timestamptz`
    : sql`g.requested_by = ${requester} and g.project_id = ${projectId} and g.root_id is null`
}
