/** Triggers in GraphQL. */
import { hookPath, ticksAfter, triggerShape } from '../../../domain/triggers/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { idShape, optional } from '../../../core/shapes.ts'
import * as triggers from '../../../domain/triggers/index.ts'
import { addById, addList } from '../builder/queries.ts'

const shownTimes = 3

function addTriggerType(refs: Refs): void {
  refs.shapes.node(refs.Trigger, 'trigger', triggerShape, (t) => ({
    enabled: t.boolean({
      description: 'Whether the trigger starts generations.',
      resolve: ({ status }) => status === 'ENABLED',
    }),
    url: t.string({
      nullable: true,
      description: 'Where signed messages are sent with POST; null for a schedule.',
      resolve: ({ id, kind }, _args, { ctx }) =>
        kind === 'HOOK' ? `${ctx.publicUrl()}${hookPath}${id}` : null,
    }),
    nextTimes: t.field({
      type: ['DateTime'],
      description: 'The next times of a schedule that is enabled, at most 3.',
      resolve: ({ cron, timeZone, nextAt }) => {
        if (!cron || !timeZone || !nextAt) return []
        return [nextAt, ...ticksAfter(cron, timeZone, nextAt, shownTimes - 1)]
      },
    }),
  }))
}

/** Triggers in GraphQL. */
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
