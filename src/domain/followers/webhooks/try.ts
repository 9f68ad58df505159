/** A test of an endpoint: one message now, signed as deliveries are. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { assertMay, recordChange, type Ctx } from '../../access/index.ts'
import { sentType } from './input.ts'
import { findWebhook } from './operations.ts'
import { sampleMessage, testMessage } from './payload.ts'
import { send, type Answer } from './send.ts'
import { openSecret } from './signature.ts'

const input = z.object({ webhookId: z.string(), type: sentType.nullish() })

/**
 * Sends a message now and returns the answer of the endpoint; nothing is retried or kept: one of the type `webhook.test`, or
 * a made-up event of a type. Works for a disabled webhook too. Action `webhooks:Send`. INVALID for a type that is sent
 * to no webhook.
 */
export async function testWebhook(ctx: Ctx, given: z.input<typeof input>): Promise<Answer> {
  const { webhookId, type } = check(input, given)
  const { id, projectId, url, full, secret } = await findWebhook(ctx, webhookId)
  await assertMay(ctx, 'webhooks:Send', projectId, `webhook/${id}`)
  await recordChange(ctx.db, ctx, {
    projectId,
    action: 'webhooks:Send',
    resource: `webhook/${id}`,
    details: { test: true, ...(type ? { type } : {}) },
  })
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
  return answer
}
