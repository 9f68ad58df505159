/** Approvals in GraphQL, and the errors about them. */
import { addApprovalType } from './approval-objects.ts'
import { addApprovalQueries } from './approval-queries.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'

export function addApprovals(refs: Refs, gates: GateTypes): void {
  addApprovalType(refs, gates)
  addApprovalQueries(refs)
  addErrors(refs)
}

function addErrors({ builder, ...refs }: Refs): void {
  refs.ItemError.implement({
    description: 'The reason for which one item of several was refused.',
    interfaces: [refs.Error],
  })
  for (const name of ['ApprovalAlreadyDecidedError', 'ApprovalExpiredError', 'ConflictError'] as const)
    builder.objectField(refs.errors[name], 'approval', (t) =>
      t.field({
        type: refs.Approval,
        nullable: true,
        description:
          'The approval of the refused verdict, as it is now; null when the error is about another object.',
        resolve: (refusal, _args, { loaders }) => {
          const id = (refusal as { details: { conflictingId?: string } }).details.conflictingId
          return id?.startsWith('apr_') ? loaders.approvals.load(id) : null
        },
      }),
    )
}
