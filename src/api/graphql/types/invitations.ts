/** Invitations of people in GraphQL. */
import { createInvitation, type Invitation } from '../../../domain/access/index.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import type { RoleEnum } from './keys.ts'

export function addInvitations(refs: Refs, Role: RoleEnum): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'createInvitation',
    description:
      'Invites a person: creates an API key with an unknown secret, and a link with which one person takes it ' +
      'within seven days, as a secret or by joining with an account of the identity provider. revokeApiKey withdraws the invitation. Permission: keys:Create.',
    input: builder.inputType('CreateInvitationInput', {
      description: 'The API key to which a person is invited.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({ required: true, description: 'The name of the person, 1 to 100 characters.' }),
        role: t.field({ type: Role, required: true, description: 'The role of the API key.' }),
        expiresAt: t.field({
          type: 'DateTime',
          description:
            'When the API key expires. Default: with the API key that creates it, or never. The link ends with it.',
        }),
      }),
    }),
    payload: builder.objectRef<Invitation>('CreateInvitationPayload').implement({
      description: 'The API key, and what the person needs to take it, which is shown only here.',
      fields: (t) => ({
        apiKey: t.expose('apiKey', { type: refs.ApiKey, description: 'The API key that was created.' }),
        link: t.exposeString('link', { description: 'The URL of a page that asks for the code.' }),
        oneTimeCode: t.exposeString('oneTimeCode', {
          description:
            'The code that the page asks for, as XXXX-XXXX. Send it another way than the link: who has both has the ' +
            'API key. Five wrong codes end the invitation.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => createInvitation(ctx, input),
  })
}
