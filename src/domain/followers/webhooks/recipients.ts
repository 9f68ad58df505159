/** Who is sent links to decide with: principals, each with an address for the program that the endpoint is. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { idShape, part } from '../../../core/shapes.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { webhooks } from '../../../store/db/tables/webhooks.ts'
import { ofVersion, operation } from '../../access/index.ts'
import { webhookUpdated } from '../../events/index.ts'
import { assertAddresses, assertRecipients, assertVersion, webhookPayload, ofWebhook } from './input.ts'
import { findWebhook, lockWebhook, nextVersion, recordWebhookChange, wake } from './operations.ts'
import { webhookOf, type Recipient } from './webhook.ts'

export const maxRecipients = 20

/**
 * An empty list removes them. Links that were sent to somebody who is no recipient any more are refused. A callback has
 * none. Without `expectedVersion` it is idempotent.
 */
export const setWebhookRecipients = operation({
  name: 'setWebhookRecipients',
  does:
    'Sets the recipients of a webhook: the approvers that get a link and a one-time code with each approval that allows ' +
    "verdictLinks. The endpoint can vote for them, so only an operator's API key may name other principals than itself " +
    'and keys made with it.',
  permission: 'webhooks:SetRecipients',
  input: z
    .object({
      ...ofWebhook,
      ...ofVersion,
      recipients: z
        .array(
          part(
            'WebhookRecipientInput',
            'An approver that gets links and one-time codes by way of a webhook.',
            {
              principalId: idShape(
                'The id of the API key or person whose vote a verdict with the link is.',
              ).max(80),
              address: text(320, 1).describe(
                'The address of the person for the endpoint, 1 to 320 characters.',
              ),
            },
          ),
        )
        .max(maxRecipients)
        .describe('All recipients, at most 20; an empty list removes them.'),
    })
    .describe('The recipients of a webhook.'),
  payload: webhookPayload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { webhookId, recipients, expectedVersion }) {
    const found = await findWebhook(ctx, webhookId)
    if (found.callbackOf !== null) throw invalidAt(['input', 'webhookId'], 'is a callback')
    const ids = recipients.map(({ principalId }) => principalId)
    const twice = ids.findIndex((id, i) => ids.indexOf(id) < i)
    if (twice >= 0)
      throw invalidAt(['input', 'recipients', String(twice), 'principalId'], 'is in the list twice')
    await assertRecipients(ctx, found, recipients)
    const webhook = await atomically(ctx.db, async (tx) => {
      const before = await lockWebhook(tx, ctx, webhookId)
      assertVersion(before, expectedVersion)
      assertAddresses(before.url, recipients)
      const [row] = await tx
        .update(webhooks)
        .set({ recipients: recipients.length > 0 ? recipients : null, ...nextVersion })
        .where(eq(webhooks.id, webhookId))
        .returning()
      await recordWebhookChange(tx, ctx, row!, 'webhooks:SetRecipients', [webhookUpdated({ webhookId })], {
        recipients: ids,
      })
      return webhookOf(row!, ctx)
    })
    wake(ctx, webhook.projectId)
    return { webhook, secret: null }
  },
})

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
