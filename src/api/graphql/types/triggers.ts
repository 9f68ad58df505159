/** Triggers in GraphQL. */
import { hookPath, ticksAfter, triggerKinds } from '../../../domain/triggers/index.ts'
import { hasPrefix, connectionOf } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { principalField } from './principals.ts'
import { idShape, optional } from '../../../core/shapes.ts'
import * as triggers from '../../../domain/triggers/index.ts'
import { addById, addList } from '../builder/queries.ts'

const shownTimes = 3

function addTriggerType(refs: Refs): void {
  const { builder } = refs
  const Kind = builder.enumType('TriggerKind', {
    description: 'What starts the generations of a trigger.',
    values: described(triggerKinds, {
      SCHEDULE: 'The times of a cron line.',
      HOOK: 'Signed messages to a URL.',
    }),
  })
  refs.Trigger.implement({
    description: 'What starts generations of an agent by itself: a schedule, or a URL for signed messages.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'trg_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the trigger; it begins with trg_.' }),
      agentId: t.exposeID('agentId', { description: 'The id of the agent.' }),
      name: t.exposeString('name', { description: 'What the trigger is called.' }),
      kind: t.expose('kind', { type: Kind, description: 'What starts the generations of the trigger.' }),
      enabled: t.boolean({
        description: 'Whether the trigger starts generations.',
        resolve: ({ status }) => status === 'ENABLED',
      }),
      prompt: t.exposeString('prompt', { description: 'The prompt of a schedule, the template of a URL.' }),
      cron: t.exposeString('cron', {
        nullable: true,
        description: 'The times of a schedule; null for a URL.',
      }),
      timeZone: t.exposeString('timeZone', {
        nullable: true,
        description: 'The IANA time zone in which cron is read; null for a URL.',
      }),
      url: t.string({
        nullable: true,
        description: 'Where signed messages are sent with POST; null for a schedule.',
        resolve: ({ id, kind }, _args, { ctx }) =>
          kind === 'HOOK' ? `${ctx.publicUrl()}${hookPath}${id}` : null,
      }),
      previousSecretUntil: t.expose('previousUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'The time until which messages may be signed with the previous secret; null when it does not count.',
      }),
      requestedBy: t.field(
        principalField(
          refs,
          (row) => row.requestedBy,
          'The principal that saved it last, with whose rights its generations start.',
        ),
      ),
      nextTimes: t.field({
        type: ['DateTime'],
        description: 'The next times of a schedule that is enabled, at most 3.',
        resolve: ({ cron, timeZone, nextAt }) => {
          if (!cron || !timeZone || !nextAt) return []
          return [nextAt, ...ticksAfter(cron, timeZone, nextAt, shownTimes - 1)]
        },
      }),
      lastGeneration: t.field({
        type: refs.Generation,
        nullable: true,
        description:
          'The generation that was started last; null when there was none, or it is hidden from this API key.',
        resolve: ({ lastRunId }, _args, { loaders }) =>
          lastRunId ? loaders.generations.load(lastRunId) : null,
      }),
      lastAt: t.expose('lastAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the trigger last started a generation or failed to; null when it never has.',
      }),
      lastError: t.exposeString('lastError', {
        nullable: true,
        description: 'Why the trigger last started nothing; null when it did.',
      }),
      missed: t.exposeInt('missed', {
        description:
          'The number of times before the last one at which no server ran; 100 means 100 or more. One generation is ' +
          'started for all of them.',
      }),
      version: t.exposeInt('version', { description: 'The number of changes, from 1; for expectedVersion.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the trigger was created.' }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When the trigger was last changed.',
      }),
    }),
  })
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
