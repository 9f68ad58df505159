/** The operations on webhooks: change, delete, rotate the secret, read. */
import { eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { hashJson, type JsonObject } from '../../../core/json.ts'
import type { Page } from '../../../core/page.ts'
import { keepOnNull, optional, resetOnNull } from '../../../core/shapes.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { listPage } from '../../../store/db/lists.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhookCursors, webhooks } from '../../../store/db/tables/webhooks.ts'
import { madeDue } from '../../../store/work/work.ts'
import {
  allows,
  assertMay,
  visibleRows,
  holds,
  ofVersion,
  operation,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
  deletion,
} from '../../access/index.ts'
import {
  appendProjectEvents,
  webhookDeleted,
  webhookDisabled,
  webhookUpdated,
  type ProjectEvent,
} from '../../events/index.ts'
import { wakes } from '../place.ts'
import { pauseCursors } from './endings.ts'
import {
  assertAddresses,
  assertEndpoint,
  assertRecipients,
  assertVersion,
  description,
  ofWebhook,
  sentTypes,
  typesDefault,
  settings,
  urlShape,
  webhookPayload,
} from './input.ts'
import { isMail, typesFor } from './mail.ts'
import { newSecret, sealSecret } from './signature.ts'
import { webhookOf, type Webhook } from './webhook.ts'

const resourceOf = (id: string) => `webhook/${id}`

/**
 * To send the links of recipients to another URL the caller needs what `setWebhookRecipients` needs, and CONFLICT when the
 * recipients change meanwhile. Without `expectedVersion` it is idempotent, on top of a concurrent change.
 */
export const updateWebhook = operation({
  name: 'updateWebhook',
  does: 'Changes a webhook. One that is enabled again is sent what it has missed.',
  permission: 'webhooks:Update',
  input: z
    .object({
      ...ofWebhook,
      ...ofVersion,
      ...keepOnNull({
        url: urlShape.describe('The URL to which events are sent, or mailto: and one e-mail address.'),
        ...settings,
      }),
      ...resetOnNull({
        description: optional(description, 'none'),
        types: optional(sentTypes, typesDefault),
      }),
      enabled: optional(
        z
          .boolean()
          .describe(
            'Whether the webhook is sent events; while it is disabled it keeps its place in the log.',
          ),
        'unchanged',
      ),
    })
    .describe('The changes to make.'),
  payload: webhookPayload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { webhookId, types: chosen, ...given }) {
    const found = await findWebhook(ctx, webhookId)
    await assertMay(ctx, 'webhooks:Update', found.projectId, resourceOf(webhookId))
    if (typeof given.url === 'string') assertEndpoint(ctx, given.url, ['input', 'url'])
    const moves = typeof given.url === 'string' && given.url !== found.url
    const { recipients } = webhookOf(found, ctx)
    if (moves && recipients) await assertRecipients(ctx, found, recipients)
    const webhook = await atomically(ctx.db, async (tx) => {
      const before = await lockWebhook(tx, ctx, webhookId)
      assertVersion(before, given.expectedVersion)
      if (moves && hashJson(before.recipients) !== hashJson(found.recipients))
        throw recipientsChanged(webhookId)
      const isEnabled = given.enabled ?? before.status === 'ENABLED'
      const turned = isEnabled !== (before.status === 'ENABLED')
      const url = given.url ?? before.url
      assertAddresses(url, recipients ?? [])
      const types = typesFor(url, (chosen === undefined ? before.types : chosen) as string[] | null)
      const [row] = await tx
        .update(webhooks)
        .set({
          url,
          description: given.description === undefined ? before.description : given.description,
          types,
          full: given.full ?? before.full,
          ordered: given.ordered ?? before.ordered,
          ...(turned ? turnedTo(isEnabled) : {}),
          ...nextVersion,
        })
        .where(eq(webhooks.id, webhookId))
        .returning()
      if (chosen !== undefined || moves)
        await tx.update(webhookCursors).set({ types }).where(eq(webhookCursors.id, webhookId))
      if (turned && isEnabled) await resumeCursors(tx, webhookId)
      if (turned && !isEnabled)
        await query(tx, sql`with g as (select ${webhookId}::text as id) ${pauseCursors}`)
      const event =
        turned && !isEnabled
          ? webhookDisabled({ webhookId, reason: 'BY_REQUEST' })
          : webhookUpdated({ webhookId })
      await recordWebhookChange(tx, ctx, row!, 'webhooks:Update', [event])
      return webhookOf(row!, ctx)
    })
    wake(ctx, webhook.projectId)
    return { webhook, secret: null }
  },
})

/** What every change by a request sets. */
export const nextVersion = { version: sql`${webhooks.version} + 1`, updatedAt: sql`now()` }

function recipientsChanged(id: string): AppError {
  return new AppError('CONFLICT', 'The recipients of this webhook were changed meanwhile. Try again.', {
    conflictingId: id,
  })
}

function turnedTo(enabled: boolean) {
  return enabled
    ? { status: 'ENABLED', disabledReason: null, disabledAt: null, failingSince: null, downSince: null }
    : { status: 'DISABLED', disabledReason: 'BY_REQUEST', disabledAt: sql`now()` }
}

async function resumeCursors(tx: Database, webhookId: string): Promise<void> {
  await query(
    tx,
    sql`update webhook_cursors set
        status = 'IDLE',
        failures = 0,
        ${madeDue}
      where webhook_id = ${webhookId} and status = 'PAUSED'`,
  )
}

export const deleteWebhook = operation({
  name: 'deleteWebhook',
  does: 'Deletes a webhook and its deliveries; nothing more is sent.',
  permission: 'webhooks:Delete',
  input: z.object(ofWebhook).describe('The webhook to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, { webhookId }) {
    const found = await findWebhook(ctx, webhookId)
    await assertMay(ctx, 'webhooks:Delete', found.projectId, resourceOf(webhookId))
    await atomically(ctx.db, async (tx) => {
      const row = await lockWebhook(tx, ctx, webhookId)
      await query(tx, sql`delete from webhook_cursors where webhook_id = ${webhookId}`)
      await query(tx, sql`delete from webhook_deliveries where webhook_id = ${webhookId}`)
      await query(tx, sql`delete from webhook_receipts where webhook_id = ${webhookId}`)
      await tx.delete(webhooks).where(eq(webhooks.id, webhookId))
      await recordWebhookChange(tx, ctx, row, 'webhooks:Delete', [webhookDeleted({ webhookId })])
    })
    wake(ctx, found.projectId)
    return { deletedId: webhookId, deleted: true }
  },
})

export const rotateWebhookSecret = operation({
  name: 'rotateWebhookSecret',
  does: 'Sets a new signing secret; for 24 hours deliveries are signed with the previous one too.',
  permission: 'webhooks:Update',
  input: z.object(ofWebhook).describe('The webhook whose secret is replaced.'),
  payload: webhookPayload,
  refuses: ['NOT_FOUND'],
  async run(ctx, { webhookId }) {
    const found = await findWebhook(ctx, webhookId)
    await assertMay(ctx, 'webhooks:Update', found.projectId, resourceOf(webhookId))
    const secret = newSecret()
    const webhook = await atomically(ctx.db, async (tx) => {
      const before = await lockWebhook(tx, ctx, webhookId)
      const [row] = await tx
        .update(webhooks)
        .set({
          secret: sealSecret(ctx.masterKey, webhookId, secret),
          previousSecret: before.secret,
          previousUntil: sql`now() + interval '24 hours'`,
          ...nextVersion,
        })
        .where(eq(webhooks.id, webhookId))
        .returning()
      await recordWebhookChange(tx, ctx, row!, 'webhooks:Update', [webhookUpdated({ webhookId })], {
        secret: 'rotated',
      })
      return webhookOf(row!, ctx)
    })
    wake(ctx, webhook.projectId)
    return { webhook, secret }
  },
})

type Row = typeof webhooks.$inferSelect

/** Webhooks by id, null for one to which the caller has no access. Action `webhooks:Get` on each. */
export async function getWebhooks(ctx: Ctx, ids: readonly string[]): Promise<(Webhook | null)[]> {
  const rows =
    ids.length > 0
      ? await ctx.db
          .select()
          .from(webhooks)
          .where(inArray(webhooks.id, [...ids]))
      : []
  const seen = await visibleRows(ctx, ids, rows, 'webhooks:Get', ({ id }) => resourceOf(id))
  return seen.map((row) => row && webhookOf(row, ctx))
}

/** The webhooks of a project, or its callbacks, newest first. Action `webhooks:List`. */
export async function listWebhooks(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; callbacks?: boolean | null | undefined; page: Page },
): Promise<Webhook[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'webhooks:List', projectId, 'webhook/*')
  const which = input.callbacks ? sql`callback_of is not null` : sql`callback_of is null`
  return (await listPage(ctx.db, webhooks, projectId, input.page, which)).map((row) => webhookOf(row, ctx))
}

/**
 * The address of a webhook as the caller may read it. Many services give addresses that are the whole credential, such as
 * Slack's and Zapier's: without `webhooks:Update` on it a caller reads scheme and host, or the scheme of an address.
 */
export function urlFor({ principal }: Pick<Ctx, 'principal'>, { id, url }: Webhook): string {
  if (holds(principal, {}) && allows(principal.policy, 'webhooks:Update', resourceOf(id))) return url
  if (isMail(url)) return 'mailto:…'
  const { origin, href } = new URL(url)
  return href === `${origin}/` ? url : `${origin}/…`
}

/** The webhook when it exists for the caller, else NOT_FOUND. Checks no permission. */
export async function findWebhook(ctx: Ctx, id: string): Promise<Row> {
  const [row] = await ctx.db.select().from(webhooks).where(eq(webhooks.id, id))
  return reachable(ctx, row, 'webhook', id)
}

/**
 * The webhook, locked for a change in the caller's transaction. Whoever holds one of its places has read what it was, and
 * commits nothing of that: the place is due, and is read again.
 */
export async function lockWebhook(tx: Database, ctx: Ctx, id: string): Promise<Row> {
  const [row] = await tx.select().from(webhooks).where(eq(webhooks.id, id)).for('update')
  const found = reachable(ctx, row, 'webhook', id)
  await query(tx, sql`update webhook_cursors set ${madeDue} where webhook_id = ${id} and status = 'WORKING'`)
  return found
}

/** Writes the events and the audit entry of a change. */
export async function recordWebhookChange(
  tx: Database,
  ctx: Ctx,
  { id, projectId }: Row,
  action: 'webhooks:Create' | 'webhooks:Update' | 'webhooks:Delete' | 'webhooks:SetRecipients',
  events: readonly ProjectEvent[],
  details: JsonObject = {},
): Promise<void> {
  await recordChange(tx, ctx, { projectId, action, resource: resourceOf(id), details })
  await appendProjectEvents(tx, projectId, events)
}

export const wake = wakes('webhook_cursors')
