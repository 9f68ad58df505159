/** Slack in GraphQL: the integration of a project, and the links of its users. */
import {
  getSlackIntegration,
  listSlackUsers,
  disabledReason,
  followerStatus,
} from '../../../domain/followers/index.ts'
import { principalField } from './principals.ts'
import type { Refs } from '../builder/refs.ts'

export function addSlack(refs: Refs): void {
  const { builder } = refs
  addUserType(refs)
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

function addUserType(refs: Refs): void {
  refs.SlackUser.implement({
    description: 'The link of a Slack user to the principal whose votes its presses are.',
    fields: (t) => ({
      slackUserId: t.exposeID('slackUserId', {
        description: 'The id of the Slack user, such as U0123456789.',
      }),
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

function addIntegrationType(refs: Refs): void {
  refs.SlackIntegration.implement({
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
      status: t.expose('status', {
        type: refs.shapes.choice(followerStatus),
        description: 'Whether questions are posted.',
      }),
      disabledReason: t.expose('disabledReason', {
        type: refs.shapes.choice(disabledReason),
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
        type: [refs.SlackUser],
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
