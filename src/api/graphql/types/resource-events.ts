/** The events of Slack, webhooks and retention as GraphQL objects. */
import type { EventType } from '../../../domain/events/index.ts'
import type { EventObject } from './event-fields.ts'
import { retentionEvents, type RetentionType } from './retention-events.ts'

type Kind = 'SLACK' | 'WEBHOOK'
type ResourceType = Extract<EventType, `${Kind}_${string}`> | RetentionType

export const resourceEvents: { [Type in ResourceType]: EventObject<Type> } = {
  ...retentionEvents,
  SLACK_SET: {
    description: 'The Slack integration of the project was set, or a Slack user was linked or unlinked.',
    fields: (t, f) => ({ integrationId: f.integrationId(t) }),
  },
  SLACK_DELETED: {
    description: 'The Slack integration of the project was deleted.',
    fields: (t, f) => ({ integrationId: f.integrationId(t) }),
  },
  SLACK_DISABLED: {
    description: 'The Slack integration was disabled and keeps its place in the log.',
    fields: (t, f) => ({ integrationId: f.integrationId(t), reason: f.reason(t) }),
  },
  WEBHOOK_CREATED: {
    description: 'A webhook was created.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_UPDATED: {
    description: 'A webhook was changed or enabled, or its secret was rotated.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_DELETED: {
    description: 'A webhook was deleted.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_DISABLED: {
    description: 'A webhook was disabled and keeps its place in the log.',
    fields: (t, f) => ({ webhookId: f.webhookId(t), reason: f.reason(t) }),
  },
  WEBHOOK_CURSOR_EXPIRED: {
    description:
      'The event at the place of a webhook is not in the log any more; the webhook goes on with the events after it, ' +
      'and what was removed before it was sent is lost to it.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_FAILING: {
    description:
      'The endpoint of a webhook is taken to be down: everything that was sent to it has failed several times in a row. ' +
      'Not sent to webhooks.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_RECOVERED: {
    description: 'The endpoint of a webhook that was failing has accepted an event. Not sent to webhooks.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
  WEBHOOK_DELIVERY_DEAD: {
    description:
      'A delivery of a webhook has failed for the last time and is sent again only by redeliverWebhook. At most one such ' +
      'event an hour for a webhook. Not sent to webhooks.',
    fields: (t, f) => ({ webhookId: f.webhookId(t) }),
  },
}
