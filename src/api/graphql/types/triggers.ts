/** Triggers in GraphQL. */
import { idShape, optional } from '../../../core/shapes.ts'
import * as triggers from '../../../domain/triggers/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addTriggerType } from './trigger-object.ts'
import { addById, addList } from '../builder/queries.ts'

export function addTriggers(refs: Refs): void {
  addTriggerType(refs)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.Trigger, 'Trigger')
  addById(refs, {
    name: 'trigger',
    type: refs.Trigger,
    kind: 'trigger',
    words: 'A trigger',
    permission: 'triggers:Get',
    load: (loaders, id) => loaders.triggers.load(id),
  })
  addList(refs, {
    name: 'triggers',
    type: connection,
    description: 'The triggers of a project, newest first. Permission: triggers:List.',
    args: {
      agentId: optional(idShape('The id of the agent whose triggers are listed.'), 'all'),
    },
    list: triggers.listTriggers,
  })
}
