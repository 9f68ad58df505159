/** Webhooks in GraphQL: queries and mutations. */
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  redeliverWebhook,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  type Answer,
  type CreateWebhookInput,
  type Delivery,
  type UpdateWebhookInput,
  type Webhook,
} from '../../../domain/followers/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import { addWebhookTypes } from './webhook-objects.ts'
import { addRecipients, expectedVersion, webhookId } from './webhook-recipients.ts'

export function addWebhooks(refs: Refs, events: EventTypes): void {
  const { DeliveryAnswer } = addWebhookTypes(refs, events)
  addQueries(refs)
  const payloads = addPayloads(refs)
  addCreate(refs, events, payloads.withSecret)
  addChanges(refs, events, payloads)
  addSending(refs, events, DeliveryAnswer)
}

function addQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Webhook, 'Webhook')
  builder.queryField('webhook', (t) =>
    t.field({
      type: refs.Webhook,
      nullable: true,
      description: 'A webhook by id; null when it does not exist for this API key. Permission: webhooks:Get.',
      args: { id: t.arg.id({ required: true, description: webhookId }) },
      resolve: (_root, { id }, { loaders }) => loaders.webhooks.load(id),
    }),
  )
  builder.queryField('webhooks', (t) =>
    t.field({
      type: connection,
      description: 'The webhooks of a project, newest first. Permission: webhooks:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        callbacks: t.arg.boolean({
          description:
            'Whether the callbacks of generations and tool calls are listed instead. Default: false.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, callbacks, ...args }, { ctx }) =>
        page(args, (p) => listWebhooks(ctx, { projectId, callbacks, page: p })),
    }),
  )
}

function addPayloads({ builder, Webhook }: Refs) {
  return {
    plain: (name: string) =>
      builder.objectRef<{ webhook: Webhook }>(name).implement({
        description: 'The webhook after the mutation.',
        fields: (t) => ({
          webhook: t.expose('webhook', { type: Webhook, description: 'The webhook after the mutation.' }),
        }),
      }),
    withSecret: (name: string) =>
      builder.objectRef<{ webhook: Webhook; secret: string }>(name).implement({
        description: 'The webhook and its signing secret.',
        fields: (t) => ({
          webhook: t.expose('webhook', { type: Webhook, description: 'The webhook after the mutation.' }),
          secret: t.exposeString('secret', {
            description: 'The signing secret, which is shown only now; it begins with whsec_.',
          }),
        }),
      }),
  }
}

type Payloads = ReturnType<typeof addPayloads>

const meaning = {
  description: 'What the endpoint is for, at most 500 characters.',
  types: 'The types of the events to send, at most 100.',
  full: 'Whether payloads include the arguments of calls, writeOnly values masked.',
  ordered:
    'Whether one event is sent at a time, in the order of the feed; an event that fails holds up those after it.',
}

function addCreate(refs: Refs, { EventType }: EventTypes, payload: Payloads['withSecret']): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'createWebhook',
    description:
      'Creates a webhook: an endpoint that is sent the events of a project, each at least once. Permission: ' +
      'webhooks:Create, and events:Subscribe.',
    input: builder.inputType('CreateWebhookInput', {
      description: 'The webhook to create.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        url: t.string({
          required: true,
          description: 'The URL to which events are sent, http or https, at most 2,000 characters.',
        }),
        description: t.string({ description: meaning.description }),
        types: t.field({ type: [EventType], description: `${meaning.types} Default: all types.` }),
        full: t.boolean({ description: `${meaning.full} Default: false.` }),
        ordered: t.boolean({ description: `${meaning.ordered} Default: false.` }),
        after: t.string({
          description:
            'A cursor of the feed after which the webhook begins; "0": the beginning of the log. Default: now.',
        }),
      }),
    }),
    payload: payload('CreateWebhookPayload'),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => createWebhook(ctx, input as CreateWebhookInput),
  })
}

function addChanges(refs: Refs, { EventType }: EventTypes, payloads: Payloads): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'updateWebhook',
    description:
      'Changes a webhook. One that is enabled again is sent what it has missed. Permission: webhooks:Update.',
    input: builder.inputType('UpdateWebhookInput', {
      description: 'The changes to make.',
      fields: (t) => ({
        webhookId: t.id({ required: true, description: webhookId }),
        expectedVersion: t.int({ description: expectedVersion }),
        url: t.string({ description: 'The URL to which events are sent. Default: unchanged.' }),
        description: t.string({
          description: `${meaning.description} Left out: unchanged; null: none.`,
        }),
        types: t.field({
          type: [EventType],
          description: `${meaning.types} Left out: unchanged; null: all types.`,
        }),
        full: t.boolean({ description: `${meaning.full} Default: unchanged.` }),
        ordered: t.boolean({ description: `${meaning.ordered} Default: unchanged.` }),
        enabled: t.boolean({
          description:
            'Whether the webhook is sent events; while it is disabled it keeps its place in the log. Default: unchanged.',
        }),
      }),
    }),
    payload: payloads.plain('UpdateWebhookPayload'),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ webhook: await updateWebhook(ctx, input as UpdateWebhookInput) }),
  })
  addRecipients(refs, payloads.plain('SetWebhookRecipientsPayload'))
  const one = (name: string, what: string) =>
    builder.inputType(name, {
      description: what,
      fields: (t) => ({ webhookId: t.id({ required: true, description: webhookId }) }),
    })
  addMutation(refs, {
    name: 'deleteWebhook',
    description: 'Deletes a webhook and its deliveries; nothing more is sent. Permission: webhooks:Delete.',
    input: one('DeleteWebhookInput', 'The webhook to delete.'),
    payload: builder.objectRef<{ id: string }>('DeleteWebhookPayload').implement({
      description: 'The webhook that was deleted.',
      fields: (t) => ({ deletedId: t.exposeID('id', { description: 'The id of the deleted webhook.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => {
      await deleteWebhook(ctx, input)
      return { id: input.webhookId }
    },
  })
  addMutation(refs, {
    name: 'rotateWebhookSecret',
    description:
      'Sets a new signing secret; for 24 hours deliveries are signed with the previous one too. Permission: webhooks:Update.',
    input: one('RotateWebhookSecretInput', 'The webhook whose secret is replaced.'),
    payload: payloads.withSecret('RotateWebhookSecretPayload'),
    errors: ['NotFoundError'],
    run: (ctx, input) => rotateWebhookSecret(ctx, input),
  })
}

function addSending(
  refs: Refs,
  { EventType }: EventTypes,
  DeliveryAnswer: ReturnType<typeof addWebhookTypes>['DeliveryAnswer'],
): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'replayWebhook',
    description:
      'Sends a part of the log to a webhook again, with the ids that the events had; at most five at a time. ' +
      'Permission: webhooks:Send.',
    input: builder.inputType('ReplayWebhookInput', {
      description: 'The part of the log to send again.',
      fields: (t) => ({
        webhookId: t.id({ required: true, description: webhookId }),
        after: t.string({
          required: true,
          description: 'A cursor of the feed after which the replay begins; "0": the beginning of the log.',
        }),
        until: t.string({ description: 'The cursor of the last event to send. Default: the newest event.' }),
        types: t.field({
          type: [EventType],
          description: `${meaning.types} Default: the types of the webhook.`,
        }),
      }),
    }),
    payload: builder.objectRef<{ replayId: string }>('ReplayWebhookPayload').implement({
      description: 'The replay that was started.',
      fields: (t) => ({
        replayId: t.exposeID('replayId', { description: 'The id of the replay; it begins with whr_.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError', 'LimitReachedError'],
    run: (ctx, input) => replayWebhook(ctx, input),
  })
  addMutation(refs, {
    name: 'redeliverWebhook',
    description:
      'Sends one delivery again at once, also one that was accepted, with new retries. Permission: webhooks:Send.',
    input: builder.inputType('RedeliverWebhookInput', {
      description: 'The delivery to send again.',
      fields: (t) => ({
        deliveryId: t.id({ required: true, description: 'The id of the delivery; it begins with whd_.' }),
      }),
    }),
    payload: builder.objectRef<{ delivery: Delivery }>('RedeliverWebhookPayload').implement({
      description: 'The delivery after the mutation.',
      fields: (t) => ({
        delivery: t.expose('delivery', {
          type: refs.WebhookDelivery,
          description: 'The delivery, which will be sent again.',
        }),
      }),
    }),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ delivery: await redeliverWebhook(ctx, input) }),
  })
  addMutation(refs, {
    name: 'testWebhook',
    description:
      'Sends a message of the type webhook.test, or a made-up event of a type, to the endpoint now and returns its answer. Permission: webhooks:Send.',
    input: builder.inputType('TestWebhookInput', {
      description: 'The webhook to test.',
      fields: (t) => ({
        webhookId: t.id({ required: true, description: webhookId }),
        type: t.field({
          type: EventType,
          description:
            'The type of the event to make up; the message has test: true and ids of nothing. Default: webhook.test.',
        }),
      }),
    }),
    payload: builder.objectRef<{ answer: Answer }>('TestWebhookPayload').implement({
      description: 'The result of the test.',
      fields: (t) => ({
        answer: t.expose('answer', { type: DeliveryAnswer, description: 'What the endpoint answered.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({ answer: await testWebhook(ctx, input) }),
  })
}
