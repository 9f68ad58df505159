/** Slack in GraphQL: the integration of a project, and the links of its users. */
import {
  getSlackIntegration,
  listSlackUsers,
  slackUser,
  integrationShape,
} from '../../../domain/followers/index.ts'
import type { Refs } from '../builder/refs.ts'

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
