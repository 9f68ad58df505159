/** A new webhook. */
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { optional } from '../../../core/shapes.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhookCursors, webhooks } from '../../../store/db/tables/webhooks.ts'
import type { Position } from '../../../store/events/position.ts'
import { assertMay, inProject, operation, projectOf, type Ctx } from '../../access/index.ts'
import { webhookCreated } from '../../events/index.ts'
import { isMail, typesFor } from './mail.ts'
import {
  givenPlace,
  assertEndpoint,
  description,
  sentTypes,
  typesDefault,
  settings,
  urlShape,
  webhookPayload,
} from './input.ts'
import { recordWebhookChange, wake } from './operations.ts'
import { newSecret, sealSecret } from './signature.ts'
import { webhookOf } from './webhook.ts'

/** It shows events, so its caller must be allowed to see them. Not idempotent. */
export const createWebhook = operation({
  name: 'createWebhook',
  does: 'Creates a webhook: an endpoint that is sent the events of a project, each at least once.',
  permission: ['webhooks:Create', 'events:Subscribe'],
  input: z
    .object({
      ...inProject,
      url: urlShape.describe(
        'The URL to which events are sent, http or https, at most 2,000 characters; or mailto: and one e-mail address.',
      ),
      description: description.nullish(),
      types: optional(sentTypes, typesDefault),
      ...settings,
      after: optional(
        z
          .string()
          .describe('A cursor of the feed after which the webhook begins; "0": the beginning of the log.'),
        'now',
      ),
    })
    .describe('The webhook to create.'),
  payload: webhookPayload,
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, { after, types: chosen, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'webhooks:Create', projectId, 'webhook/*')
    await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
    assertEndpoint(ctx, given.url, ['input', 'url'])
    const types = typesFor(given.url, chosen ?? null)
    const place = await givenPlace(ctx, projectId, after, ['input', 'after'])
    const id = newId('webhook')
    const secret = newSecret()
    const webhook = await atomically(ctx.db, async (tx) => {
      await assertBelowLimit(tx, ctx, projectId)
      const [row] = await tx
        .insert(webhooks)
        .values({
          id,
          projectId,
          url: given.url,
          description: given.description ?? null,
          types,
          full: given.full ?? false,
          ordered: given.ordered ?? false,
          secret: sealSecret(ctx.masterKey, id, secret),
          createdBy: ctx.principal.id,
        })
        .returning()
      await tx.insert(webhookCursors).values({ ...mainCursor(id, projectId, place), types })
      await recordWebhookChange(tx, ctx, row!, 'webhooks:Create', [webhookCreated({ webhookId: id })])
      return webhookOf(row!, ctx)
    })
    wake(ctx, projectId)
    // Nobody verifies a signature of a mail.
    return { webhook, secret: isMail(given.url) ? null : secret }
  },
})

function mainCursor(webhookId: string, projectId: string, { at, event: mark }: Position) {
  return { id: webhookId, webhookId, projectId, at, mark, wakeAt: sql`now()` }
}

/** Locks the project, so that two requests at once cannot both take the last place. */
async function assertBelowLimit(tx: Database, ctx: Ctx, projectId: string): Promise<void> {
  const max = ctx.limits.maxWebhooksPerProject
  await query(tx, sql`select 1 from projects where id = ${projectId} for update`)
  const rows = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n from webhooks where project_id = ${projectId} and callback_of is null`,
  )
  if (rows[0]!.n >= max)
    throw new AppError('LIMITED', `This project has reached its limit of ${max} webhooks.`)
}
