/** Triggers in GraphQL: queries and mutations. */
import {
  createTrigger,
  deleteTrigger,
  listTriggers,
  rotateTriggerSecret,
  startTrigger,
  updateTrigger,
  type Trigger,
} from '../../../domain/triggers/index.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import { addTriggerType } from './trigger-object.ts'
import { expectedVersion } from './webhook-recipients.ts'

const triggerId = 'The id of the trigger; it begins with trg_.'
const meaning = {
  name: 'What the trigger is called, 1 to 100 characters.',
  prompt:
    'The prompt of each generation, at most 20,000 characters; without cron a template, in which a path in braces, such ' +
    'as {order.id}, stands for a value of the JSON body, and {.} for the whole body.',
  cron:
    'The times of a schedule: minute, hour, day of month, month and day of week, such as "30 9 * * MON-FRI", at most ' +
    'every five minutes.',
  timeZone: 'The IANA time zone in which cron is read.',
}

export function addTriggers(refs: Refs): void {
  addTriggerType(refs)
  addQueries(refs)
  addSaving(refs)
  addOthers(refs)
}

function addQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Trigger, 'Trigger')
  builder.queryField('trigger', (t) =>
    t.field({
      type: refs.Trigger,
      nullable: true,
      description: 'A trigger by id; null when it does not exist for this API key. Permission: triggers:Get.',
      args: { id: t.arg.id({ required: true, description: triggerId }) },
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
        page(args, (p) => listTriggers(ctx, { projectId, agentId, page: p })),
    }),
  )
}

function triggerPayload({ builder, Trigger }: Refs, name: string) {
  return builder.objectRef<{ trigger: Trigger }>(name).implement({
    description: 'The trigger after the mutation.',
    fields: (t) => ({
      trigger: t.expose('trigger', { type: Trigger, description: 'The trigger after the mutation.' }),
    }),
  })
}

function secretPayload({ builder, Trigger }: Refs, name: string) {
  return builder.objectRef<{ trigger: Trigger; secret: string | null }>(name).implement({
    description: 'The trigger and its signing secret.',
    fields: (t) => ({
      trigger: t.expose('trigger', { type: Trigger, description: 'The trigger after the mutation.' }),
      secret: t.exposeString('secret', {
        nullable: true,
        description:
          'The signing secret, which is shown only now; it begins with whsec_. Null for a schedule, which has none.',
      }),
    }),
  })
}

function addSaving(refs: Refs): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'createTrigger',
    description:
      'Creates a trigger of an agent: with cron a schedule, without it a URL for signed messages. Its generations start ' +
      'with the rights that the caller has at that time. Permission: triggers:Create, and generations:Start.',
    input: builder.inputType('CreateTriggerInput', {
      description: 'The trigger to create.',
      fields: (t) => ({
        agentId: t.id({ required: true, description: 'The id of the agent; it begins with agt_.' }),
        name: t.string({ required: true, description: meaning.name }),
        prompt: t.string({ required: true, description: meaning.prompt }),
        cron: t.string({ description: `${meaning.cron} Default: none, and a URL instead.` }),
        timeZone: t.string({ description: `${meaning.timeZone} Default: UTC.` }),
      }),
    }),
    payload: secretPayload(refs, 'CreateTriggerPayload'),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => createTrigger(ctx, input),
  })
  addMutation(refs, {
    name: 'updateTrigger',
    description:
      'Changes a trigger, whose generations start with the rights of the caller from then on. Times that passed while it ' +
      'was disabled are not made up for. Permission: triggers:Update, and generations:Start.',
    input: builder.inputType('UpdateTriggerInput', {
      description: 'The changes to make.',
      fields: (t) => ({
        triggerId: t.id({ required: true, description: triggerId }),
        expectedVersion: t.int({ description: expectedVersion }),
        name: t.string({ description: `${meaning.name} Default: unchanged.` }),
        prompt: t.string({ description: `${meaning.prompt} Default: unchanged.` }),
        cron: t.string({ description: `${meaning.cron} Default: unchanged.` }),
        timeZone: t.string({ description: `${meaning.timeZone} Default: unchanged.` }),
        enabled: t.boolean({ description: 'Whether the trigger starts generations. Default: unchanged.' }),
      }),
    }),
    payload: triggerPayload(refs, 'UpdateTriggerPayload'),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ trigger: await updateTrigger(ctx, input) }),
  })
}

function addOthers(refs: Refs): void {
  const { builder } = refs
  const one = (name: string, description: string) =>
    builder.inputType(name, {
      description,
      fields: (t) => ({ triggerId: t.id({ required: true, description: triggerId }) }),
    })
  addMutation(refs, {
    name: 'deleteTrigger',
    description: 'Deletes a trigger; the generations that it has started stay. Permission: triggers:Delete.',
    input: one('DeleteTriggerInput', 'The trigger to delete.'),
    payload: builder.objectRef<{ id: string }>('DeleteTriggerPayload').implement({
      description: 'The trigger that was deleted.',
      fields: (t) => ({ deletedId: t.exposeID('id', { description: 'The id of the deleted trigger.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => {
      await deleteTrigger(ctx, input)
      return { id: input.triggerId }
    },
  })
  addMutation(refs, {
    name: 'rotateTriggerSecret',
    description:
      'Sets a new signing secret of a URL; for 24 hours messages may be signed with the previous one too. Permission: ' +
      'triggers:Update.',
    input: one('RotateTriggerSecretInput', 'The trigger whose secret is replaced.'),
    payload: secretPayload(refs, 'RotateTriggerSecretPayload'),
    errors: ['ValidationError', 'NotFoundError'],
    run: (ctx, input) => rotateTriggerSecret(ctx, input),
  })
  addMutation(refs, {
    name: 'startTrigger',
    description:
      'Starts a generation of a trigger now, with the rights of the caller, also of one that is disabled. Permission: ' +
      'triggers:Get, and generations:Start.',
    input: builder.inputType('StartTriggerInput', {
      description: 'The trigger to start.',
      fields: (t) => ({
        triggerId: t.id({ required: true, description: triggerId }),
        body: t.field({
          type: 'JSON',
          description: 'What the template of a URL gets in place of the body of a message. Default: {}.',
        }),
      }),
    }),
    payload: builder.objectRef<{ generation: Generation }>('StartTriggerPayload').implement({
      description: 'The generation that was started.',
      fields: (t) => ({
        generation: t.expose('generation', {
          type: refs.Generation,
          description: 'The generation that was started.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({ generation: await startTrigger(ctx, input) }),
  })
}
