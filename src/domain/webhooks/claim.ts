/** Claims endpoints that have something to send. */
import { jsonb, nowPlus, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { mostPassed, newestPositionOf } from '../../store/events/newest.ts'
import type { Claimed, ClaimLimits } from '../../store/work/work.ts'

const newest = newestPositionOf(sql`c.project_id`)

/** Whether an event that this cursor wants lies behind its place. Reads indexes only. */
const hasNews: SQL = sql`case
    when c.generation_id is not null then exists (
      select 1
      from generations as g
      where g.id = c.generation_id and g.last_seq > c.at
    )
    when ${newest} <= c.at or c.at >= c.until then false
    when ${newest} > c.at + ${mostPassed}::int or (c.types is null and c.tool_call_id is null) then true
    else exists (
      select 1
      from events as e
      where e.project_id = c.project_id and e.position > c.at and not e.data ? 'descendantId'
        and (c.types is null or c.types ? e.type)
        and (c.tool_call_id is null or e.data->>'toolCallId' = c.tool_call_id)
    )
  end`

/**
 * Claims cursors whose time has come, and idle ones with events behind them, in one statement. A cursor goes to one
 * process; raises the epoch, so that writes of an earlier holder fail.
 */
export function claimCursors(
  db: Database,
  leaseMs: number,
  { limit, except, crowded = [] }: ClaimLimits,
): Promise<Claimed[]> {
  const others = sql.join([
    except.length > 0 ? sql`and not ${jsonb(except)} ? c.id` : sql``,
    crowded.length > 0 ? sql` and not ${jsonb(crowded)} ? c.project_id` : sql``,
  ])
  return query<Claimed>(
    db,
    sql`with due as (
        select c.id
        from webhook_cursors as c
        where c.status <> 'PAUSED' and (c.wake_at <= now() or (c.status = 'IDLE' and ${hasNews})) ${others}
        order by c.wake_at nulls last
        limit ${limit}
        for update of c skip locked
      )
      update webhook_cursors as t set
        epoch = t.epoch + 1,
        status = 'WORKING',
        wake_at = ${nowPlus(leaseMs)}
      from due
      where t.id = due.id
      returning t.id, t.epoch, t.project_id as "projectId"`,
  )
}

/** How many cursors there are that may get events, and how many of them a process holds. */
export async function countCursors(db: Database): Promise<{ all: number; working: number }> {
  const rows = await query<{ all: number; working: number }>(
    db,
    sql`select count(*)::int as "all", (count(*) filter (where status = 'WORKING'))::int as working
      from webhook_cursors
      where status <> 'PAUSED'`,
  )
  return rows[0]!
}

/** The age in seconds of the oldest event that an enabled webhook has not been sent yet; 0 when there is none. */
export async function lagOf(db: Database): Promise<number> {
  const rows = await query<{ seconds: number }>(
    db,
    sql`select coalesce(extract(epoch from clock_timestamp() - min(next.created_at)), 0)::float8 as seconds
      from webhook_cursors as c
      cross join lateral (
        select e.created_at
        from events as e
        where e.project_id = c.project_id and e.position > c.at and not e.data ? 'descendantId'
          and (c.types is null or c.types ? e.type)
        order by e.position
        limit 1
      ) as next
      where c.status <> 'PAUSED' and c.id = c.webhook_id and c.generation_id is null and c.tool_call_id is null`,
  )
  return rows[0]!.seconds
}
