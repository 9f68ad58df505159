/**
 * The queries of approvals in GraphQL: lists for an inbox and of what was decided, and their numbers; the errors about them; and
 * grants, verdicts that also answer later calls.
 */
import { optional, idShape } from '../../../core/shapes.ts'
import { z } from 'zod'
import {
  approvalFilter,
  approvalGrouping,
  approvalOrder,
  listApprovals,
  tallyApprovals,
  type Approval,
  type ApprovalOrder,
  approvalGroup,
  approvalTally,
  isRefusal,
  listGrants,
  grantView,
} from '../../../domain/approvals/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'
import { addApprovalType } from './approval-objects.ts'

function addApprovalQueries(refs: Refs): void {
  const connection = connectionOf(refs.Approval, 'Approval')
  addById(refs, {
    name: 'approval',
    type: refs.Approval,
    kind: 'approval',
    words: 'An approval',
    permission: 'approvals:Get',
    action: shown.approval,
    load: ({ approvals }, id) => approvals.load(id),
  })
  addList(refs, {
    name: 'approvals',
    type: connection,
    description:
      'The approvals of a project, newest first unless orderBy says otherwise. Permission: approvals:List.',
    args: {
      expiringBefore: z.date().nullish().describe('Only approvals that expire at this time or earlier.'),
      forMe: optional(
        z.boolean().describe('Whether to list only the approvals that the caller may decide now.'),
        'false',
      ),
      orderBy: optional(
        approvalOrder.describe('The order of the list; EXPIRES_AT only with statuses: [PENDING] or forMe.'),
        'CREATED_AT',
      ),
      filter: approvalFilter.nullish().describe('Only approvals that match all given fields.'),
    },
    momentOf: ({ orderBy }) => placesOf[orderBy ?? 'CREATED_AT'],
    action: shown.approval,
    list: listApprovals,
  })
  addTally(refs)
}

/** The time of each order by which its cursors say a place. */
const placesOf: Record<ApprovalOrder, (approval: Approval) => Date> = {
  CREATED_AT: ({ createdAt }) => createdAt,
  EXPIRES_AT: ({ expiresAt }) => expiresAt,
  SETTLED_AT: ({ settledAt }) => settledAt!,
}

function addTally(refs: Refs): void {
  const { builder, shapes } = refs
  shapes.implement(refs.ApprovalGroup, approvalGroup, (t) => ({
    agent: t.field({
      type: refs.Agent,
      nullable: true,
      description:
        'The agent of the group; null in groups of tools, for direct calls, and when it was deleted or is hidden from this API key.',
      resolve: ({ by, id }, _args, { loaders }) => (by === 'AGENT' && id ? loaders.agents.load(id) : null),
    }),
  }))
  builder.queryField('approvalTally', (t) =>
    t.field({
      type: shapes.object(approvalTally),
      description:
        'How many approvals a list has, by status and, when asked for, by tool or agent. Permission: approvals:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({
          type: shapes.part(approvalFilter),
          description: 'Only approvals that match all given fields.',
        }),
        by: t.arg({
          type: shapes.choice(approvalGrouping),
          description: 'What the groups are. Default: no groups.',
        }),
      },
      resolve: (_root, args, { ctx }) => tallyApprovals(ctx, args),
    }),
  )
}

/** Approvals in GraphQL, and the errors about them. */
export function addApprovals(refs: Refs): void {
  addApprovalType(refs)
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
