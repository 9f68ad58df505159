/** Upkeep of the rows of webhooks: a new master key, a restore, and deliveries that are long over. */
import { eq } from 'drizzle-orm'
import { query, type Database } from '../../../store/db/database.ts'
import { isHeldCallback, isHeldDelivery } from '../../../store/db/held.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhooks } from '../../../store/db/tables/webhooks.ts'
import { receiptLife } from './receipts.ts'
import { openSecret, sealSecret } from './signature.ts'

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
