/** Grants in GraphQL: verdicts that also answer later calls. */
import { idShape, optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { isRefusal, listGrants, grantView } from '../../../domain/approvals/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

/** Adds the type and queries of grants. */
export function addGrants(refs: Refs): void {
  addGrantType(refs)
  addGrantQueries(refs)
}

function addGrantType(refs: Refs): void {
  refs.shapes.node(refs.Grant, 'grant', grantView, (t) => ({
    refuses: t.boolean({
      description: 'Whether calls that the grant covers are rejected, instead of passing the gate.',
      resolve: isRefusal,
    }),
  }))
}

function addGrantQueries(refs: Refs): void {
  const connection = connectionOf(refs.Grant, 'Grant')
  addList(refs, {
    name: 'grants',
    type: connection,
    description: 'The grants of a project, newest first. Permission: grants:List.',
    args: {
      toolId: idShape('Only grants for the tool with this id.').nullish(),
      active: optional(
        z.boolean().describe('Whether only grants that can still answer a call are returned.'),
        'false',
      ),
    },
    list: listGrants,
  })
}
