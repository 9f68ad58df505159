/** Webhooks in GraphQL, with their deliveries. */
import { type JsonObject, readJson } from '../../../core/json.ts'
import {
  deliveryStatuses,
  disabledReason,
  followerStatus,
  listDeliveries,
  mostHeaders,
  urlFor,
  type AnswerHeader,
  type Recipient,
} from '../../../domain/followers/index.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { EventTypes } from './events.ts'
import { principalField } from './principals.ts'
import type { Refs } from '../builder/refs.ts'
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import * as followers from '../../../domain/followers/index.ts'
import { addById, addList } from '../builder/queries.ts'

/** Adds the types. */
function addWebhookTypes(refs: Refs, { EventType }: EventTypes): void {
  const { builder } = refs
  addAnswer(refs)
  const Recipient = builder.objectRef<Recipient>('WebhookRecipient').implement({
    description: 'An approver that gets links and one-time codes by way of a webhook.',
    fields: (t) => ({
      principalId: t.exposeID('principalId', {
        description: 'The id of the API key or person whose vote a verdict with the link is.',
      }),
      principal: t.field(
        principalField(
          refs,
          (row) => row.principalId,
          'The principal whose vote a verdict with the link is.',
        ),
      ),
      address: t.exposeString('address', {
        description: 'The address of the person, such as an e-mail address, for the endpoint.',
      }),
    }),
  })
  const deliveries = addDelivery(refs, EventType)
  refs.Webhook.implement({
    description:
      'An endpoint that is sent the events of a project, each at least once, signed as Standard Webhooks defines.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'whk_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the webhook; it begins with whk_.' }),
      url: t.string({
        description:
          'The URL to which events are sent with POST. Its path may be a credential: without the permission webhooks:Update it is "…".',
        resolve: (webhook, _args, { ctx }) => urlFor(ctx, webhook),
      }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'What the endpoint is for; null when nothing was said.',
      }),
      types: t.field({
        type: [EventType],
        nullable: true,
        description: 'The types of the events that are sent, at most 100; null: all types.',
        resolve: ({ types }) => types,
      }),
      full: t.exposeBoolean('full', {
        description: 'Whether payloads include the arguments of calls, writeOnly values masked.',
      }),
      ordered: t.exposeBoolean('ordered', {
        description:
          'Whether one event is sent at a time, in the order of the feed; an event that fails holds up those after it.',
      }),
      status: t.expose('status', {
        type: refs.shapes.choice(followerStatus),
        description: 'Whether the webhook is sent events.',
      }),
      disabledReason: t.expose('disabledReason', {
        type: refs.shapes.choice(disabledReason),
        nullable: true,
        description: 'Why the webhook is disabled; null when it is not.',
      }),
      disabledAt: t.expose('disabledAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the webhook was disabled; null when it is not.',
      }),
      failingSince: t.expose('failingSince', {
        type: 'DateTime',
        nullable: true,
        description: 'The time since which every delivery has failed; null after one that was accepted.',
      }),
      previousSecretUntil: t.expose('previousUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'The time until which deliveries are signed with the previous secret too; null when they are not.',
      }),
      callbackOf: t.exposeID('callbackOf', {
        nullable: true,
        description: 'The id of the generation or tool call whose callback this is; null for other webhooks.',
      }),
      recipients: t.field({
        type: [Recipient],
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
        resolve: async ({ id }, _args, { loaders }) =>
          (await loaders.webhookProgress.load(id)).lastDeliveredAt,
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
        type: deliveries.connection,
        description:
          'What was sent to the endpoint, newest first: for 30 days events that it did not accept at first, and for ' +
          'three days the newest 1,000 of those that it accepted at once. Permission: webhooks:Get.',
        args: {
          status: t.arg({ type: deliveries.Status, description: 'Only deliveries with this status.' }),
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
      version: t.exposeInt('version', {
        description:
          'The version: it rises with every change of settings, recipients or secret by a request.',
      }),
      createdBy: t.exposeID('createdBy', {
        description: 'The id of the API key or person that created the webhook.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the webhook was created.' }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When the webhook was last changed.',
      }),
    }),
  })
}

const oneRow = { limit: 1, inverted: false }

function addAnswer({ builder, WebhookAnswer: ref }: Refs): void {
  const Header = builder.objectRef<AnswerHeader>('WebhookAnswerHeader').implement({
    description: 'A header of the response of an endpoint.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The name of the header, in lower case.' }),
      value: t.exposeString('value', {
        description:
          'The beginning of the value, at most 200 characters; [masked] for a cookie, a credential or a signature.',
      }),
    }),
  })
  ref.implement({
    description: 'The result of one attempt to send an event to an endpoint.',
    fields: (t) => ({
      at: t.field({
        type: 'DateTime',
        description: 'When the attempt was made.',
        resolve: ({ at }) => new Date(at),
      }),
      status: t.exposeInt('status', {
        nullable: true,
        description: 'The HTTP status of the response; null when there was none.',
      }),
      error: t.exposeString('error', {
        nullable: true,
        description: 'Why the attempt failed; null when the endpoint accepted the event.',
      }),
      body: t.exposeString('body', {
        nullable: true,
        description:
          'The beginning of the body of the response, at most 500 characters; null when it was empty.',
      }),
      headers: t.field({
        type: [Header],
        description: `The first headers of the response, at most ${mostHeaders} and 1,500 characters; none without a response.`,
        // They are read with the answer.
        complexity: () => ({ field: 5, multiplier: 1 }),
        resolve: ({ headers }) => headers ?? [],
      }),
      milliseconds: t.exposeInt('milliseconds', {
        description: 'How long the attempt took, in milliseconds.',
      }),
    }),
  })
}

function addDelivery(refs: Refs, EventType: EventTypes['EventType']) {
  const { builder } = refs
  const Status = builder.enumType('WebhookDeliveryStatus', {
    description: 'The status of a delivery.',
    values: described(deliveryStatuses, {
      PENDING: 'The event will be sent again.',
      DELIVERED: 'The endpoint accepted the event.',
      DEAD: 'Every attempt failed; the event is sent again only by redeliverWebhook or replayWebhook.',
    }),
  })
  refs.WebhookDelivery.implement({
    description: 'An event that was sent to an endpoint, and the answers of the endpoint.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the delivery; it begins with whd_.' }),
      webhookId: t.exposeID('webhookId', { description: 'The id of the webhook.' }),
      type: t.field({
        type: EventType,
        description: 'The type of the event.',
        resolve: ({ type }) => type,
      }),
      status: t.expose('status', {
        type: Status,
        description: 'The status of the delivery.',
      }),
      attempts: t.exposeInt('attempts', { description: 'The number of attempts so far.' }),
      answers: t.field({
        type: [refs.WebhookAnswer],
        description: 'The results of the newest attempts, oldest first, at most 8.',
        resolve: ({ answers }) => answers,
      }),
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
      nextAttemptAt: t.expose('nextAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the event is sent again; null when it is settled, or holds up those after it at an ordered endpoint.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event was first sent.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the delivery last changed.' }),
    }),
  })
  return { Status, connection: connectionOf(refs.WebhookDelivery, 'WebhookDelivery') }
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
