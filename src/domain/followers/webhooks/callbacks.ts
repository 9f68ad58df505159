/** Callbacks: a webhook for the events of one generation or one direct call, which ends with its last event. */
import { optional, openPart } from '../../../core/shapes.ts'
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { purposeKey } from '../../../core/signing.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { webhookCursors, webhooks } from '../../../store/db/tables/webhooks.ts'
import { insertSelect } from '../../../store/db/rows.ts'
import { newestPositionOfAll } from '../../../store/db/incarnation.ts'
import { assertMay, type Bond, type Ctx } from '../../access/index.ts'
import { assertUrl, urlShape } from './input.ts'
import { faultOfSecret, sealSecret } from './signature.ts'

export const callbackShape = openPart(
  'CallbackInput',
  'An endpoint that is sent the events of one generation, or of one call outside generations, until the last one.',
  {
    url: urlShape.describe('The URL to which events are sent, http or https, at most 2,000 characters.'),
    secret: optional(
      z.string().max(200).describe('The signing secret: whsec_ and 24 to 64 bytes in padded base64.'),
      'the one that the payload returns',
    ),
    full: optional(
      z.boolean().describe('Whether payloads include the arguments of calls, writeOnly values masked.'),
      'false',
    ),
  },
)

/** The secret of a callback, in a payload. */
export const callbackSecretShape = z
  .string()
  .nullable()
  .describe(
    'The signing secret of the callback; null without a callback, and when the request gave a secret of its own.',
  )

/** The secret of a callback for which the request gave none. */
export function secretForCallback(
  ctx: Pick<Ctx, 'masterKey'>,
  callback: { secret?: string | null | undefined } | null | undefined,
  id: string,
): string | null {
  return callback && !callback.secret ? callbackSecret(ctx, id) : null
}

/** Where the events of one generation or direct call are sent. Without `secret` it is signed with `callbackSecret`. */
export type Callback = z.infer<typeof callbackShape>

/** Checks that the caller may have this callback. Action `webhooks:Callback`. INVALID for a URL to which nothing may be sent. */
export async function assertCallback(
  ctx: Ctx,
  projectId: string,
  callback: Callback | null | undefined,
  bond: Bond = {},
): Promise<void> {
  if (!callback) return
  await assertMay(ctx, 'webhooks:Callback', projectId, 'webhook/callback', bond)
  assertUrl(ctx, callback.url, ['input', 'callback', 'url'])
  const fault = callback.secret ? faultOfSecret(callback.secret) : null
  if (fault) throw invalidAt(['input', 'callback', 'secret'], fault)
}

/**
 * LIMITED when the project has the most callbacks that are not finished. Call it in the transaction that inserts the
 * callback, before that: it locks the project, so that two requests at once cannot both take the last place.
 */
export async function takeCallbackPlace(tx: Database, ctx: Ctx, projectId: string): Promise<void> {
  await query(tx, sql`select 1 from projects where id = ${projectId} for update`)
  const max = ctx.limits.maxCallbacksPerProject
  const rows = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n
      from webhook_cursors as c
      join webhooks as w on w.id = c.webhook_id
      where c.project_id = ${projectId} and w.callback_of is not null`,
  )
  if (rows[0]!.n >= max)
    throw new AppError(
      'LIMITED',
      `This project has reached its limit of ${max} callbacks that are not finished.`,
    )
}

/**
 * The signing secret of the callback of a generation or call for which the caller chose none. Derived, so that a repeated
 * request gets it again.
 */
export function callbackSecret({ masterKey }: Pick<Ctx, 'masterKey'>, of: string): string {
  const bytes = createHmac('sha256', purposeKey(masterKey, 'callback')).update(of).digest()
  return `whsec_${bytes.toString('base64')}`
}

/**
 * Parts of the statement that creates a generation or a direct call, whose row is `g`: they insert its callback. None
 * without a callback. `takeCallbackPlace` comes before, in the same transaction.
 */
export function insertCallback(
  ctx: Ctx,
  of: { id: string; projectId: string },
  callback: Callback | null | undefined,
): SQL[] {
  if (!callback) return []
  const id = newId('webhook')
  const { projectId } = of
  const secret = callback.secret ?? callbackSecret(ctx, of.id)
  const ofGeneration = of.id.startsWith('gen_')
  const row = {
    id,
    projectId,
    url: callback.url,
    full: callback.full ?? false,
    secret: sealSecret(ctx.masterKey, id, secret),
    callbackOf: of.id,
    createdBy: ctx.principal.id,
  }
  const cursor = {
    id,
    projectId,
    webhookId: id,
    ...(ofGeneration ? { generationId: of.id } : { toolCallId: of.id }),
    // The events of this statement get their positions after it.
    at: ofGeneration ? 0 : newestPositionOfAll,
  }
  return [
    sql`callback as (${insertSelect(webhooks, row, sql`g`)})`,
    sql`callback_cursor as (${insertSelect(webhookCursors, cursor, sql`g`)})`,
  ]
}
