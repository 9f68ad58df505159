/** What a webhook is, and how its rows are read. */
import * as view from '../../../core/view.ts'
import { z } from 'zod'
import { choice, entity, part, idOf } from '../../../core/shapes.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { webhookDeliveries, webhooks } from '../../../store/db/tables/webhooks.ts'
import type { Services } from '../../access/index.ts'
import { eventType } from '../../events/index.ts'
import { WebhookAnswer } from './send.ts'

export const followerStatus = choice('FollowerStatus', 'Whether a webhook or Slack integration works.', {
  ENABLED: 'Events are sent, and presses in Slack count.',
  DISABLED: 'Nothing is sent, presses do not count, and the place in the log is kept.',
})
export const disabledReason = choice('DisabledReason', 'Why a webhook or Slack integration is disabled.', {
  BY_REQUEST: 'A request disabled it.',
  GONE: 'The endpoint answered 410.',
  FAILING: 'Every delivery failed for five days, or a callback could not be delivered.',
  TOKEN_REVOKED: 'Slack does not accept the bot token any more.',
  REFUSED: 'Slack refuses the channel, or the token lacks a scope; `fault` says which.',
  BEHIND: 'Retention removed events that it had not been sent for days.',
})
export const deliveryStatus = choice('WebhookDeliveryStatus', 'The status of a delivery.', {
  PENDING: 'The event will be sent again.',
  DELIVERED: 'The endpoint accepted the event.',
  DEAD: 'Every attempt failed; the event is sent again only by redeliverWebhook or replayWebhook.',
})

/** Who is sent a link and a code to decide with. */
export const recipientShape = part(
  'WebhookRecipient',
  'An approver that gets links and one-time codes by way of a webhook.',
  {
    principalId: view.principal(
      'principal',
      'The principal whose vote a verdict with the link is.',
      'The id of the API key or person whose vote a verdict with the link is.',
    ),
    address: view.text('The address of the person, such as an e-mail address, for the endpoint.'),
  },
)
export type Recipient = z.output<typeof recipientShape>

/** An endpoint that gets the events of a project, without its secret. */
export const webhookShape = part(
  'Webhook',
  'An endpoint that is sent the events of a project, each at least once, signed as Standard Webhooks defines.',
  {
    id: idOf('webhook'),
    description: view.text('What the endpoint is for; null when nothing was said.').nullable(),
    types: z
      .array(eventType)
      .describe('The types of the events that are sent, at most 100; null: all types.')
      .nullable(),
    full: view.flag('Whether payloads include the arguments of calls, writeOnly values masked.'),
    ordered: view.flag(
      'Whether one event is sent at a time, in the order of the feed; an event that fails holds up those after it.',
    ),
    status: followerStatus.describe('Whether the webhook is sent events.'),
    disabledReason: disabledReason.describe('Why the webhook is disabled; null when it is not.').nullable(),
    disabledAt: view.date('When the webhook was disabled; null when it is not.').nullable(),
    failingSince: view
      .date('The time since which every delivery has failed; null after one that was accepted.')
      .nullable(),
    previousUntil: view
      .under(
        'previousSecretUntil',
        view.date(
          'The time until which deliveries are signed with the previous secret too; null when they are not.',
        ),
      )
      .nullable(),
    callbackOf: view
      .id('The id of the generation or tool call whose callback this is; null for other webhooks.')
      .nullable(),
    version: view.int(
      'The version: it rises with every change of settings, recipients or secret by a request.',
    ),
    createdBy: view.principal(
      'creator',
      'The principal that created the webhook.',
      'The id of the API key or person that created the webhook.',
    ),
    createdAt: view.date('When the webhook was created.'),
    updatedAt: view.date('When the webhook was last changed.'),
  },
)
export interface Webhook extends z.output<typeof webhookShape> {
  projectId: string
  url: string
  /** Null: nobody. */
  recipients: Recipient[] | null
}

export const Webhook = entity<Webhook>()('Webhook')

/** How far a webhook has come. */
export interface Progress {
  /** Events that the endpoint has accepted. */
  delivered: number
  lastDeliveredAt: Date | null
  /** Deliveries that failed and are sent again. */
  pending: number
  /** Replays that have not reached their end. */
  replays: number
}

/** An event that was sent to an endpoint, and what came of it. */
export const deliveryShape = part(
  'WebhookDelivery',
  'An event that was sent to an endpoint, and the answers of the endpoint.',
  {
    id: idOf('webhookDelivery', 'delivery'),
    webhookId: view.id('The id of the webhook.'),
    type: eventType.describe('The type of the event.'),
    status: deliveryStatus.describe('The status of the delivery.'),
    attempts: view.int('The number of attempts so far.'),
    answers: z.array(WebhookAnswer).describe('The results of the newest attempts, oldest first, at most 8.'),
    nextAt: view
      .under(
        'nextAttemptAt',
        view.date(
          'When the event is sent again; null when it is settled, or holds up those after it at an ordered endpoint.',
        ),
      )
      .nullable(),
    createdAt: view.date('When the event was first sent.'),
    updatedAt: view.date('When the delivery last changed.'),
  },
)
export interface Delivery extends z.output<typeof deliveryShape> {
  eventId: number
  projectId: string
}

export const WebhookDelivery = entity<Delivery>()('WebhookDelivery')

export function webhookOf(row: typeof webhooks.$inferSelect, { clock }: Pick<Services, 'clock'>): Webhook {
  const { secret: _s, downSince: _d, deadToldAt: _t, previousSecret, previousUntil, ...rest } = row
  const turning = previousSecret !== null && previousUntil !== null && previousUntil.getTime() > clock.now()
  return { ...rest, previousUntil: turning ? previousUntil : null } as Webhook
}

export function deliveryOf(row: typeof webhookDeliveries.$inferSelect): Delivery {
  const { cursorId: _c, tries: _t, ...rest } = row
  return rest as Delivery
}

/** The progress of webhooks, in the order of their ids. Checks no permission. */
export async function loadProgress(db: Database, ids: readonly string[]): Promise<Progress[]> {
  if (ids.length === 0) return []
  const rows = await query<Omit<Progress, 'lastDeliveredAt'> & { id: string; lastMs: number | null }>(
    db,
    sql`select c.webhook_id as id, sum(c.delivered)::float8 as delivered,
        (extract(epoch from max(c.last_delivered_at)) * 1000)::float8 as "lastMs",
        (count(*) filter (where c.id <> c.webhook_id))::int as replays,
        (
          select count(*)::int
          from webhook_deliveries as d
          where d.webhook_id = c.webhook_id and d.status = 'PENDING'
        ) as pending
      from webhook_cursors as c
      where c.webhook_id in ${[...ids]}
      group by c.webhook_id`,
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => {
    const { delivered = 0, lastMs = null, pending = 0, replays = 0 } = found.get(id) ?? {}
    return { delivered, pending, replays, lastDeliveredAt: lastMs === null ? null : new Date(lastMs) }
  })
}
