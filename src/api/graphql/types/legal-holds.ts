/** Legal holds and removals of the data of a requester, in GraphQL. */
import {
  holdKinds,
  liftLegalHold,
  listDataRemovals,
  listLegalHolds,
  putLegalHold,
  removeRequesterData,
  type DataRemoval,
  type LegalHold,
} from '../../../domain/retention/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import { optionalPrincipal, principalField } from './principals.ts'
import type { RetentionTypes } from './retention.ts'

const projectDescription = 'The id of the project. Default: the project of the API key.'

export function addLegalHolds(refs: Refs): void {
  const Hold = holdType(refs)
  const { builder } = refs
  const connection = connectionOf(Hold, 'LegalHold')
  builder.queryField('legalHolds', (t) =>
    t.field({
      type: connection,
      description: 'The legal holds of a project, newest first. Permission: retention:Get.',
      args: {
        projectId: t.arg.id({ description: projectDescription }),
        active: t.arg.boolean({
          description: 'Whether only holds that were not lifted are returned. Default: false.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, active, ...args }, { ctx }) =>
        page(args, (p) => listLegalHolds(ctx, { projectId, active, page: p })),
    }),
  )
  const payload = (name: string) =>
    builder.objectRef<{ hold: LegalHold }>(name).implement({
      description: 'The legal hold after the mutation.',
      fields: (t) => ({
        hold: t.expose('hold', { type: Hold, description: 'The legal hold after the mutation.' }),
      }),
    })
  addMutation(refs, {
    name: 'putLegalHold',
    description:
      'Keeps a generation with all above and below it, everything of a requester, or the whole project, until it is lifted: ' +
      'once this responds nothing of it is removed. A repeat returns the hold that is there. Permission: retention:Hold.',
    input: builder.inputType('PutLegalHoldInput', {
      description: 'What to keep: a generation, what a requester has left, or else the whole project.',
      fields: (t) => ({
        projectId: t.id({ description: projectDescription }),
        generationId: t.id({ description: 'The id of the generation to keep; it begins with gen_.' }),
        requesterId: t.id({
          description:
            'The id of the API key or person whose data to keep, which begins with key_ or usr_; not with generationId.',
        }),
        reason: t.string({ required: true, description: 'Why, at most 2,000 characters.' }),
      }),
    }),
    payload: payload('PutLegalHoldPayload'),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ hold: await putLegalHold(ctx, input) }),
  })
  addMutation(refs, {
    name: 'liftLegalHold',
    description:
      'Ends a legal hold: the next sweep removes what is due. Idempotent. Permission: retention:Hold.',
    input: builder.inputType('LiftLegalHoldInput', {
      description: 'The hold to end.',
      fields: (t) => ({
        holdId: t.id({ required: true, description: 'The id of the hold; it begins with hold_.' }),
      }),
    }),
    payload: payload('LiftLegalHoldPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ hold: await liftLegalHold(ctx, input) }),
  })
}

function holdType(refs: Refs) {
  const { builder } = refs
  const Kind = builder.enumType('LegalHoldKind', {
    description: 'What a legal hold keeps.',
    values: described(holdKinds, {
      PROJECT: 'The hold is for all of the project.',
      RUN: 'The hold is for one root generation with all below it.',
      REQUESTER: 'The hold is for all that one API key or person has requested.',
    }),
  })
  return builder.objectRef<LegalHold>('LegalHold').implement({
    description: 'Something that is not removed until the hold is lifted.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the hold; it begins with hold_.' }),
      kind: t.expose('kind', { type: Kind, description: 'What the hold keeps.' }),
      targetId: t.exposeID('target', { description: 'The id of the project, generation or requester.' }),
      reason: t.exposeString('reason', { description: 'The reason that was given.' }),
      putBy: t.field(principalField(refs, (row) => row.putBy, 'The principal that put the hold.')),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the hold was put.' }),
      liftedAt: t.expose('liftedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the hold was lifted; null before.',
      }),
      liftedBy: t.field(
        optionalPrincipal(refs, (row) => row.liftedBy, 'The principal that lifted the hold; null before.'),
      ),
    }),
  })
}

export function addDataRemovals(refs: Refs, { Counts, Kept }: RetentionTypes): void {
  const { builder } = refs
  const Removal = builder.objectRef<DataRemoval>('DataRemoval').implement({
    description: 'A request to remove the data of one requester, and its result.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the request; it begins with rem_.' }),
      requesterId: t.exposeID('requester', {
        description: 'The id of the API key or person whose data goes.',
      }),
      requestedBy: t.field(
        principalField(refs, (row) => row.requestedBy, 'The principal that requested the removal.'),
      ),
      reason: t.exposeString('reason', {
        nullable: true,
        description: 'The reason that was given; null for none.',
      }),
      removed: t.expose('removed', { type: Counts, description: 'The numbers of what was removed so far.' }),
      kept: t.expose('kept', {
        type: Kept,
        nullable: true,
        description: 'The numbers of what stays, by reason; null before the first sweep.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the removal was requested.' }),
      finishedAt: t.expose('finishedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the removal ended; null while some of the data is too young.',
      }),
    }),
  })
  builder.queryField('dataRemovals', (t) =>
    t.field({
      type: connectionOf(Removal, 'DataRemoval'),
      description: 'The removals of the data of a requester, newest first. Permission: retention:Get.',
      args: { projectId: t.arg.id({ description: projectDescription }), ...t.arg.connectionArgs() },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listDataRemovals(ctx, { projectId, page: p })),
    }),
  )
  addMutation(refs, {
    name: 'removeRequesterData',
    description:
      'Removes the finished generations, the calls outside generations and the files of one requester; what ended within 24 ' +
      'hours follows. A line of each call and verdict stays, without arguments and results, and so do audit entries. ' +
      'Permission: retention:Remove.',
    input: builder.inputType('RemoveRequesterDataInput', {
      description: 'Whose data to remove.',
      fields: (t) => ({
        projectId: t.id({ description: projectDescription }),
        requesterId: t.id({
          required: true,
          description: 'The id of the API key or person; it begins with key_ or usr_.',
        }),
        reason: t.string({ description: 'Why, at most 2,000 characters.' }),
      }),
    }),
    payload: builder.objectRef<{ removal: DataRemoval }>('RemoveRequesterDataPayload').implement({
      description: 'The request, which is served in the background.',
      fields: (t) => ({
        removal: t.expose('removal', { type: Removal, description: 'The request after the mutation.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ removal: await removeRequesterData(ctx, input) }),
  })
}
