/** What a webhook is, and how its rows are read. */
import type { z } from 'zod'
import { choice, entity } from '../../../core/shapes.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { webhookDeliveries, webhooks } from '../../../store/db/tables/webhooks.ts'
import type { Services } from '../../access/index.ts'
import type { EventType } from '../../events/index.ts'
import type { Answer } from './send.ts'

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
export const deliveryStatuses = ['PENDING', 'DELIVERED', 'DEAD'] as const

/** Who is sent a link and a code to decide with. */
export interface Recipient {
  principalId: string
  /** An e-mail address, or whatever the endpoint finds the person by. */
  address: string
}

/** An endpoint that gets the events of a project, without its secret. */
export interface Webhook {
  id: string
  projectId: string
  url: string
  description: string | null
  /** Null: all types. */
  types: EventType[] | null
  /** Whether payloads include arguments, masked. */
  full: boolean
  /** Whether one event is sent at a time, in the order of the log. */
  ordered: boolean
  status: z.output<typeof followerStatus>
  disabledReason: z.output<typeof disabledReason> | null
  disabledAt: Date | null
  /** Since when every delivery has failed; null after one that succeeded. */
  failingSince: Date | null
  /** Until then the secret before the present one signs too. */
  previousUntil: Date | null
  /** The generation or tool call whose callback this is. */
  callbackOf: string | null
  /** Null: nobody. */
  recipients: Recipient[] | null
  /** Raised by every change of settings, recipients or secret that a request makes. */
  version: number
  createdBy: string
  createdAt: Date
  updatedAt: Date
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
export interface Delivery {
  id: string
  eventId: number
  projectId: string
  webhookId: string
  type: EventType
  status: (typeof deliveryStatuses)[number]
  attempts: number
  /** The newest answers, oldest first. */
  answers: Answer[]
  nextAt: Date | null
  createdAt: Date
  updatedAt: Date
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
