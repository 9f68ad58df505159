/** Who is sent links to decide with: principals, each with an address for the program that the endpoint is. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { webhooks } from '../../../store/db/tables/webhooks.ts'
import type { Ctx } from '../../access/index.ts'
import { webhookUpdated } from '../../events/index.ts'
import { assertRecipients, assertVersion, expectedVersion } from './input.ts'
import { findWebhook, lockWebhook, nextVersion, told, wake } from './operations.ts'
import { webhookOf, type Recipient, type Webhook } from './webhook.ts'

export const maxRecipients = 20

const shape = z.object({
  webhookId: z.string(),
  expectedVersion,
  recipients: z
    .array(z.object({ principalId: z.string().max(80), address: text(320, 1) }))
    .max(maxRecipients),
})

export type SetRecipientsInput = z.input<typeof shape>

/**
 * Replaces the recipients of a webhook; an empty list removes them. Action `webhooks:SetRecipients`, and only an operator
 * may name anybody but itself and the keys made with it, because whoever owns the endpoint votes for them. A callback has
 * none. Links that were sent to somebody who is no recipient any more are refused. With `expectedVersion` it fails with
 * CONFLICT after a concurrent change; without it, it is idempotent.
 */
export async function setWebhookRecipients(ctx: Ctx, input: SetRecipientsInput): Promise<Webhook> {
  const { webhookId, recipients, ...rest } = check(shape, input)
  const found = await findWebhook(ctx, webhookId)
  if (found.callbackOf !== null) throw invalidAt(['input', 'webhookId'], 'is a callback')
  const ids = recipients.map(({ principalId }) => principalId)
  const twice = ids.findIndex((id, i) => ids.indexOf(id) < i)
  if (twice >= 0)
    throw invalidAt(['input', 'recipients', String(twice), 'principalId'], 'is in the list twice')
  await assertRecipients(ctx, found, recipients)
  const webhook = await atomically(ctx.db, async (tx) => {
    assertVersion(await lockWebhook(tx, ctx, webhookId), rest.expectedVersion)
    const [row] = await tx
      .update(webhooks)
      .set({ recipients: recipients.length > 0 ? recipients : null, ...nextVersion })
      .where(eq(webhooks.id, webhookId))
      .returning()
    await told(tx, ctx, row!, 'webhooks:SetRecipients', [webhookUpdated({ webhookId })], { recipients: ids })
    return webhookOf(row!, ctx)
  })
  wake(ctx, webhook.projectId)
  return webhook
}

/** Whether a principal is a recipient of an enabled webhook, at this moment. Checks no permission. */
export async function isRecipient(
  db: Database,
  projectId: string,
  webhookId: string,
  principalId: string,
): Promise<boolean> {
  const [row] = await db.select().from(webhooks).where(eq(webhooks.id, webhookId))
  if (!row || row.projectId !== projectId || row.status !== 'ENABLED') return false
  return ((row.recipients as Recipient[] | null) ?? []).some((one) => one.principalId === principalId)
}
