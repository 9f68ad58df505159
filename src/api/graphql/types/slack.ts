/** Slack in GraphQL: the integration of a project, and the links of its users. */
import {
  deleteSlackIntegration,
  getSlackIntegration,
  linkSlackUser,
  listSlackUsers,
  setSlackIntegration,
  slackDisabledReasons,
  slackStatuses,
  testSlackIntegration,
  type SetSlackInput,
  type SlackIntegration,
  type SlackTrial,
  type SlackUser,
} from '../../../domain/followers/index.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import { principalField } from './principals.ts'
import type { Refs } from '../builder/refs.ts'

const projectId = 'The id of the project. Default: the project of the API key.'
const slackUserId = 'The id of the Slack user, such as U0123456789.'

export function addSlack(refs: Refs): void {
  const { builder } = refs
  const User = userType(refs)
  const Integration = integrationType(refs, User)
  builder.queryField('slackIntegration', (t) =>
    t.field({
      type: Integration,
      nullable: true,
      description: 'The Slack integration of a project; null when it has none. Permission: slack:Get.',
      args: { projectId: t.arg.id({ description: projectId }) },
      resolve: (_root, args, { ctx }) => getSlackIntegration(ctx, args),
    }),
  )
  addChanges(refs, Integration)
  addTrial(refs)
  addLink(refs, User)
}

function userType(refs: Refs) {
  const { builder } = refs
  return builder.objectRef<SlackUser>('SlackUser').implement({
    description: 'The link of a Slack user to the principal whose votes its presses are.',
    fields: (t) => ({
      slackUserId: t.exposeID('slackUserId', { description: slackUserId }),
      principalId: t.exposeID('principalId', {
        description: 'The id of the API key or person whose votes the presses are.',
      }),
      principal: t.field(
        principalField(refs, (row) => row.principalId, 'The principal whose votes the presses are.'),
      ),
      createdBy: t.exposeID('createdBy', { description: 'The id of the API key or person that linked it.' }),
      creator: t.field(principalField(refs, (row) => row.createdBy, 'The principal that linked it.')),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the Slack user was linked.' }),
    }),
  })
}

type UserType = ReturnType<typeof userType>

function integrationType(refs: Refs, User: UserType) {
  const { builder } = refs
  const Status = builder.enumType('SlackStatus', {
    description: 'Whether a Slack integration shows questions.',
    values: described(slackStatuses, {
      ENABLED: 'Questions are posted, and presses count.',
      DISABLED: 'Nothing is posted, presses do not count, and the place in the log is kept.',
    }),
  })
  const Reason = builder.enumType('SlackDisabledReason', {
    description: 'Why a Slack integration is disabled.',
    values: described(slackDisabledReasons, {
      BY_REQUEST: 'A request disabled it.',
      TOKEN_REVOKED: 'Slack does not accept the bot token any more.',
      REFUSED: 'Slack refuses the channel, or the token lacks a scope; `fault` says which.',
      BEHIND: 'Retention removed events that it had not read for days.',
    }),
  })
  return builder.objectRef<SlackIntegration>('SlackIntegration').implement({
    description:
      'The channel of Slack in which the questions of a project are posted, with buttons to decide. Bot token and ' +
      'signing secret cannot be read.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the integration; it begins with slk_.' }),
      teamId: t.exposeID('teamId', { description: 'The id of the workspace.' }),
      teamName: t.exposeString('teamName', {
        description: 'The name of the workspace when the token was set.',
      }),
      channel: t.exposeString('channel', { description: 'The id of the channel.' }),
      showArguments: t.exposeBoolean('showArguments', {
        description: 'Whether messages include the arguments of calls, writeOnly values masked.',
      }),
      status: t.expose('status', { type: Status, description: 'Whether questions are posted.' }),
      disabledReason: t.expose('disabledReason', {
        type: Reason,
        nullable: true,
        description: 'Why the integration is disabled; null when it is not.',
      }),
      disabledAt: t.expose('disabledAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the integration was disabled; null when it is not.',
      }),
      fault: t.exposeString('fault', {
        nullable: true,
        description: 'The error that Slack returned last; null after a success.',
      }),
      verifiedAt: t.expose('verifiedAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When a press of the button of testSlackIntegration was last received with a valid signature; null when none was ' +
          'since a secret or the channel was set.',
      }),
      interactionsUrl: t.string({
        description: 'The URL to enter in the Slack app as Request URL of its interactivity.',
        resolve: (_integration, _args, { ctx }) => `${ctx.publicUrl()}/slack/interactions`,
      }),
      users: t.field({
        type: [User],
        description: 'The linked Slack users, by id, at most 200.',
        resolve: (integration, _args, { ctx }) => listSlackUsers(ctx, integration.projectId),
      }),
      createdBy: t.exposeID('createdBy', {
        description: 'The id of the API key or person that created the integration.',
      }),
      creator: t.field(
        principalField(refs, (row) => row.createdBy, 'The principal that created the integration.'),
      ),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the integration was created.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When the integration was last changed.',
      }),
    }),
  })
}

function addChanges(refs: Refs, Integration: ReturnType<typeof integrationType>): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'setSlackIntegration',
    description:
      'Sets the Slack integration of a project; fields that are left out stay, and a new bot token is tried with ' +
      "Slack first. Only an operator's API key may set botToken and signingSecret, with which a program can vote for " +
      'every linked user. Permission: slack:Set, and events:Subscribe.',
    input: builder.inputType('SetSlackIntegrationInput', {
      description: 'The settings of a Slack integration.',
      fields: (t) => ({
        projectId: t.id({ description: projectId }),
        botToken: t.string({
          description:
            'The bot token of the Slack app, with the scope chat:write. Required for a new integration.',
        }),
        signingSecret: t.string({
          description: 'The signing secret of the Slack app. Required for a new integration.',
        }),
        channel: t.string({
          description:
            'The id of the channel, of which the app is a member, such as C0123456789. Required for a new integration.',
        }),
        showArguments: t.boolean({
          description:
            'Whether messages include arguments, writeOnly values masked. Default: unchanged, at first false.',
        }),
        enabled: t.boolean({
          description:
            'Whether questions are posted. Default: unchanged; a new token or channel enables what Slack has disabled.',
        }),
      }),
    }),
    payload: builder.objectRef<{ integration: SlackIntegration }>('SetSlackIntegrationPayload').implement({
      description: 'The Slack integration after the mutation.',
      fields: (t) => ({
        integration: t.expose('integration', {
          type: Integration,
          description: 'The Slack integration after the mutation.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ integration: await setSlackIntegration(ctx, input as SetSlackInput) }),
  })
  addMutation(refs, {
    name: 'deleteSlackIntegration',
    description:
      'Deletes the Slack integration of a project with the links of its users; its messages stay, and their buttons ' +
      'decide nothing. Permission: slack:Delete.',
    input: builder.inputType('DeleteSlackIntegrationInput', {
      description: 'The project whose Slack integration is deleted.',
      fields: (t) => ({ projectId: t.id({ description: projectId }) }),
    }),
    payload: builder.objectRef<{ id: string }>('DeleteSlackIntegrationPayload').implement({
      description: 'The Slack integration that was deleted.',
      fields: (t) => ({ deletedId: t.exposeID('id', { description: 'The id of the deleted integration.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ id: await deleteSlackIntegration(ctx, input) }),
  })
}

function addTrial(refs: Refs): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'testSlackIntegration',
    description:
      'Tries the bot token and posts a message with a button in the channel; its press sets verifiedAt, with the event ' +
      'SLACK_SET. Works for a disabled integration too. Permission: slack:Set.',
    input: builder.inputType('TestSlackIntegrationInput', {
      description: 'The project whose Slack integration is tried.',
      fields: (t) => ({ projectId: t.id({ description: projectId }) }),
    }),
    payload: builder.objectRef<SlackTrial>('TestSlackIntegrationPayload').implement({
      description: 'The answers of Slack to a test.',
      fields: (t) => ({
        tokenFault: t.exposeString('tokenFault', {
          nullable: true,
          description: 'The error of Slack about the bot token; null when it is valid.',
        }),
        channelFault: t.exposeString('channelFault', {
          nullable: true,
          description:
            'The error of Slack about the message; null when it was posted, and for an invalid token.',
        }),
      }),
    }),
    errors: ['NotFoundError'],
    run: (ctx, input) => testSlackIntegration(ctx, input),
  })
}

function addLink(refs: Refs, User: UserType): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'linkSlackUser',
    description:
      "Lets the presses of a Slack user count as votes of a principal. Only an operator's API key may name another " +
      'than itself and keys made with it. Permission: slack:LinkUser.',
    input: builder.inputType('LinkSlackUserInput', {
      description: 'The link of a Slack user.',
      fields: (t) => ({
        projectId: t.id({ description: projectId }),
        slackUserId: t.id({ required: true, description: slackUserId }),
        principalId: t.id({
          description: 'The id of the API key or person; when it is left out, the link is removed.',
        }),
      }),
    }),
    payload: builder.objectRef<{ user: SlackUser | null }>('LinkSlackUserPayload').implement({
      description: 'The link after the mutation.',
      fields: (t) => ({
        user: t.expose('user', {
          type: User,
          nullable: true,
          description: 'The link; null when it was removed.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({ user: await linkSlackUser(ctx, input) }),
  })
}
