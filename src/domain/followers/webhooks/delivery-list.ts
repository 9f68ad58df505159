/** What came of deliveries: rows of those that failed at first, and receipts of the others, as one list. */
import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Page } from '../../../core/page.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { maxPageBytes } from '../../../store/db/lists.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { webhookDeliveries } from '../../../store/db/tables/webhooks.ts'
import { assertMay, reachable, type Ctx } from '../../access/index.ts'
import { eventsById } from '../../events/index.ts'
import { findWebhook } from './operations.ts'
import { messagesOf } from './payload.ts'
import { receiptLife } from './result.ts'
import type { Message } from './send.ts'
import type { Delivery } from './webhook.ts'

/** The id of what has receipts only: it is made of webhook and event, and stays when a row is made of them. */
const idOfReceipt = sql`'whd_' || substr(webhook_id, 5) || '_' || event_id`
const shapeOfReceipt = /^whd_([0-9a-z]{24})_(\d{1,15})$/

interface Listed extends Omit<Delivery, 'nextAt' | 'createdAt' | 'updatedAt'> {
  nextMs: number | null
  createdMs: number
  updatedMs: number
}

const ms = (column: string): SQL => sql`(extract(epoch from ${sql.raw(column)}) * 1000)::float8`

/**
 * Deliveries of a webhook, newest first: for 30 days those that failed at first, and for three days the newest thousand
 * of the others. Action `webhooks:Get` on the webhook.
 */
export async function listDeliveries(
  ctx: Ctx,
  input: {
    webhookId: string
    status?: Delivery['status'] | null | undefined
    type?: string | null | undefined
    /** Only this delivery. */
    id?: string | undefined
    page: Page
  },
): Promise<Delivery[]> {
  const { webhookId, status, type, id, page } = input
  const { projectId } = await findWebhook(ctx, webhookId)
  await assertMay(ctx, 'webhooks:Get', projectId, `webhook/${webhookId}`)
  const ofType = type ? sql`and type = ${type}` : sql``
  const tail = sql`${placed(page)} ${id === undefined ? sql`` : sql`and id = ${id}`}
    order by created_at ${page.inverted ? sql`asc` : sql`desc`}, id ${page.inverted ? sql`asc` : sql`desc`}
    limit ${page.limit}`
  const rows = await query<Listed>(
    ctx.db,
    sql`with failed as (
        select id, webhook_id, event_id, type, status, attempts, answers, next_at, created_at, updated_at
        from webhook_deliveries
        where project_id = ${projectId} and webhook_id = ${webhookId} ${ofType}
          ${status ? sql`and status = ${status}` : sql``} and ${tail}
      ),
      accepted as (
        select * from (
          select ${idOfReceipt} as id, webhook_id, event_id, type, 'DELIVERED' as status, count(*)::int as attempts,
            jsonb_agg(answer order by at) as answers, null::timestamptz as next_at, min(at) as created_at,
            max(at) as updated_at
          from webhook_receipts as r
          where webhook_id = ${webhookId} and at > now() - ${receiptLife} ${ofType} and ${withoutRow}
            and ${status ? status === 'DELIVERED' : true}::boolean
          group by webhook_id, event_id, type
        ) as whole
        where ${tail}
      )
      select id, ${projectId}::text as "projectId", webhook_id as "webhookId", event_id::float8 as "eventId", type, status,
        attempts, answers, ${ms('next_at')} as "nextMs", ${ms('created_at')} as "createdMs",
        ${ms('updated_at')} as "updatedMs"
      from (select * from failed union all select * from accepted) as every
      where ${tail}`,
  )
  return rows.map(({ nextMs, createdMs, updatedMs, ...row }) => ({
    ...row,
    nextAt: nextMs === null ? null : new Date(nextMs),
    createdAt: new Date(createdMs),
    updatedAt: new Date(updatedMs),
  }))
}

const withoutRow = sql`not exists (
    select 1
    from webhook_deliveries as d
    where d.webhook_id = r.webhook_id and d.event_id = r.event_id
  )`

function placed({ after, before }: Page): SQL {
  const value = (at: { at: number; id: string }) =>
    sql`(${new Date(at.at).toISOString()}::timestamptz, ${at.id}::text)`
  return sql`${after ? sql`(created_at, id) < ${value(after)}` : sql`true`}
    and ${before ? sql`(created_at, id) > ${value(before)}` : sql`true`}`
}

/** The webhook of a delivery. NOT_FOUND when the caller cannot reach it, or nothing is known of it any more. */
export async function findDelivery(ctx: Ctx, id: string): Promise<{ webhookId: string; projectId: string }> {
  const [row] = await ctx.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id))
  if (row) return reachable(ctx, row, 'delivery', id)
  const [, webhook, event] = shapeOfReceipt.exec(id) ?? []
  const rows = await query<{ webhookId: string; projectId: string }>(
    ctx.db,
    sql`select w.id as "webhookId", w.project_id as "projectId"
      from webhooks as w
      where w.id = ${`whk_${webhook ?? ''}`} and exists (
        select 1
        from webhook_receipts as r
        where r.webhook_id = w.id and r.event_id = ${event ?? '0'}::bigint and r.at > now() - ${receiptLife}
      )`,
  )
  return reachable(ctx, rows[0], 'delivery', id)
}

/** Makes a row of the receipts of a delivery that has none, so that it is sent again as what has failed is. */
export async function takeReceipt(tx: Database, projectId: string, id: string): Promise<void> {
  const [, webhook, event] = shapeOfReceipt.exec(id) ?? []
  if (webhook === undefined || event === undefined) return
  await query(
    tx,
    sql`insert into webhook_deliveries (id, project_id, webhook_id, cursor_id, event_id, type, status, tries, attempts,
        answers, created_at)
      select ${id}, ${projectId}, webhook_id, webhook_id, event_id, type, 'DELIVERED', 0, count(*)::int,
        jsonb_agg(answer order by at), min(at)
      from webhook_receipts
      where webhook_id = ${`whk_${webhook}`} and event_id = ${event}::bigint
      group by webhook_id, event_id, type
      on conflict (webhook_id, event_id) do nothing`,
  )
}

/**
 * The messages of deliveries, made again from the log: null for an event that is not in it any more. Links and codes of
 * recipients are left out. Action `events:Subscribe`, because they show events. RESPONSE_TOO_LARGE beyond the bytes of a page.
 */
export async function messagesOfDeliveries(
  ctx: Ctx,
  deliveries: readonly Delivery[],
): Promise<(Message | null)[]> {
  const found = new Map<string, Message>()
  let bytes = 0
  for (const webhookId of new Set(deliveries.map((one) => one.webhookId))) {
    const { projectId, full, callbackOf } = await findWebhook(ctx, webhookId)
    await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
    const own = deliveries.filter((one) => one.webhookId === webhookId)
    const events = await eventsById(
      ctx.db,
      projectId,
      own.map(({ eventId }) => eventId),
    )
    const known = own.filter(({ eventId }) => events.has(eventId))
    const messages = await messagesOf(
      ctx,
      known.map(({ eventId }) => events.get(eventId)!),
      { full, links: null, ofGeneration: callbackOf?.startsWith('gen_') ?? false },
    )
    for (const [at, { id }] of known.entries()) {
      bytes += messages[at]!.body.length
      found.set(id, messages[at]!)
    }
    if (bytes > maxPageBytes)
      throw new AppError(
        'RESPONSE_TOO_LARGE',
        `The payloads of these ${deliveries.length} deliveries have more than ${maxPageBytes} bytes. Ask for smaller pages with first.`,
      )
  }
  return deliveries.map(({ id }) => found.get(id) ?? null)
}
