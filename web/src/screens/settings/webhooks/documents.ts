/** What the screens of webhooks read and do. */
import { command } from '../../../api/command.ts'
import { graphql, type FragmentOf, type ResultOf } from '../../../api/document.ts'
import type { EventType } from '../../../api/feed.ts'
import { principal } from '../../../api/principal.ts'
import { faults } from '../../../api/faults.ts'

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

export const webhooksQuery = graphql(
  `
    query Webhooks($projectId: ID, $callbacks: Boolean, $after: String) {
      webhooks(projectId: $projectId, callbacks: $callbacks, first: 50, after: $after) {
        nodes {
          ...WebhookRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [webhookRow],
)

export const webhookQuery = graphql(
  `
    query Webhook($id: ID!) {
      webhook(id: $id) {
        ...OneWebhook
      }
    }
  `,
  [oneWebhook],
)

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

export const createWebhookMutation = graphql(
  `
    mutation CreateWebhook($input: CreateWebhookInput!) {
      createWebhook(input: $input) {
        __typename
        ... on WebhookPayload {
          secret
          webhook {
            id
          }
        }
        ...Faults
      }
    }
  `,
  [faults],
)

export const updateWebhookMutation = graphql(
  `
    mutation UpdateWebhook($input: UpdateWebhookInput!) {
      updateWebhook(input: $input) {
        __typename
        ... on WebhookPayload {
          webhook {
            ...WebhookRow
          }
        }
        ...Faults
      }
    }
  `,
  [webhookRow, faults],
)

export const setRecipientsMutation = command('setWebhookRecipients')

export const deleteWebhookMutation = command('deleteWebhook')

export const rotateMutation = graphql(`
  mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
    rotateWebhookSecret(input: $input) {
      __typename
      ... on WebhookPayload {
        secret
      }
      ... on Error {
        code
        message
      }
    }
  }
`)

export const testMutation = graphql(`
  mutation TestWebhook($input: TestWebhookInput!) {
    testWebhook(input: $input) {
      __typename
      ... on TestWebhookPayload {
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
      ... on Error {
        code
        message
      }
    }
  }
`)

export const replayMutation = graphql(
  `
    mutation ReplayWebhook($input: ReplayWebhookInput!) {
      replayWebhook(input: $input) {
        __typename
        ... on ReplayWebhookPayload {
          replayId
        }
        ...Faults
      }
    }
  `,
  [faults],
)

export const redeliverMutation = command('redeliverWebhook')
