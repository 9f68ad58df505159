/** Writes how an endpoint is doing, and tells the feed when that has changed. */
import { sql, type SQL } from '../../../store/db/sql.ts'
import {
  insertProjectEvents,
  webhookDeliveryDead,
  webhookFailing,
  webhookRecovered,
  type ProjectEvent,
} from '../../events/index.ts'
import type { RoundResult } from './result.ts'
import type { CursorState } from './state.ts'

/** Dead deliveries are told once in this time: an endpoint that is down for days has one for each event. */
const quietTime = sql.raw(`interval '1 hour'`)

/**
 * Parts of the statement that commits a round, whose cursor is `c`; `told` has a row when an event was written. The
 * endpoint's row is locked and written only when something about it changes, so cursors of one endpoint that commit at
 * the same time tell a change once.
 */
export function writeHealth(
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
