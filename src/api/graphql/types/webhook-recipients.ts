/** The recipients of a webhook in GraphQL: who is sent links and codes by way of it. */
import type { ObjectRef } from '@pothos/core'
import { setWebhookRecipients, type Webhook } from '../../../domain/followers/index.ts'
import type { BuilderTypes } from '../builder/builder.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export const webhookId = 'The id of the webhook; it begins with whk_.'
export const expectedVersion =
  'The version to change: with another current version the mutation returns ConflictError. Default: any version.'

export function addRecipients(refs: Refs, payload: ObjectRef<BuilderTypes, { webhook: Webhook }>): void {
  const { builder } = refs
  const Recipient = builder.inputType('WebhookRecipientInput', {
    description: 'An approver that gets links and one-time codes by way of a webhook.',
    fields: (t) => ({
      principalId: t.id({
        required: true,
        description: 'The id of the API key or person whose vote a verdict with the link is.',
      }),
      address: t.string({
        required: true,
        description: 'The address of the person for the endpoint, 1 to 320 characters.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'setWebhookRecipients',
    description:
      'Sets the recipients of a webhook: the approvers that get a link and a one-time code with each approval that ' +
      "allows verdictLinks. The endpoint can vote for them, so only an operator's API key may name other principals " +
      'than itself and keys made with it. ' +
      'Permission: webhooks:SetRecipients.',
    input: builder.inputType('SetWebhookRecipientsInput', {
      description: 'The recipients of a webhook.',
      fields: (t) => ({
        webhookId: t.id({ required: true, description: webhookId }),
        expectedVersion: t.int({ description: expectedVersion }),
        recipients: t.field({
          type: [Recipient],
          required: true,
          description: 'All recipients, at most 20; an empty list removes them.',
        }),
      }),
    }),
    payload,
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ webhook: await setWebhookRecipients(ctx, input) }),
  })
}
