/** Finds finished root runs that may go, and says why others stay. */
import { query, type Database } from '../../store/db/database.ts'
import { isHeld } from '../../store/db/held.ts'
import { newestPositionOfAll } from '../../store/db/incarnation.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { hasNoOutcome } from '../tool-calls/index.ts'

/** Why a finished run stays although its time has come. */
export const keptReasons = ['HELD', 'OPEN', 'UNKNOWN', 'RETRIED', 'IN_USE', 'RECENT'] as const
export type KeptReason = (typeof keptReasons)[number]

/**
 * Joins what the judgement of a root run `g` needs of it and its descendants, as `tree`. Each row is looked up by itself:
 * a plan with joins would read whole tables where statistics are missing or old. A run is as old as the newest event of it,
 * so that the start of the feed does not pass younger events. The newest event of the installation stays, because positions
 * count on from it.
 */
export function withTree(before: Date): SQL {
  return sql`cross join lateral (
      select count(*)::int as runs, sum(m.last_seq)::int as events,
        bool_or(m.finished_at is null or call.is_open) as is_open,
        bool_or(call.is_unknown) as is_unknown,
        bool_or(retry.is_there) as is_retried,
        bool_or(other.is_there) as is_in_use,
        bool_or(coalesce(event.is_young, false)) as is_young
      from (
        select g.id, g.thread_id, g.finished_at, g.last_seq
        union all
        select d.id, d.thread_id, d.finished_at, d.last_seq from generations as d where d.root_id = g.id
      ) as m
      cross join lateral (
        select coalesce(bool_or(${hasNoOutcome('c')}), false) as is_open,
          coalesce(bool_or(c.status = 'UNKNOWN'), false) as is_unknown
        from tool_calls as c
        where c.generation_id = m.id
      ) as call
      cross join lateral (
        select count(*) > 0 as is_there
        from generations as r
        where r.retry_of_id = m.id and r.id <> g.id and r.root_id is distinct from g.id
      ) as retry
      cross join lateral (
        select count(*) > 0 as is_there
        from generations as o
        where o.thread_id = m.thread_id and o.finished_at is null
      ) as other
      left join lateral (
        select e.position is null or e.created_at >= ${timestamp(before)} or e.position >= ${newestPositionOfAll} as is_young
        from events as e
        where e.generation_id = m.id
        order by e.seq desc
        limit 1
      ) as event on true
    ) as tree`
}

/** Why a root run `g` with its `tree` stays, as an expression; null when it may go with all its descendants. */
export function keptBecause(before: Date): SQL {
  return sql`case
      when ${isHeld(sql`g.project_id`, sql`g.id`, sql`g.requested_by`)} then 'HELD'
      when tree.is_open then 'OPEN'
      when tree.is_unknown then 'UNKNOWN'
      when tree.is_retried then 'RETRIED'
      when tree.is_in_use then 'IN_USE'
      when g.finished_at >= ${timestamp(before)} or tree.is_young then 'RECENT'
    end`
}

const timestamp = (at: Date) => sql`${at.toISOString()}::timestamptz`

/** A root run whose time has come. */
export interface Candidate {
  id: string
  /** What it is sorted by, in milliseconds since 1970. */
  at: number
  /** The number of its events with those of its descendants. */
  events: number
  /** Why it stays; null: it may go. */
  kept: KeptReason | null
}

export interface WhichRuns {
  projectId: string
  /** Finished before this. */
  before: Date
  /** Only those of one requester; null: of all. */
  requester: string | null
}

/** The next runs after a candidate, oldest first, those that stay included: as many are judged, however many stay. */
export function findRuns(
  db: Database,
  which: WhichRuns,
  after: Pick<Candidate, 'id' | 'at'> | null,
  limit: number,
): Promise<Candidate[]> {
  const at = which.requester === null ? sql`g.finished_at` : sql`g.created_at`
  return query<Candidate>(
    db,
    sql`select g.id, (extract(epoch from g.at) * 1000)::float8 as at, tree.events, ${keptBecause(which.before)} as kept
      from (
        select g.id, g.project_id, g.requested_by, g.thread_id, g.finished_at, g.last_seq, ${at} as at
        from generations as g
        where ${matches(which)}
          ${after ? sql`and (${at}, g.id) > (${timestamp(new Date(after.at))}, ${after.id})` : sql``}
        order by ${at}, g.id
        limit ${limit}
      ) as g
      ${withTree(which.before)}
      order by g.at, g.id`,
  )
}

/** Runs that one statement judges. The embedded database runs in the thread of the server. */
export const mostJudged = 100

/** How many of the runs whose time has come may go, and how many stay, by reason; at most `most` are counted. */
export async function countRuns(
  db: Database,
  which: WhichRuns,
  most: number,
): Promise<{ runs: number; kept: Partial<Record<KeptReason, number>> }> {
  let runs = 0
  const kept: Partial<Record<KeptReason, number>> = {}
  let after: Candidate | null = null
  for (let left = most; left > 0; left -= mostJudged) {
    const found: Candidate[] = await findRuns(db, which, after, Math.min(left, mostJudged))
    for (const { kept: why } of found) {
      if (why) kept[why] = (kept[why] ?? 0) + 1
      else runs++
    }
    if (found.length < mostJudged) break
    after = found.at(-1)!
  }
  return { runs, kept }
}

/** Finished roots of a project; of one requester also those that are open, which are told as kept. */
function matches({ projectId, before, requester }: WhichRuns): SQL {
  return requester === null
    ? sql`g.project_id = ${projectId} and g.root_id is null and g.finished_at < ${timestamp(before)}`
    : sql`g.requested_by = ${requester} and g.project_id = ${projectId} and g.root_id is null`
}
