/** Legal holds and removals of the data of a requester, in GraphQL. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { listDataRemovals, listLegalHolds, legalHold, dataRemoval } from '../../../domain/retention/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addLegalHolds(refs: Refs): void {
  refs.shapes.implement(refs.LegalHold, legalHold)
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

export function addDataRemovals(refs: Refs): void {
  refs.shapes.implement(refs.DataRemoval, dataRemoval)
  addList(refs, {
    name: 'dataRemovals',
    type: connectionOf(refs.DataRemoval, 'DataRemoval'),
    description: 'The removals of the data of a requester, newest first. Permission: retention:Get.',
    list: listDataRemovals,
  })
}
