/** Sends a test message, or again what an endpoint missed or has accepted: one delivery, or a part of the log. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { idOf, optional } from '../../../core/shapes.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhookCursors, webhookDeliveries } from '../../../store/db/tables/webhooks.ts'
import { assertMay, operation, reachable, recordChange, type Ctx } from '../../access/index.ts'
import { findDelivery, takeReceipt } from './delivery-list.ts'
import { givenPlace, ofWebhook, sentTypes, sentType } from './input.ts'
import { findWebhook, wake } from './operations.ts'
import { deliveryOf, WebhookDelivery } from './webhook.ts'
import { randomUUID } from 'node:crypto'
import { sampleMessage, testMessage } from './payload.ts'
import { deliverOnce } from './mail.ts'
import { WebhookAnswer } from './send.ts'
import { openSecret } from './signature.ts'

const mostReplays = 5

/** What the endpoint gets as it happens is not delayed. CONFLICT for a disabled webhook and for a callback. Not idempotent. */
export const replayWebhook = operation({
  name: 'replayWebhook',
  does: 'Sends a part of the log to a webhook again, with the ids that the events had; at most five at a time.',
  permission: 'webhooks:Send',
  input: z
    .object({
      ...ofWebhook,
      after: z
        .string()
        .describe('A cursor of the feed after which the replay begins; "0": the beginning of the log.'),
      until: optional(z.string().describe('The cursor of the last event to send.'), 'the newest event'),
      types: optional(sentTypes, 'the types of the webhook'),
    })
    .describe('The part of the log to send again.'),
  payload: z.object({ replayId: idOf('webhookReplay', 'replay') }).describe('The replay that was started.'),
  refuses: ['NOT_FOUND', 'CONFLICT', 'LIMITED'],
  async run(ctx, { webhookId, after, until, types }) {
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
  },
})

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

/** CONFLICT for a disabled webhook. Not idempotent: each call that finds it settled sends it once more. */
export const redeliverWebhook = operation({
  name: 'redeliverWebhook',
  does: 'Sends one delivery again at once, also one that was accepted, with new retries.',
  permission: 'webhooks:Send',
  input: z
    .object({ deliveryId: idOf('webhookDelivery', 'delivery') })
    .describe('The delivery to send again.'),
  payload: z
    .object({ delivery: WebhookDelivery.describe('The delivery, which will be sent again.') })
    .describe('The delivery after the mutation.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { deliveryId }) {
    const { webhookId, projectId } = await findDelivery(ctx, deliveryId)
    await sendable(ctx, webhookId)
    const delivery = await atomically(ctx.db, async (tx) => {
      await lockCursor(tx, webhookId)
      await takeReceipt(tx, projectId, deliveryId)
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
    return { delivery }
  },
})

/** Nothing is retried or kept. Works for a disabled webhook too. INVALID for a type that is sent to no webhook. */
export const testWebhook = operation({
  name: 'testWebhook',
  does:
    'Sends a message of the type webhook.test, or a made-up event of a type, to the endpoint now and returns its ' +
    'answer.',
  permission: 'webhooks:Send',
  input: z
    .object({
      ...ofWebhook,
      type: optional(
        sentType.describe('The type of the event to make up; the message has test: true and ids of nothing.'),
        'webhook.test',
      ),
    })
    .describe('The webhook to test.'),
  payload: z
    .object({ answer: WebhookAnswer.describe('What the endpoint answered.') })
    .describe('The result of the test.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { webhookId, type }) {
    const { id, projectId, url, full, secret } = await findWebhook(ctx, webhookId)
    const resource = `webhook/${id}`
    await assertMay(ctx, 'webhooks:Send', projectId, resource)
    const details = { test: true, ...(type ? { type } : {}) }
    await recordChange(ctx.db, ctx, { projectId, action: 'webhooks:Send', resource, details })
    // The database's clock ends a rotation, as for deliveries.
    const [row] = await query<{ previous: string | null }>(
      ctx.db,
      sql`select case when previous_until > now() then previous_secret end as previous from webhooks where id = ${id}`,
    )
    const sealed = [secret, ...(row?.previous ? [row.previous] : [])]
    const secrets = sealed.map((one) => openSecret(ctx.masterKey, id, one))
    const message = type
      ? await sampleMessage(ctx, { projectId, type, full }, randomUUID())
      : testMessage(ctx, { projectId, webhookId: id }, randomUUID())
    const target = { projectId, webhookId: id, url, secrets }
    const { answer } = await deliverOnce(ctx, target, message)
    return { answer }
  },
})
