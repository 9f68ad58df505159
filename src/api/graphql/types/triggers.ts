/** Triggers in GraphQL. */
import * as triggers from '../../../domain/triggers/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addTriggerType } from './trigger-object.ts'

export function addTriggers(refs: Refs): void {
  addTriggerType(refs)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Trigger, 'Trigger')
  builder.queryField('trigger', (t) =>
    t.field({
      type: refs.Trigger,
      nullable: true,
      description: 'A trigger by id; null when it does not exist for this API key. Permission: triggers:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the trigger; it begins with trg_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.triggers.load(id),
    }),
  )
  builder.queryField('triggers', (t) =>
    t.field({
      type: connection,
      description: 'The triggers of a project, newest first. Permission: triggers:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        agentId: t.arg.id({ description: 'The id of the agent whose triggers are listed. Default: all.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, agentId, ...args }, { ctx }) =>
        page(args, (p) => triggers.listTriggers(ctx, { projectId, agentId, page: p })),
    }),
  )
}
