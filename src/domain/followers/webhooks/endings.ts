/** What happens to an endpoint without a request: it is disabled, or its place in the log is gone. */
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { Held } from '../../../store/work/work.ts'
import type { NewAuditEntry } from '../../audit/index.ts'
import { webhookCursorExpired, webhookDisabled } from '../../events/index.ts'
import { recordBySystem } from '../follower.ts'
import type { CursorState } from './state.ts'

/** Pauses every cursor of the webhooks of a relation `g`. They keep their places and what they have to send again. */
export const pauseCursors = sql`update webhook_cursors as c set
    status = 'PAUSED',
    wake_at = null,
    epoch = c.epoch + 1
  from g
  where c.webhook_id = g.id`

const holds = ({ id, epoch }: Held): SQL =>
  sql`exists (
    select 1
    from webhook_cursors
    where id = ${id} and epoch = ${epoch}::int and status <> 'PAUSED'
  )`

/**
 * Disables the webhook of a cursor that is held or was just given back, with event and audit entry. Does nothing when
 * another process has the cursor.
 */
export async function disable(
  db: Database,
  by: Held,
  state: CursorState,
  reason: 'GONE' | 'FAILING',
): Promise<void> {
  const { webhookId } = state
  await query(
    db,
    sql`with g as (
        update webhooks set
          status = 'DISABLED',
          disabled_reason = ${reason}::text,
          disabled_at = now(),
          updated_at = now()
        where id = ${webhookId} and status = 'ENABLED' and ${holds(by)}
        returning id
      ),
      c as (${pauseCursors}),
      ${recordBySystem(changeOf(state, { reason }), webhookDisabled({ webhookId, reason }))}
      select 1 from g`,
  )
}

/**
 * Lets a cursor whose event is not in the log any more go on with the events after its place, and says so in an event
 * and in the audit log: what was removed before it was sent is lost to the endpoint.
 */
export async function goOnAfterLoss(db: Database, by: Held, state: CursorState): Promise<void> {
  const { webhookId, at } = state
  await query(
    db,
    sql`with g as (
        update webhook_cursors set mark = null
        where ${holds(by)} and id = ${by.id} and mark is not null
        returning id
      ),
      ${recordBySystem(changeOf(state, { position: at.at }), webhookCursorExpired({ webhookId }))}
      select 1 from g`,
  )
}

const changeOf = ({ projectId, webhookId }: CursorState, details: NewAuditEntry['details']) => ({
  projectId,
  action: 'webhooks:Update',
  resource: `webhook/${webhookId}`,
  details,
})
