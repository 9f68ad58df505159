/** What the screens of webhooks read and do. */
import { command } from '../../../api/command.ts'
import { graphql, type FragmentOf, type ResultOf } from '../../../api/document.ts'
import { list, one } from '../../../api/reads.ts'
import type { EventType } from '../../../api/feed.ts'
import { principal } from '../../../api/principal.ts'

const webhookRow = graphql(`
  fragment WebhookRow on Webhook {
    id
    url
    description
    types
    ordered
    full
    status
    disabledReason
    disabledAt
    failingSince
    lastDeliveredAt
    deliveredCount
    pendingCount
    replayCount
    previousSecretUntil
    callbackOf
    createdAt
    updatedAt
    version
  }
`)
export type WebhookRow = FragmentOf<typeof webhookRow>

/** What only the page of one webhook shows. */
const oneWebhook = graphql(
  `
    fragment OneWebhook on Webhook {
      ...WebhookRow
      creator {
        ...PrincipalParts
      }
      recipients {
        address
        principal {
          ...PrincipalParts
        }
      }
    }
  `,
  [webhookRow, principal],
)
export type OneWebhook = FragmentOf<typeof oneWebhook>
export type Recipient = OneWebhook['recipients'][number]

/** After these the list of webhooks may be another. */
export const webhookTypes = [
  'WEBHOOK_CREATED',
  'WEBHOOK_UPDATED',
  'WEBHOOK_DISABLED',
  'WEBHOOK_DELETED',
  'WEBHOOK_CURSOR_EXPIRED',
  'WEBHOOK_FAILING',
  'WEBHOOK_RECOVERED',
  'WEBHOOK_DELIVERY_DEAD',
] as const satisfies readonly EventType[]

export const webhooksQuery = list('webhooks', webhookRow, '$callbacks:Boolean')

export const webhookQuery = one('webhook', oneWebhook)

export const deliveriesQuery = graphql(`
  query WebhookDeliveries($id: ID!, $status: WebhookDeliveryStatus, $type: EventType, $after: String) {
    webhook(id: $id) {
      deliveries(first: 20, after: $after, status: $status, type: $type) {
        nodes {
          id
          type
          status
          attempts
          createdAt
          updatedAt
          nextAttemptAt
          answers {
            at
            status
            error
            body
            milliseconds
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`)
export type Delivery = NonNullable<ResultOf<typeof deliveriesQuery>['webhook']>['deliveries']['nodes'][number]
export type DeliveryStatus = Delivery['status']

export const deliveryQuery = graphql(`
  query WebhookDelivery($webhookId: ID!, $id: ID!) {
    webhook(id: $webhookId) {
      delivery(id: $id) {
        messageId
        payload
        answers {
          at
          headers {
            name
            value
          }
        }
      }
    }
  }
`)

const secretAnswer = graphql(`
  fragment WebhookSecret on WebhookPayload {
    secret
    webhook {
      id
    }
  }
`)
export const createWebhookMutation = command('createWebhook', secretAnswer)

const updateWebhookAnswer = graphql(
  `
    fragment UpdateWebhookAnswer on WebhookPayload {
      webhook {
        ...WebhookRow
      }
    }
  `,
  [webhookRow],
)
export const updateWebhookMutation = command('updateWebhook', updateWebhookAnswer)

export const setRecipientsMutation = command('setWebhookRecipients')

export const deleteWebhookMutation = command('deleteWebhook')

export const rotateMutation = command('rotateWebhookSecret', secretAnswer)

const testAnswer = graphql(`
  fragment TestWebhookAnswer on TestWebhookPayload {
    answer {
      at
      status
      error
      body
      milliseconds
      headers {
        name
        value
      }
    }
  }
`)
export const testMutation = command('testWebhook', testAnswer)

const replayAnswer = graphql(`
  fragment ReplayWebhookAnswer on ReplayWebhookPayload {
    replayId
  }
`)
export const replayMutation = command('replayWebhook', replayAnswer)

export const redeliverMutation = command('redeliverWebhook')
