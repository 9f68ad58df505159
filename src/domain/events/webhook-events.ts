/** Events of webhooks. */
import { kindsOf, projectOnly } from './define.ts'

type WebhookFacts = { webhookId: string }

export interface WebhookEvents {
  WEBHOOK_CREATED: WebhookFacts
  WEBHOOK_UPDATED: WebhookFacts
  WEBHOOK_DELETED: WebhookFacts
  /**
   * `reason`: a request disabled it, it answered 410, every delivery failed for days, or retention removed events that it
   * had not been sent.
   */
  WEBHOOK_DISABLED: WebhookFacts & { reason: 'BY_REQUEST' | 'GONE' | 'FAILING' | 'BEHIND' }
  /** The event at its place is not in the log any more: events after it may have been removed before they were sent. */
  WEBHOOK_CURSOR_EXPIRED: WebhookFacts
  /** The endpoint is taken to be down: several rounds in a row, or a whole series of tries, have failed. */
  WEBHOOK_FAILING: WebhookFacts
  /** An endpoint that was taken to be down has accepted an event. */
  WEBHOOK_RECOVERED: WebhookFacts
  /** A delivery is not sent again by itself. Told at most once an hour for a webhook. */
  WEBHOOK_DELIVERY_DEAD: WebhookFacts
}

const kind = kindsOf<WebhookEvents>()

export const webhookCreated = kind('WEBHOOK_CREATED', projectOnly)
export const webhookUpdated = kind('WEBHOOK_UPDATED', projectOnly)
export const webhookDeleted = kind('WEBHOOK_DELETED', projectOnly)
export const webhookDisabled = kind('WEBHOOK_DISABLED', projectOnly)
export const webhookCursorExpired = kind('WEBHOOK_CURSOR_EXPIRED', projectOnly)
export const webhookFailing = kind('WEBHOOK_FAILING', projectOnly)
export const webhookRecovered = kind('WEBHOOK_RECOVERED', projectOnly)
export const webhookDeliveryDead = kind('WEBHOOK_DELIVERY_DEAD', projectOnly)

const aboutDeliveries: ReadonlySet<string> = new Set(
  [webhookFailing, webhookRecovered, webhookDeliveryDead].map(({ type }) => type),
)

/** Whether events of a type tell how deliveries go. They are never sent to webhooks, which would cause more of them. */
export function isAboutDeliveries(type: string): boolean {
  return aboutDeliveries.has(type)
}
