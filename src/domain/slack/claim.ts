/** Claims integrations that have something to do, reads what their holder works on, and gives them back. */
import { jsonb, nowPlus, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { mostPassed, newestPositionOf } from '../../store/events/newest.ts'
import type { EventMark, Position } from '../../store/events/position.ts'
import type { Claimed, ClaimLimits, Held } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import {
  approvalDecided,
  approvalEscalated,
  approvalExpired,
  approvalRequested,
  approvalVoided,
  approvalVoted,
} from '../events/index.ts'
import { openPart } from './integration.ts'

/** The events after which a message is new or out of date. */
export const followed: string[] = [
  approvalRequested,
  approvalVoted,
  approvalDecided,
  approvalExpired,
  approvalEscalated,
  approvalVoided,
].map(({ type }) => type)

const newest = newestPositionOf(sql`c.project_id`)

const hasNews: SQL = sql`case
    when ${newest} <= c.at then false
    when ${newest} > c.at + ${mostPassed}::int then true
    else exists (
      select 1
      from events as e
      where e.project_id = c.project_id and e.position > c.at and not e.data ? 'descendantId'
        and ${jsonb(followed)} ? e.type
    )
  end`

/** Claims integrations whose time has come, and idle ones with events behind them. Each goes to one process. */
export function claimIntegrations(
  db: Database,
  leaseMs: number,
  { limit, except }: ClaimLimits,
): Promise<Claimed[]> {
  const others = except.length > 0 ? sql`and not ${jsonb(except)} ? c.id` : sql``
  return query<Claimed>(
    db,
    sql`with due as (
        select c.id
        from slack_integrations as c
        where c.status <> 'DISABLED' and (c.wake_at <= now() or (c.status = 'IDLE' and ${hasNews})) ${others}
        order by c.wake_at nulls last
        limit ${limit}
        for update of c skip locked
      )
      update slack_integrations as t set
        epoch = t.epoch + 1,
        status = 'WORKING',
        wake_at = ${nowPlus(leaseMs)}
      from due
      where t.id = due.id
      returning t.id, t.epoch, t.project_id as "projectId"`,
  )
}

/** How many integrations may get events, and how many of them a process holds. */
export async function countIntegrations(db: Database): Promise<{ all: number; working: number }> {
  const rows = await query<{ all: number; working: number }>(
    db,
    sql`select count(*)::int as "all", (count(*) filter (where status = 'WORKING'))::int as working
      from slack_integrations
      where status <> 'DISABLED'`,
  )
  return rows[0]!
}

/** What the holder of an integration works on. */
export interface HeldIntegration {
  id: string
  projectId: string
  channel: string
  token: string
  showArguments: boolean
  failures: number
  at: Position
}

const held = ({ id, epoch }: Held) => sql`id = ${id} and epoch = ${epoch}::int and status = 'WORKING'`

/** The state of a held integration; null when another process holds it, or it was changed, disabled or deleted. */
export async function loadHeld(
  { db, masterKey }: Pick<Services, 'db' | 'masterKey'>,
  by: Held,
): Promise<HeldIntegration | null> {
  const [row] = await query<
    Omit<HeldIntegration, 'at'> & { position: number; mark: EventMark | null; sealed: string }
  >(
    db,
    sql`select id, project_id as "projectId", channel, bot_token as sealed, show_arguments as "showArguments", failures,
        at::float8 as position, mark
      from slack_integrations
      where ${held(by)}`,
  )
  if (!row) return null
  const { position, mark, sealed, ...rest } = row
  const token = openPart(masterKey, row.id, 'token', sealed)
  return { ...rest, token, at: { at: position, event: mark } }
}

/** Moves the place of a held integration. False when another process has it. */
export async function advance(db: Database, by: Held, { at, event }: Position): Promise<boolean> {
  const rows = await query(
    db,
    sql`update slack_integrations set
        at = ${at}::bigint,
        mark = ${event ? jsonb(event) : sql`null::jsonb`},
        failures = 0,
        fault = null
      where ${held(by)}
      returning 1`,
  )
  return rows.length > 0
}

/** Gives the integration back: idle until there are events, or for a time after a failure. */
export async function giveBack(
  db: Database,
  by: Held,
  after: { waitMs: number; fault: string } | null,
): Promise<void> {
  await query(
    db,
    after
      ? sql`update slack_integrations set
          status = 'WAITING',
          failures = failures + 1,
          fault = ${after.fault},
          wake_at = ${nowPlus(after.waitMs)}
        where ${held(by)}`
      : sql`update slack_integrations set status = 'IDLE', wake_at = null where ${held(by)}`,
  )
}
