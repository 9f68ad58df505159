/** Sends again what an endpoint missed: one delivery, or a part of the log. And a test of an endpoint. */
import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Page } from '../../../core/page.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { listPage } from '../../../store/db/keyset.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhookCursors, webhookDeliveries } from '../../../store/db/tables/webhooks.ts'
import { assertMay, reachable, recordChange, type Ctx } from '../../access/index.ts'
import { givenPlace } from './given-place.ts'
import { settings } from './input.ts'
import { findWebhook, wake } from './operations.ts'
import { testMessage } from './payload.ts'
import { send, type Answer } from './send.ts'
import { openSecret } from './signature.ts'
import { deliveryOf, type Delivery } from './webhook.ts'

const mostReplays = 5

const replay = z.object({
  webhookId: z.string(),
  after: z.string(),
  until: z.string().nullish(),
  types: settings.types,
})

/**
 * Sends the events between two cursors of the feed to an endpoint again, with the ids that they had; without `until`,
 * up to now. What the endpoint gets as it happens is not delayed. Action `webhooks:Send`. LIMITED beyond five replays at
 * a time; CONFLICT for a disabled webhook and for a callback. Not idempotent.
 */
export async function replayWebhook(ctx: Ctx, input: z.input<typeof replay>): Promise<{ replayId: string }> {
  const { webhookId, after, until, types } = check(replay, input)
  const { projectId } = await sendable(ctx, webhookId)
  const from = await givenPlace(ctx, projectId, after, ['input', 'after'])
  const to = await givenPlace(ctx, projectId, until, ['input', 'until'])
  if (to.at < from.at) throw invalidAt(['input', 'until'], 'must be a cursor after the one in "after"')
  const replayId = newId('webhookReplay')
  await atomically(ctx.db, async (tx) => {
    const { types: followed } = await lockCursor(tx, webhookId)
    const others = await query(
      tx,
      sql`select 1 from webhook_cursors where webhook_id = ${webhookId} and id <> ${webhookId}`,
    )
    if (others.length >= mostReplays)
      throw new AppError(
        'LIMITED',
        `This webhook has ${mostReplays} replays already: wait until one has ended.`,
      )
    await tx.insert(webhookCursors).values({
      id: replayId,
      webhookId,
      projectId,
      types: types ?? followed,
      at: from.at,
      mark: from.event,
      until: to.at,
      wakeAt: sql`now()`,
    })
    const resource = `webhook/${webhookId}`
    await recordChange(tx, ctx, { projectId, action: 'webhooks:Send', resource, details: { replayId } })
  })
  wake(ctx, projectId)
  return { replayId }
}

/** Locks the place of a webhook, so that requests about it follow each other. */
async function lockCursor(tx: Database, webhookId: string) {
  const [row] = await tx.select().from(webhookCursors).where(eq(webhookCursors.id, webhookId)).for('update')
  if (!row) throw new AppError('CONFLICT', 'The webhook was deleted.', { conflictingId: webhookId })
  return row
}

/** The webhook, when it is enabled and the caller may send with it. */
async function sendable(ctx: Ctx, webhookId: string) {
  const row = await findWebhook(ctx, webhookId)
  await assertMay(ctx, 'webhooks:Send', row.projectId, `webhook/${webhookId}`)
  if (row.status !== 'ENABLED')
    throw new AppError('CONFLICT', 'The webhook is disabled: enable it with updateWebhook first.', {
      conflictingId: webhookId,
    })
  if (row.callbackOf !== null)
    throw new AppError('CONFLICT', 'A callback is sent once and has no replays.', {
      conflictingId: webhookId,
    })
  return row
}

/**
 * Sends an event again at once, with the whole series of retries from now on. Action `webhooks:Send`. CONFLICT for a
 * disabled webhook. Not idempotent: each call that finds it settled sends it once more.
 */
export async function redeliverWebhook(ctx: Ctx, input: { deliveryId: string }): Promise<Delivery> {
  const { deliveryId } = input
  const [found] = await ctx.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, deliveryId))
  const { webhookId, projectId } = reachable(ctx, found, 'delivery', deliveryId)
  await sendable(ctx, webhookId)
  const delivery = await atomically(ctx.db, async (tx) => {
    await lockCursor(tx, webhookId)
    const [row] = await tx
      .update(webhookDeliveries)
      .set({ status: 'PENDING', tries: 0, nextAt: sql`now()`, cursorId: webhookId, updatedAt: sql`now()` })
      .where(eq(webhookDeliveries.id, deliveryId))
      .returning()
    await query(
      tx,
      sql`update webhook_cursors set
          asked = asked + 1,
          wake_at = case when status = 'WORKING' then wake_at else now() end
        where id = ${webhookId} and status <> 'PAUSED'`,
    )
    const resource = `webhook/${webhookId}`
    await recordChange(tx, ctx, { projectId, action: 'webhooks:Send', resource, details: { deliveryId } })
    return deliveryOf(reachable(ctx, row, 'delivery', deliveryId))
  })
  wake(ctx, projectId)
  return delivery
}

/**
 * Sends a message of the type `webhook.test` now and returns the answer of the endpoint; nothing is retried or kept. Works
 * for a disabled webhook too. Action `webhooks:Send`.
 */
export async function testWebhook(ctx: Ctx, input: { webhookId: string }): Promise<Answer> {
  const row = await findWebhook(ctx, input.webhookId)
  const { id, projectId, url } = row
  await assertMay(ctx, 'webhooks:Send', projectId, `webhook/${id}`)
  await recordChange(ctx.db, ctx, {
    projectId,
    action: 'webhooks:Send',
    resource: `webhook/${id}`,
    details: { test: true },
  })
  const secrets = [openSecret(ctx.masterKey, id, row.secret)]
  const { answer } = await send(ctx, { projectId, url, secrets }, testMessage(id, projectId, randomUUID()))
  return answer
}

/** Deliveries of a webhook that failed at first, newest first. Action `webhooks:Get` on the webhook. */
export async function listDeliveries(
  ctx: Ctx,
  input: { webhookId: string; status?: Delivery['status'] | null | undefined; page: Page },
): Promise<Delivery[]> {
  const { id, projectId } = await findWebhook(ctx, input.webhookId)
  await assertMay(ctx, 'webhooks:Get', projectId, `webhook/${id}`)
  const ofStatus = input.status ? sql` and status = ${input.status}` : sql``
  const rows = await listPage(
    ctx.db,
    webhookDeliveries,
    projectId,
    input.page,
    sql`webhook_id = ${id}${ofStatus}`,
  )
  return rows.map(deliveryOf)
}
