/**
 * Writes what a round has changed, in one statement under the epoch, with how the endpoint is doing, and ends the work
 * on a cursor.
 */
import { sql, type SQL } from '../../../store/db/sql.ts'
import {
  insertProjectEvents,
  webhookDeliveryDead,
  webhookFailing,
  webhookRecovered,
  type ProjectEvent,
  webhookDisabled,
} from '../../events/index.ts'
import { type RoundResult, writeReceipts } from './result.ts'
import type { CursorState, FailedDelivery } from './state.ts'
import { jsonb, query, type Database } from '../../../store/db/database.ts'
import { releaseEpoch, type HeldRow } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import { isHeld, moveTo, giveBackFor } from '../place.ts'

/** Dead deliveries are told once in this time: an endpoint that is down for days has one for each event. */
const quietTime = sql.raw(`interval '1 hour'`)

/**
 * Parts of the statement that commits a round, whose cursor is `c`; `told` has a row when an event was written. The
 * endpoint's row is locked and written only when something about it changes, so cursors of one endpoint that commit at
 * the same time tell a change once.
 */
function writeHealth(
  { webhookId, projectId }: Pick<CursorState, 'webhookId' | 'projectId'>,
  { succeeded, isDown, deliveries }: Pick<RoundResult, 'succeeded' | 'isDown' | 'deliveries'>,
): SQL {
  if (succeeded === null) return sql`told as (select 1 where false)`
  const hasDead = deliveries.some(({ status }) => status === 'DEAD')
  const changes: [column: string, isNew: SQL, value: SQL, event: ProjectEvent | null][] = [
    succeeded
      ? ['failing_since', sql`failing_since is not null`, sql`null`, null]
      : ['failing_since', sql`failing_since is null`, sql`now()`, null],
  ]
  if (succeeded)
    changes.push(['down_since', sql`down_since is not null`, sql`null`, webhookRecovered({ webhookId })])
  if (isDown) changes.push(['down_since', sql`down_since is null`, sql`now()`, webhookFailing({ webhookId })])
  if (hasDead) {
    const isNew = sql`(dead_told_at is null or dead_told_at < now() - ${quietTime})`
    changes.push(['dead_told_at', isNew, sql`now()`, webhookDeliveryDead({ webhookId })])
  }
  const columns = changes.map(([name, isNew]) => sql`${isNew} as ${sql.raw(`new_${name}`)}`)
  const sets = changes.map(
    ([name, , value]) =>
      sql`${sql.raw(name)} = case when b.${sql.raw(`new_${name}`)} then ${value} else w.${sql.raw(name)} end`,
  )
  const reported = changes.flatMap(([name, , , event]) => (event ? [{ name: `new_${name}`, event }] : []))
  const events = reported.map(
    ({ name, event }, i) =>
      sql`${sql.raw(`t${i}`)} as (select 1 from w where ${sql.raw(name)}),
      ${sql.raw(`e${i}`)} as (${insertProjectEvents(projectId, [event], sql.raw(`t${i}`))})`,
  )
  const told = reported.map((_, i) => sql`select 1 from ${sql.raw(`t${i}`)}`)
  return sql`b as (
        select id, ${sql.join(columns, sql`, `)}
        from webhooks
        where id = (select webhook_id from c) and (${sql.join(
          changes.map(([, isNew]) => isNew),
          sql` or `,
        )})
        for update
      ),
      w as (
        update webhooks as w set ${sql.join(sets, sql`, `)}
        from b
        where w.id = b.id
        returning b.*
      ),
      ${events.length > 0 ? sql`${sql.join(events, sql`, `)},` : sql``}
      told as (${told.length > 0 ? sql.join(told, sql` union all `) : sql`select 1 where false`})`
}

/** What a commit has found. */
export interface CommitResult {
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
  by: HeldRow,
  state: Pick<CursorState, 'id' | 'webhookId' | 'projectId'>,
  result: RoundResult,
): Promise<CommitResult | null> {
  const { at, until, delivered, failures, waitMs, succeeded } = result
  const rows = await query<CommitResult>(
    db,
    sql`with c as (
        update webhook_cursors set
          ${moveTo(at)},
          until = ${until}::bigint,
          failures = ${failures}::int,
          delivered = delivered + ${delivered}::int,
          last_delivered_at = case when ${delivered > 0}::boolean then now() else last_delivered_at end,
          ${waitMs === null ? sql`status = 'WORKING'` : giveBackFor(waitMs)}
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
  lost: readonly FailedDelivery[],
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
  by: HeldRow,
  { asked }: CursorState,
  at: CursorState['at'],
): Promise<boolean> {
  const rows = await query(
    db,
    sql`update webhook_cursors as c set
        status = 'IDLE',
        ${releaseEpoch},
        ${moveTo(at)},
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
export async function finishReplay(db: Database, by: HeldRow): Promise<boolean> {
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
export async function finishCallback(db: Database, by: HeldRow, state: CursorState): Promise<boolean> {
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
