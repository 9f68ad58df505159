/** Events of webhooks. */
import { kindsOf, projectOnly } from './define.ts'

type WebhookFacts = { webhookId: string }

export interface WebhookEvents {
  WEBHOOK_CREATED: WebhookFacts
  WEBHOOK_UPDATED: WebhookFacts
  WEBHOOK_DELETED: WebhookFacts
  /** `reason`: a request disabled it, it answered 410, or every delivery failed for days. */
  WEBHOOK_DISABLED: WebhookFacts & { reason: 'BY_REQUEST' | 'GONE' | 'FAILING' }
  /** The event at its place is not in the log any more: events after it may have been removed before they were sent. */
  WEBHOOK_CURSOR_EXPIRED: WebhookFacts
}

const kind = kindsOf<WebhookEvents>()

export const webhookCreated = kind('WEBHOOK_CREATED', projectOnly)
export const webhookUpdated = kind('WEBHOOK_UPDATED', projectOnly)
export const webhookDeleted = kind('WEBHOOK_DELETED', projectOnly)
export const webhookDisabled = kind('WEBHOOK_DISABLED', projectOnly)
export const webhookCursorExpired = kind('WEBHOOK_CURSOR_EXPIRED', projectOnly)
