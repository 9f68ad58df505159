/** What follows the events of a project, in GraphQL: webhooks with their deliveries, and the Slack integration. */
import * as followers from '../../../domain/followers/index.ts'
import { type JsonObject, readJson } from '../../../core/json.ts'
import {
  answerHeader,
  answerShape,
  deliveryShape,
  deliveryStatus,
  listDeliveries,
  mostHeaders,
  recipientShape,
  urlFor,
  webhookShape,
  getSlackIntegration,
  listSlackUsers,
  slackUser,
  integrationShape,
} from '../../../domain/followers/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import type { Refs } from '../builder/refs.ts'
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { addById, addList } from '../builder/queries.ts'

/** Adds the types. */
function addWebhookTypes(refs: Refs, { EventType }: EventTypes): void {
  const { shapes } = refs
  addAnswer(refs)
  addDelivery(refs)
  shapes.node(refs.Webhook, 'webhook', webhookShape, (t) => ({
    url: t.string({
      description:
        'The URL to which events are sent with POST. Its path may be a credential: without the permission webhooks:Update it is "…".',
      resolve: (webhook, _args, { ctx }) => urlFor(ctx, webhook),
    }),
    recipients: t.field({
      type: [shapes.object(recipientShape)],
      description:
        'The approvers that get a link and a one-time code with each approval that allows verdictLinks, at most 20.',
      resolve: ({ recipients }) => recipients ?? [],
    }),
    deliveredCount: t.int({
      description: 'The number of events that the endpoint has accepted.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.webhookProgress.load(id)).delivered,
    }),
    lastDeliveredAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the endpoint last accepted an event; null when it never did.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.webhookProgress.load(id)).lastDeliveredAt,
    }),
    pendingCount: t.int({
      description: 'The number of deliveries that failed and will be sent again.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.webhookProgress.load(id)).pending,
    }),
    replayCount: t.int({
      description: 'The number of replays that have not ended.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.webhookProgress.load(id)).replays,
    }),
    deliveries: t.field({
      type: connectionOf(refs.WebhookDelivery, 'WebhookDelivery'),
      description:
        'What was sent to the endpoint, newest first: for 30 days events that it did not accept at first, and for ' +
        'three days the newest 1,000 of those that it accepted at once. Permission: webhooks:Get.',
      args: {
        status: t.arg({
          type: shapes.choice(deliveryStatus),
          description: 'Only deliveries with this status.',
        }),
        type: t.arg({ type: EventType, description: 'Only deliveries of events of this type.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: ({ id }, { status, type, ...args }, { ctx }) =>
        page(args, (p) => listDeliveries(ctx, { webhookId: id, status, type, page: p })),
    }),
    delivery: t.field({
      type: refs.WebhookDelivery,
      nullable: true,
      description: 'One delivery; null when it is not listed any more. Permission: webhooks:Get.',
      args: {
        id: t.arg.id({ required: true, description: 'The id of the delivery; it begins with whd_.' }),
      },
      resolve: async (webhook, { id }, { ctx }) =>
        (await listDeliveries(ctx, { webhookId: webhook.id, id, page: oneRow }))[0] ?? null,
    }),
  }))
}

const oneRow = { limit: 1, inverted: false }

function addAnswer({ shapes, WebhookAnswer }: Refs): void {
  shapes.implement(WebhookAnswer, answerShape, (t) => ({
    headers: t.field({
      type: [shapes.object(answerHeader)],
      description: `The first headers of the response, at most ${mostHeaders} and 1,500 characters; none without a response.`,
      // They are read with the answer.
      complexity: () => ({ field: 5, multiplier: 1 }),
      resolve: ({ headers }) => headers ?? [],
    }),
  }))
}

function addDelivery(refs: Refs): void {
  refs.shapes.implement(refs.WebhookDelivery, deliveryShape, (t) => ({
    messageId: t.string({
      nullable: true,
      description:
        'The webhook-id of the message; null when the event is not in the log any more. Permission: events:Subscribe.',
      resolve: async (delivery, _args, { loaders }) =>
        (await loaders.webhookMessages.load(delivery))?.id ?? null,
    }),
    payload: t.field({
      type: 'JSONObject',
      nullable: true,
      // With arguments each may have 256 KiB, and all of a page are in memory at once.
      complexity: 20,
      description:
        'The body of the message, made again from the log and masked as it was sent, without links and codes of ' +
        'recipients; null when the event is not in the log any more. Permission: events:Subscribe.',
      resolve: async (delivery, _args, { loaders }) => {
        const message = await loaders.webhookMessages.load(delivery)
        return message && (readJson(message.body) as JsonObject)
      },
    }),
  }))
}

/** Webhooks in GraphQL: queries and mutations. */
export function addWebhooks(refs: Refs, events: EventTypes): void {
  addWebhookTypes(refs, events)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.Webhook, 'Webhook')
  addById(refs, {
    name: 'webhook',
    type: refs.Webhook,
    kind: 'webhook',
    words: 'A webhook',
    permission: 'webhooks:Get',
    load: ({ webhooks }, id) => webhooks.load(id),
  })
  addList(refs, {
    name: 'webhooks',
    type: connection,
    description: 'The webhooks of a project, newest first. Permission: webhooks:List.',
    args: {
      callbacks: optional(
        z.boolean().describe('Whether the callbacks of generations and tool calls are listed instead.'),
        'false',
      ),
    },
    list: followers.listWebhooks,
  })
}

export function addSlack(refs: Refs): void {
  const { builder } = refs
  refs.shapes.implement(refs.SlackUser, slackUser)
  addIntegrationType(refs)
  builder.queryField('slackIntegration', (t) =>
    t.field({
      type: refs.SlackIntegration,
      nullable: true,
      description: 'The Slack integration of a project; null when it has none. Permission: slack:Get.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => getSlackIntegration(ctx, args),
    }),
  )
}

function addIntegrationType(refs: Refs): void {
  refs.shapes.implement(refs.SlackIntegration, integrationShape, (t) => ({
    interactionsUrl: t.string({
      description: 'The URL to enter in the Slack app as Request URL of its interactivity.',
      resolve: (_integration, _args, { ctx }) => `${ctx.publicUrl()}/slack/interactions`,
    }),
    users: t.field({
      type: [refs.SlackUser],
      description: 'The linked Slack users, by id, at most 200.',
      resolve: (integration, _args, { ctx }) => listSlackUsers(ctx, integration.projectId),
    }),
  }))
}
