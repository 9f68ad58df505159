/** Webhooks in GraphQL: queries and mutations. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import * as followers from '../../../domain/followers/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import type { Refs } from '../builder/refs.ts'
import { addWebhookTypes } from './webhook-objects.ts'
import { addById, addList } from '../builder/queries.ts'

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
