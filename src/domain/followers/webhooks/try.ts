/** A test of an endpoint: one message now, signed as deliveries are. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { optional } from '../../../core/shapes.ts'
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { assertMay, operation, recordChange } from '../../access/index.ts'
import { ofWebhook, sentType } from './input.ts'
import { findWebhook } from './operations.ts'
import { sampleMessage, testMessage } from './payload.ts'
import { send, WebhookAnswer } from './send.ts'
import { openSecret } from './signature.ts'

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
    const { answer } = await send(ctx, { projectId, url, secrets }, message)
    return { answer }
  },
})
