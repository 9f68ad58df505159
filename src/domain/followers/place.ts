/**
 * Places in the event log. A row of one is its own work row: it is claimed when its time has come or events lie behind
 * it, moved by its holder, and given back.
 */
import { jsonb, nowPlus, query, type Database } from '../../store/db/database.ts'
import { mostPassed, newestPositionOf } from '../../store/db/incarnation.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import type { Position } from '../../store/events/position.ts'
import { positionInFeed, positionInGeneration } from '../../store/events/read.ts'
import { releaseEpoch, type ClaimedRow, type ClaimLimits, type HeldRow } from '../../store/work/work.ts'
import type { Ctx } from '../access/index.ts'
import type { LogPart, RecordedEvent } from '../events/index.ts'

/** The rows of one follower. */
export interface Places {
  table: 'webhook_cursors' | 'slack_integrations'
  /** Whether an event that a row `c` wants lies behind its place. Reads indexes only. */
  hasNews: SQL
}

const newest = newestPositionOf(sql`c.project_id`)
const isOn = sql`c.status not in ('PAUSED', 'DISABLED')`
const isDue = (hasNews: SQL): SQL =>
  sql`${isOn} and (c.wake_at <= now() or (c.status = 'IDLE' and ${hasNews}))`

/**
 * `hasNews` of rows in the feed. `wanted`: whether a row `c` wants an event `e`; `wantsAll`: whether it wants them all.
 */
export function newsInFeed(wanted: SQL, wantsAll: SQL = sql`false`): SQL {
  return sql`case
      when ${newest} <= c.at then false
      when ${newest} > c.at + ${mostPassed}::int or ${wantsAll} then true
      else exists (
        select 1
        from events as e
        where e.project_id = c.project_id and e.position > c.at and not e.data ? 'descendantId' and ${wanted}
      )
    end`
}

/**
 * Claims rows whose time has come, and idle ones with events behind them, in one statement. A row goes to one process;
 * raises the epoch, so that writes of an earlier holder fail.
 */
export function claimPlaces(
  db: Database,
  { table, hasNews }: Places,
  leaseMs: number,
  { limit, except, crowded = [] }: ClaimLimits,
): Promise<ClaimedRow[]> {
  const rows = sql.raw(table)
  const others = sql.join([
    except.length > 0 ? sql`and not ${jsonb(except)} ? c.id` : sql``,
    crowded.length > 0 ? sql` and not ${jsonb(crowded)} ? c.project_id` : sql``,
  ])
  return query<ClaimedRow>(
    db,
    sql`with due as (
        select c.id
        from ${rows} as c
        where ${isDue(hasNews)} ${others}
        order by c.wake_at nulls last
        limit ${limit}
        for update of c skip locked
      )
      update ${rows} as t set
        epoch = t.epoch + 1,
        status = 'WORKING',
        wake_at = ${nowPlus(leaseMs)}
      from due
      where t.id = due.id
      returning t.id, t.epoch, t.project_id as "projectId"`,
  )
}

/** Whether a row is still there to be claimed: a claim passes over one that another transaction has locked. */
export async function isAnyDue(db: Database, { table, hasNews }: Places): Promise<boolean> {
  const rows = await query(db, sql`select 1 from ${sql.raw(table)} as c where ${isDue(hasNews)} limit 1`)
  return rows.length > 0
}

/** How many rows may get events, and how many of them a process holds. */
export async function countPlaces(
  db: Database,
  { table }: Places,
): Promise<{ all: number; working: number }> {
  const rows = await query<{ all: number; working: number }>(
    db,
    sql`select count(*)::int as "all", (count(*) filter (where c.status = 'WORKING'))::int as working
      from ${sql.raw(table)} as c
      where ${isOn}`,
  )
  return rows[0]!
}

/** Whether a row is held under this epoch. Every write of a holder depends on it. */
export const isHeld = ({ id, epoch }: HeldRow): SQL =>
  sql`id = ${id} and epoch = ${epoch}::int and status = 'WORKING'`

/** Assignments that move a row. */
export const moveTo = ({ at, event }: Position): SQL =>
  sql`at = ${at}::bigint, mark = ${event ? jsonb(event) : sql`null::jsonb`}`

/** Assignments that give a row back for a time. */
export const giveBackFor = (ms: number): SQL =>
  sql`status = 'WAITING', ${releaseEpoch}, wake_at = ${nowPlus(ms)}`

/** The place right after an event: in the log of a generation by seq, else in the feed by position. */
export function positionOf(event: RecordedEvent, { generationId }: LogPart): Position {
  return generationId === null ? positionInFeed(event) : positionInGeneration(event)
}

/** Hints after a change by a request: the log has grown, and a row may have work. */
export const wakes =
  (table: Places['table']) =>
  ({ pubsub }: Pick<Ctx, 'pubsub'>, projectId: string): void =>
    pubsub.publish([
      { kind: 'news', projectId, generationId: null, seq: null },
      { kind: 'work', table },
    ])
