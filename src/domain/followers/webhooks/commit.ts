/** Writes what a round has changed, in one statement under the epoch, and ends the work on a cursor. */
import { jsonb, query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { givenBack, type Held } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import { insertProjectEvents, webhookDisabled } from '../../events/index.ts'
import { isHeld, moved, waiting } from '../place.ts'
import { writeHealth } from './health.ts'
import { writeReceipts } from './receipts.ts'
import type { RoundResult } from './result.ts'
import type { CursorState, Failed } from './state.ts'

/** What a commit has found. */
export interface Committed {
  /** For how long every delivery has failed, in milliseconds; 0 when the last one succeeded. */
  failingMs: number
  /** Whether it wrote an event. */
  told: boolean
  /** The epoch of the cursor from now on: higher when it was given back. */
  epoch: number
}

/** Answers that are kept of a delivery. */
const keptAnswers = 8

/**
 * Moves the cursor, counts, and writes the row of each event that failed, now or before, and the receipts of the others.
 * Null, with nothing written, when another process has the cursor. Not idempotent: after an error take the cursor anew
 * and read it.
 */
export async function commitRound(
  db: Database,
  by: Held,
  state: Pick<CursorState, 'id' | 'webhookId' | 'projectId'>,
  result: RoundResult,
): Promise<Committed | null> {
  const { at, until, delivered, failures, waitMs, succeeded } = result
  const rows = await query<Committed>(
    db,
    sql`with c as (
        update webhook_cursors set
          ${moved(at)},
          until = ${until}::bigint,
          failures = ${failures}::int,
          delivered = delivered + ${delivered}::int,
          last_delivered_at = case when ${delivered > 0}::boolean then now() else last_delivered_at end,
          ${waitMs === null ? sql`status = 'WORKING'` : waiting(waitMs)}
        where ${isHeld(by)}
        returning id, epoch, webhook_id, project_id, delivered
      ),
      d as (${writeDeliveries(result)}),
      r as (${writeReceipts(state, result.receipts)}),
      ${writeHealth(state, result)}
      select coalesce((
          select extract(epoch from clock_timestamp() - failing_since) * 1000
          from webhooks
          where id = c.webhook_id and ${succeeded !== true}::boolean
        ), 0)::float8 as "failingMs",
        exists (select 1 from told) as told,
        epoch
      from c`,
  )
  return rows[0] ?? null
}

function writeDeliveries({ deliveries }: RoundResult): SQL {
  if (deliveries.length === 0) return sql`select 1`
  return sql`insert into webhook_deliveries (id, project_id, webhook_id, cursor_id, event_id, type, status, tries,
      attempts, answers, next_at)
    select x.id, c.project_id, c.webhook_id, c.id, x."eventId", x.type, x.status, x.tries, 1,
      jsonb_build_array(x.answer), now() + x."nextMs" * interval '1 millisecond'
    from c, jsonb_to_recordset(${jsonb(deliveries)}) as x(
      id text, "eventId" bigint, type text, status text, tries int, answer jsonb, "nextMs" float8)
    on conflict (webhook_id, event_id) do update set
      status = excluded.status,
      cursor_id = excluded.cursor_id,
      tries = excluded.tries,
      attempts = webhook_deliveries.attempts + 1,
      answers = (
        select jsonb_agg(a.answer order by a.n)
        from jsonb_array_elements(webhook_deliveries.answers || excluded.answers) with ordinality as a(answer, n)
        where a.n > jsonb_array_length(webhook_deliveries.answers) + 1 - ${keptAnswers}::int
      ),
      next_at = excluded.next_at,
      updated_at = now()`
}

/** Ends deliveries whose events are not in the log any more. */
export async function bury(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  lost: readonly Failed[],
): Promise<void> {
  const answer = {
    at: new Date(clock.now()).toISOString(),
    status: null,
    error: 'The event is not in the log any more.',
    body: null,
    milliseconds: 0,
  }
  await query(
    db,
    sql`update webhook_deliveries set
        status = 'DEAD',
        next_at = null,
        answers = answers || ${jsonb([answer])},
        updated_at = now()
      where id in ${lost.map(({ id }) => id)}`,
  )
}

/**
 * Gives the cursor back at a place after which there was nothing, until there are events or a delivery is due. False
 * when it was asked to read it again since it was read, or another process has it.
 */
export async function park(
  db: Database,
  by: Held,
  { asked }: CursorState,
  at: CursorState['at'],
): Promise<boolean> {
  const rows = await query(
    db,
    sql`update webhook_cursors as c set
        status = 'IDLE',
        ${givenBack},
        ${moved(at)},
        wake_at = (
          select min(next_at)
          from webhook_deliveries
          where cursor_id = c.id and next_at is not null
        )
      where ${isHeld(by)} and asked = ${asked}::int
      returning 1`,
  )
  return rows.length > 0
}

/** Whether nothing of the cursor is sent again. */
const isSettled = sql`not exists (
    select 1
    from webhook_deliveries
    where cursor_id = c.id and status = 'PENDING'
  )`

/** Removes a replay that has reached its end and has nothing to send again. False when it must wait. */
export async function finishReplay(db: Database, by: Held): Promise<boolean> {
  const rows = await query(
    db,
    sql`delete from webhook_cursors as c
      where ${isHeld(by)} and ${isSettled}
      returning 1`,
  )
  return rows.length > 0
}

/**
 * Removes a callback whose last event was sent and that has nothing to send again. One with a dead delivery stays as a
 * disabled webhook, with its event, so that nothing is lost silently. False when it must wait.
 */
export async function finishCallback(db: Database, by: Held, state: CursorState): Promise<boolean> {
  const { projectId, webhookId } = state
  const rows = await query(
    db,
    sql`with c as (
        delete from webhook_cursors as c
        where ${isHeld(by)} and ${isSettled}
        returning c.webhook_id
      ),
      dead as (
        select exists (
          select 1
          from webhook_deliveries as d
          where d.webhook_id = c.webhook_id and d.status = 'DEAD'
        ) as some
        from c
      ),
      gone as (
        delete from webhooks as w
        using c, dead
        where w.id = c.webhook_id and not dead.some
      ),
      rows as (
        delete from webhook_deliveries as d
        using c, dead
        where d.webhook_id = c.webhook_id and not dead.some
      ),
      kept as (
        update webhooks as w set
          status = 'DISABLED',
          disabled_reason = 'FAILING',
          disabled_at = now()
        from c, dead
        where w.id = c.webhook_id and dead.some
        returning w.id
      ),
      e as (${insertProjectEvents(projectId, [webhookDisabled({ webhookId, reason: 'FAILING' })], sql`kept`)})
      select 1 from c`,
  )
  return rows.length > 0
}
