/** The queries of approvals in GraphQL: lists for an inbox and of what was decided, and their numbers. */
import type { InputRef } from '@pothos/core'
import {
  approvalGroupings,
  approvalOrders,
  countApprovals,
  listApprovals,
  tallyApprovals,
  type Approval,
  type ApprovalCounts,
  type ApprovalFilter,
  type ApprovalGroup,
  type ApprovalTally,
  type StatusNumbers,
} from '../../../domain/approvals/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import type { ApprovalEnums } from './approval-objects.ts'
import type { BuilderTypes } from '../builder/builder.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import { createdFields, joined } from '../builder/filters.ts'
import type { Refs } from '../builder/refs.ts'

type ApprovalOrder = (typeof approvalOrders)[number]

export function addApprovalQueries(refs: Refs, enums: ApprovalEnums): void {
  const { builder } = refs
  const connection = connectionOf(refs.Approval, 'Approval')
  const Order = builder.enumType('ApprovalOrder', {
    description: 'The order of a list of approvals.',
    values: described(approvalOrders, {
      CREATED_AT: 'The newest approval is first.',
      EXPIRES_AT: 'The approval that expires soonest is first.',
      SETTLED_AT: 'The approval that was settled last is first; pending ones are left out.',
    }),
  })
  const Filter = filterInput(refs, enums)
  builder.queryField('approval', (t) =>
    t.field({
      ...actionMark(shown.approval),
      type: refs.Approval,
      nullable: true,
      description:
        'An approval by id; null when it does not exist for this API key. Permission: approvals:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the approval; it begins with apr_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.approvals.load(id),
    }),
  )
  builder.queryField('approvals', (t) =>
    t.field({
      ...actionMark(listOf(shown.approval)),
      type: connection,
      description:
        'The approvals of a project, newest first unless orderBy says otherwise. Permission: approvals:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        status: t.arg({ type: enums.Status, description: 'Only approvals with this status.' }),
        toolId: t.arg.id({ description: 'Only approvals for the tool with this id.' }),
        agentId: t.arg.id({ description: 'Only approvals for the agent with this id.' }),
        expiringBefore: t.arg({
          type: 'DateTime',
          description: 'Only approvals that expire at this time or earlier.',
        }),
        forMe: t.arg.boolean({
          description: 'Whether to list only the approvals that the caller may decide now. Default: false.',
        }),
        orderBy: t.arg({
          type: Order,
          description:
            'The order of the list; EXPIRES_AT only with status PENDING or forMe. Default: CREATED_AT.',
        }),
        filter: t.arg({ type: Filter, description: 'Only approvals that match all given fields.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { first, last, after, before, status, toolId, agentId, ...input }, { ctx }) =>
        page(
          { first, last, after, before },
          (p) => {
            const statuses = status ? [status] : null
            const filter = joined<ApprovalFilter>(input.filter, { toolId, agentId, statuses })
            return listApprovals(ctx, { ...input, filter, page: p })
          },
          placesOf[input.orderBy ?? 'CREATED_AT'],
        ),
    }),
  )
  const Counts = builder.objectRef<ApprovalCounts>('ApprovalCounts').implement({
    description: 'Numbers of approvals of a project by status, each counted up to 10,000.',
    fields: (t) => ({
      pending: t.exposeInt('pending', { description: 'The number of pending approvals.' }),
      approved: t.exposeInt('approved', {
        description: 'The number of approvals approved in the last 24 hours.',
      }),
      rejected: t.exposeInt('rejected', {
        description: 'The number of approvals rejected in the last 24 hours.',
      }),
      expired: t.exposeInt('expired', {
        description: 'The number of approvals expired in the last 24 hours.',
      }),
    }),
  })
  builder.queryField('approvalCounts', (t) =>
    t.field({
      type: Counts,
      description: 'Numbers of approvals of a project by status. Permission: approvals:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        toolId: t.arg.id({ description: 'Only approvals for the tool with this id.' }),
        agentId: t.arg.id({ description: 'Only approvals for the agent with this id.' }),
      },
      resolve: (_root, args, { ctx }) => countApprovals(ctx, args),
    }),
  )
  addTally(refs, Filter)
}

/** The time of each order by which its cursors say a place. */
const placesOf: Record<ApprovalOrder, (approval: Approval) => Date> = {
  CREATED_AT: ({ createdAt }) => createdAt,
  EXPIRES_AT: ({ expiresAt }) => expiresAt,
  SETTLED_AT: ({ settledAt }) => settledAt!,
}

function filterInput({ builder }: Refs, { Status, Verdict }: ApprovalEnums) {
  return builder.inputType('ApprovalFilter', {
    description: 'Which approvals of a project are listed: those that match all given fields.',
    fields: (t) => ({
      statuses: t.field({
        type: [Status],
        description: 'Only approvals with one of these statuses. Default: any status.',
      }),
      toolId: t.id({ description: 'Only approvals for the tool with this id.' }),
      agentId: t.id({ description: 'Only approvals for the agent with this id.' }),
      requestedBy: t.id({ description: 'Only approvals of calls for the principal with this id.' }),
      decidedBy: t.id({ description: 'Only approvals for which the principal with this id voted.' }),
      verdict: t.field({
        type: Verdict,
        description:
          'Only approvals with a vote of this verdict, which is that of decidedBy when both are given.',
      }),
      search: t.string({
        description:
          'Only approvals with all these words, at most 200 characters, in the name or title of the tool, the name that the ' +
          'agent had, the shown arguments, or the votes; the last word may be a beginning, and letter case does not matter. ' +
          'The whole id of the approval, or of its call, generation, tool, agent or requester, finds it too. ' +
          'Approvals of earlier releases are found by the runtime name of the tool, by ids and by later votes.',
      }),
      ...createdFields(t, 'approvals'),
      settledAfter: t.field({
        type: 'DateTime',
        description: 'Only approvals that were settled at this time or later.',
      }),
      settledBefore: t.field({
        type: 'DateTime',
        description: 'Only approvals that were settled before this time.',
      }),
    }),
  })
}

function numbers<Row extends StatusNumbers>(t: PothosSchemaTypes.ObjectFieldBuilder<BuilderTypes, Row>) {
  const of = (status: keyof StatusNumbers, word: string) =>
    t.int({ description: `The number of ${word} approvals.`, resolve: (row) => row[status] })
  return {
    pending: of('PENDING', 'pending'),
    approved: of('APPROVED', 'approved'),
    rejected: of('REJECTED', 'rejected'),
    expired: of('EXPIRED', 'expired'),
    voided: of('VOIDED', 'void'),
  }
}

function addTally(refs: Refs, Filter: InputRef<ApprovalFilter>): void {
  const { builder } = refs
  const Grouping = builder.enumType('ApprovalGrouping', {
    description: 'What a tally of approvals is divided by.',
    values: described(approvalGroupings, {
      TOOL: 'One group for each tool.',
      AGENT: 'One group for each agent, and one for direct calls.',
    }),
  })
  const Numbers = builder.objectRef<StatusNumbers>('ApprovalNumbers').implement({
    description: 'Numbers of approvals by status.',
    fields: numbers,
  })
  const Group = builder.objectRef<ApprovalGroup>('ApprovalGroup').implement({
    description: 'Numbers of approvals of one tool or one agent, by status.',
    fields: (t) => ({
      id: t.exposeID('id', {
        nullable: true,
        description: 'The id of the tool or agent; null for direct calls, which have no agent.',
      }),
      toolName: t.exposeString('toolName', {
        nullable: true,
        description: 'A runtime name of the tool, also when it was deleted; null in groups of agents.',
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description:
          'The agent of the group; null in groups of tools, for direct calls, and when it was deleted or is hidden from this API key.',
        resolve: ({ by, id }, _args, { loaders }) => (by === 'AGENT' && id ? loaders.agents.load(id) : null),
      }),
      ...numbers(t),
    }),
  })
  const Tally = builder.objectRef<ApprovalTally>('ApprovalTally').implement({
    description: 'How many approvals a list has.',
    fields: (t) => ({
      total: t.expose('total', { type: Numbers, description: 'The approvals of the list by status.' }),
      groups: t.expose('groups', {
        type: [Group],
        description: 'The groups, those with the most approvals first; empty without a grouping.',
      }),
      isComplete: t.exposeBoolean('isComplete', {
        description: 'Whether everything was counted: counting stops at 10,000 approvals.',
      }),
    }),
  })
  builder.queryField('approvalTally', (t) =>
    t.field({
      type: Tally,
      description:
        'How many approvals a list has, by status and, when asked for, by tool or agent. Permission: approvals:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({ type: Filter, description: 'Only approvals that match all given fields.' }),
        by: t.arg({ type: Grouping, description: 'What the groups are. Default: no groups.' }),
      },
      resolve: (_root, args, { ctx }) => tallyApprovals(ctx, args),
    }),
  )
}
