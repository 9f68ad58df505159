/** Legal holds and removals of the data of a requester, in GraphQL. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { holdKinds, listDataRemovals, listLegalHolds } from '../../../domain/retention/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { optionalPrincipal, principalField } from './principals.ts'
import type { RetentionTypes } from './retention.ts'
import { addList } from '../builder/queries.ts'

export function addLegalHolds(refs: Refs): void {
  addHoldType(refs)
  const connection = connectionOf(refs.LegalHold, 'LegalHold')
  addList(refs, {
    name: 'legalHolds',
    type: connection,
    description: 'The legal holds of a project, newest first. Permission: retention:Get.',
    args: {
      active: optional(
        z.boolean().describe('Whether only holds that were not lifted are returned.'),
        'false',
      ),
    },
    list: listLegalHolds,
  })
}

function addHoldType(refs: Refs): void {
  const { builder } = refs
  const Kind = builder.enumType('LegalHoldKind', {
    description: 'What a legal hold keeps.',
    values: described(holdKinds, {
      PROJECT: 'The hold is for all of the project.',
      RUN: 'The hold is for one root generation with all below it.',
      REQUESTER: 'The hold is for all that one API key or person has requested.',
    }),
  })
  refs.LegalHold.implement({
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
  refs.DataRemoval.implement({
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
  addList(refs, {
    name: 'dataRemovals',
    type: connectionOf(refs.DataRemoval, 'DataRemoval'),
    description: 'The removals of the data of a requester, newest first. Permission: retention:Get.',
    list: listDataRemovals,
  })
}
