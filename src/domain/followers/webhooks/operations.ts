/** The operations on webhooks: create, change, delete, rotate the secret, read. */
import { eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { hashJson, type JsonObject } from '../../../core/json.ts'
import type { Page } from '../../../core/page.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { listPage } from '../../../store/db/keyset.ts'
import { sql } from '../../../store/db/sql.ts'
import { webhookCursors, webhooks } from '../../../store/db/tables/webhooks.ts'
import type { Position } from '../../../store/events/position.ts'
import { madeDue } from '../../../store/work/work.ts'
import {
  allows,
  assertMay,
  eachSeen,
  holds,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
} from '../../access/index.ts'
import {
  appendProjectEvents,
  webhookCreated,
  webhookDeleted,
  webhookDisabled,
  webhookUpdated,
  type ProjectEvent,
} from '../../events/index.ts'
import { wakes } from '../place.ts'
import { givenPlace } from './given-place.ts'
import { pauseCursors } from './endings.ts'
import { assertRecipients, assertUrl, assertVersion, expectedVersion, settings, urlShape } from './input.ts'
import { newSecret, sealSecret } from './signature.ts'
import { webhookOf, type Webhook } from './webhook.ts'

const resourceOf = (id: string) => `webhook/${id}`

const newWebhook = z.object({
  projectId: z.string().nullish(),
  url: urlShape,
  after: z.string().nullish(),
  ...settings,
})

export type CreateWebhookInput = z.input<typeof newWebhook>

/**
 * Creates a webhook, which gets every event from now on, or after a cursor. Actions `webhooks:Create` and, because it
 * shows events, `events:Subscribe`. Returns the signing secret, which cannot be read again. Not idempotent.
 */
export async function createWebhook(
  ctx: Ctx,
  input: CreateWebhookInput,
): Promise<{ webhook: Webhook; secret: string }> {
  const { url, after, description, types, full, ordered, ...rest } = check(newWebhook, input)
  const projectId = await projectOf(ctx, rest.projectId)
  await assertMay(ctx, 'webhooks:Create', projectId, 'webhook/*')
  await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
  assertUrl(ctx, url, ['input', 'url'])
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
        url,
        description: description ?? null,
        types: types ?? null,
        full: full ?? false,
        ordered: ordered ?? false,
        secret: sealSecret(ctx.masterKey, id, secret),
        createdBy: ctx.principal.id,
      })
      .returning()
    await tx.insert(webhookCursors).values({ ...mainCursor(id, projectId, place), types: types ?? null })
    await told(tx, ctx, row!, 'webhooks:Create', [webhookCreated({ webhookId: id })])
    return webhookOf(row!, ctx)
  })
  wake(ctx, projectId)
  return { webhook, secret }
}

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

const changes = z.object({
  webhookId: z.string(),
  expectedVersion,
  url: urlShape.nullish(),
  enabled: z.boolean().nullish(),
  ...settings,
})

export type UpdateWebhookInput = z.input<typeof changes>

/**
 * Changes the given settings; null sets `description` and `types` back. A webhook that is enabled again goes on at its
 * place: it gets what it has missed. Action `webhooks:Update`; to send the links of recipients to another URL the caller
 * needs what `setWebhookRecipients` needs, and CONFLICT when the recipients change meanwhile. With `expectedVersion` it
 * fails with CONFLICT after a concurrent change; without it the change is applied on top of that one, and is idempotent.
 */
export async function updateWebhook(ctx: Ctx, input: UpdateWebhookInput): Promise<Webhook> {
  const { webhookId, url, description, types, full, ordered, enabled, ...rest } = check(changes, input)
  const found = await findWebhook(ctx, webhookId)
  await assertMay(ctx, 'webhooks:Update', found.projectId, resourceOf(webhookId))
  if (typeof url === 'string') assertUrl(ctx, url, ['input', 'url'])
  const moves = typeof url === 'string' && url !== found.url
  const { recipients } = webhookOf(found, ctx)
  if (moves && recipients) await assertRecipients(ctx, found, recipients)
  const webhook = await atomically(ctx.db, async (tx) => {
    const before = await lockWebhook(tx, ctx, webhookId)
    assertVersion(before, rest.expectedVersion)
    if (moves && hashJson(before.recipients) !== hashJson(found.recipients))
      throw recipientsChanged(webhookId)
    const isEnabled = enabled ?? before.status === 'ENABLED'
    const turned = isEnabled !== (before.status === 'ENABLED')
    const [row] = await tx
      .update(webhooks)
      .set({
        url: url ?? before.url,
        description: description === undefined ? before.description : description,
        types: types === undefined ? before.types : types,
        full: full ?? before.full,
        ordered: ordered ?? before.ordered,
        ...(turned ? turnedTo(isEnabled) : {}),
        ...nextVersion,
      })
      .where(eq(webhooks.id, webhookId))
      .returning()
    if (types !== undefined)
      await tx.update(webhookCursors).set({ types }).where(eq(webhookCursors.id, webhookId))
    if (turned && isEnabled) await resumeCursors(tx, webhookId)
    if (turned && !isEnabled)
      await query(tx, sql`with g as (select ${webhookId}::text as id) ${pauseCursors}`)
    const event =
      turned && !isEnabled
        ? webhookDisabled({ webhookId, reason: 'BY_REQUEST' })
        : webhookUpdated({ webhookId })
    await told(tx, ctx, row!, 'webhooks:Update', [event])
    return webhookOf(row!, ctx)
  })
  wake(ctx, webhook.projectId)
  return webhook
}

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

/** Deletes a webhook with its deliveries; what was not sent is not sent any more. Action `webhooks:Delete`. */
export async function deleteWebhook(ctx: Ctx, input: { webhookId: string }): Promise<void> {
  const { webhookId } = input
  const found = await findWebhook(ctx, webhookId)
  await assertMay(ctx, 'webhooks:Delete', found.projectId, resourceOf(webhookId))
  await atomically(ctx.db, async (tx) => {
    const row = await lockWebhook(tx, ctx, webhookId)
    await query(tx, sql`delete from webhook_cursors where webhook_id = ${webhookId}`)
    await query(tx, sql`delete from webhook_deliveries where webhook_id = ${webhookId}`)
    await query(tx, sql`delete from webhook_receipts where webhook_id = ${webhookId}`)
    await tx.delete(webhooks).where(eq(webhooks.id, webhookId))
    await told(tx, ctx, row, 'webhooks:Delete', [webhookDeleted({ webhookId })])
  })
  wake(ctx, found.projectId)
}

/**
 * Sets a new signing secret and returns it. For 24 hours deliveries carry a signature with the previous one too. Action
 * `webhooks:Update`.
 */
export async function rotateWebhookSecret(
  ctx: Ctx,
  input: { webhookId: string },
): Promise<{ webhook: Webhook; secret: string }> {
  const { webhookId } = input
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
    await told(tx, ctx, row!, 'webhooks:Update', [webhookUpdated({ webhookId })], { secret: 'rotated' })
    return webhookOf(row!, ctx)
  })
  wake(ctx, webhook.projectId)
  return { webhook, secret }
}

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
  const seen = await eachSeen(ctx, ids, rows, 'webhooks:Get', ({ id }) => resourceOf(id))
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
 * Slack's and Zapier's: without `webhooks:Update` on it a caller reads scheme and host.
 */
export function urlFor({ principal }: Pick<Ctx, 'principal'>, { id, url }: Webhook): string {
  if (holds(principal, {}) && allows(principal.policy, 'webhooks:Update', resourceOf(id))) return url
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
export async function told(
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
