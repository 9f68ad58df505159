/** Webhooks in GraphQL: queries and mutations. */
import * as followers from '../../../domain/followers/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import type { Refs } from '../builder/refs.ts'
import { addWebhookTypes } from './webhook-objects.ts'

export function addWebhooks(refs: Refs, events: EventTypes): void {
  addWebhookTypes(refs, events)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Webhook, 'Webhook')
  builder.queryField('webhook', (t) =>
    t.field({
      type: refs.Webhook,
      nullable: true,
      description: 'A webhook by id; null when it does not exist for this API key. Permission: webhooks:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the webhook; it begins with whk_.' }) },
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
        page(args, (p) => followers.listWebhooks(ctx, { projectId, callbacks, page: p })),
    }),
  )
}
