/**
 * What happens to endpoints without a request: one is disabled, its place in the log is gone, and old deliveries are
 * removed.
 */
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { HeldRow } from '../../../store/work/work.ts'
import type { NewAuditEntry } from '../../audit/index.ts'
import { webhookCursorExpired, webhookDisabled } from '../../events/index.ts'
import { recordBySystem } from '../follower.ts'
import type { CursorState } from './state.ts'
import { eq } from 'drizzle-orm'
import { isHeldCallback, isHeldDelivery } from '../../../store/db/held.ts'
import { webhooks } from '../../../store/db/tables/webhooks.ts'
import { receiptLife } from './result.ts'
import { openSecret, sealSecret } from './signature.ts'

/** Pauses every cursor of the webhooks of a relation `g`. They keep their places and what they have to send again. */
export const pauseCursors = sql`update webhook_cursors as c set
    status = 'PAUSED',
    wake_at = null,
    epoch = c.epoch + 1
  from g
  where c.webhook_id = g.id`

const holds = ({ id, epoch }: HeldRow): SQL =>
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
  by: HeldRow,
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
export async function goOnAfterLoss(db: Database, by: HeldRow, state: CursorState): Promise<void> {
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

/** Encrypts every signing secret with another master key, in the caller's transaction. Returns the number of webhooks. */
export async function resealWebhooks(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  const rows = await tx.select().from(webhooks).for('update')
  for (const { id, secret, previousSecret } of rows) {
    const again = (sealed: string) => sealSecret(to, id, openSecret(from, id, sealed))
    await tx
      .update(webhooks)
      .set({ secret: again(secret), previousSecret: previousSecret === null ? null : again(previousSecret) })
      .where(eq(webhooks.id, id))
  }
  return rows.length
}

const batch = 1000

/**
 * Deletes deliveries that were settled 30 days ago, callbacks that ended so long ago, and old receipts, some at a time. What a
 * legal hold keeps stays, but for receipts.
 */
export async function forgetOldDeliveries(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from webhook_deliveries
      where id in (
        select x.id
        from webhook_deliveries as x
        where x.updated_at < now() - interval '30 days' and x.status <> 'PENDING' and not ${isHeldDelivery}
        order by x.updated_at
        limit ${batch}
      )`,
  )
  await query(
    db,
    sql`delete from webhook_receipts
      where ctid = any(array(
        select ctid
        from webhook_receipts
        where at < now() - ${receiptLife}
        limit ${batch}
      )) and at < now() - ${receiptLife}`,
  )
  await query(
    db,
    sql`with g as (
        delete from webhooks as w
        where w.callback_of is not null and w.status = 'DISABLED' and w.disabled_at < now() - interval '30 days'
          and not ${isHeldCallback}
        returning w.id
      ),
      c as (delete from webhook_cursors as c using g where c.webhook_id = g.id)
      delete from webhook_deliveries as d using g where d.webhook_id = g.id`,
  )
}
