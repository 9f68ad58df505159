/** Approvals in GraphQL: queries for an inbox, and the mutations that decide. */
import {
  approvalStatuses,
  countApprovals,
  decideApproval,
  decideApprovals,
  decisionOf,
  listApprovals,
  shownArguments,
  verdicts,
  voidReasons,
  type Approval,
  type ApprovalCounts,
  type DecideApprovalInput,
  type Vote,
} from '../../domain/approvals/index.ts'
import { actionMark, listOf, shown } from './action-mark.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import type { GateTypes } from './gates.ts'
import type { GrantTypes } from './grants.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addApprovals(refs: Refs, gates: GateTypes, grants: GrantTypes): void {
  const enums = addEnums(refs)
  addApprovalType(refs, gates, enums)
  addQueries(refs, enums)
  addVerdicts(refs, grants, enums)
}

function addEnums({ builder }: Refs) {
  return {
    Status: builder.enumType('ApprovalStatus', {
      description: 'The status of an approval. All but PENDING are final.',
      values: described(approvalStatuses, {
        PENDING: 'The approval waits for a verdict.',
        APPROVED: 'The call may run; toolCall has its result.',
        REJECTED: 'An approver rejected the call.',
        EXPIRED: 'No verdict was given in time; the call was rejected.',
        VOIDED: 'The approval became void; voidReason says why.',
      }),
    }),
    Verdict: builder.enumType('Verdict', {
      description: 'The verdict of a person about an approval.',
      values: described(verdicts, {
        APPROVE: 'The call may run once.',
        REJECT: 'The call does not run; one rejection is enough.',
      }),
    }),
    VoidReason: builder.enumType('ApprovalVoidReason', {
      description: 'The reason why an approval became void.',
      values: described(voidReasons, {
        TOOL_CHANGED:
          'The tool or its gate changed before the call ran. A new approval was requested if the call is still valid.',
        TOOL_DELETED: 'The tool was deleted before the call ran.',
        GENERATION_ENDED: 'The generation ended before the verdict.',
        WITHDRAWN: 'The caller withdrew the call, or disconnected.',
      }),
    }),
  }
}

type Enums = ReturnType<typeof addEnums>

function voteType({ builder }: Refs, { Verdict }: Enums) {
  return builder.objectRef<Vote>('ApprovalVote').implement({
    description: 'The vote of one person about an approval.',
    fields: (t) => ({
      verdict: t.expose('verdict', { type: Verdict, description: 'The verdict of the vote.' }),
      by: t.exposeID('by', { description: 'The id of the API key or person that voted.' }),
      byName: t.exposeString('byName', { description: 'The name of the API key or person at that time.' }),
      at: t.field({
        type: 'DateTime',
        description: 'When the vote was given.',
        resolve: (vote) => new Date(vote.at),
      }),
      from: t.exposeString('from', {
        nullable: true,
        description: 'The network address of the voter; null when it is unknown.',
      }),
      reason: t.exposeString('reason', {
        nullable: true,
        description:
          'The reason of the vote, which the model receives with a rejection; null when none was given.',
      }),
      note: t.exposeString('note', {
        nullable: true,
        description: 'A note for other approvers, which the model never receives; null when none was given.',
      }),
    }),
  })
}

function addApprovalType(refs: Refs, gates: GateTypes, enums: Enums): void {
  const { builder } = refs
  const VoteType = voteType(refs, enums)
  const moment = { type: 'DateTime', nullable: true } as const
  refs.Approval.implement({
    description: 'A tool call that the gate stopped, with frozen arguments, until approvers decide.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'apr_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the approval; it begins with apr_.' }),
      status: t.expose('status', { type: enums.Status, description: 'The status of the approval.' }),
      toolName: t.exposeString('runtimeName', { description: 'The runtime name of the tool.' }),
      toolVersion: t.exposeInt('toolVersion', {
        description: 'The version of the tool that the approval is for.',
      }),
      arguments: t.field({
        type: 'JSONObject',
        description: 'The arguments that the call runs with, presets included, writeOnly values masked.',
        resolve: (approval) => shownArguments(approval),
      }),
      originalArguments: t.field({
        type: 'JSONObject',
        description: 'The arguments as requested, before an approver edited them, writeOnly values masked.',
        resolve: (approval) => shownArguments(approval, 'original'),
      }),
      digest: t.exposeString('digest', {
        description:
          'A hash over the tool, the arguments and the gate; pass it as expectedDigest to decide about exactly these.',
      }),
      requirement: t.expose('requirement', {
        type: gates.Required,
        description: 'The verdict that the gate requires.',
      }),
      votes: t.expose('votes', {
        type: [VoteType],
        description: 'All votes, oldest first.',
      }),
      decision: t.field({
        type: VoteType,
        nullable: true,
        description:
          'The vote that settled the approval; null while it is pending, or when it expired or became void.',
        resolve: decisionOf,
      }),
      toolCall: t.field({
        type: refs.ToolCall,
        nullable: true,
        description:
          'The stopped tool call, with its result once it ran; null when it is hidden from this API key.',
        resolve: (approval, _args, { loaders }) => loaders.toolCalls.load(approval.toolCallId),
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted or is hidden from this API key.',
        resolve: (approval, _args, { loaders }) => loaders.tools.load(approval.toolId),
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent whose model requested the call; null for a direct call.',
        resolve: ({ agentId }, _args, { loaders }) => (agentId ? loaders.agents.load(agentId) : null),
      }),
      generation: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The generation that waits; null for a direct call.',
        resolve: ({ generationId }, _args, { loaders }) =>
          generationId ? loaders.generations.load(generationId) : null,
      }),
      requestedBy: t.exposeID('requestedBy', {
        description: 'The id of the API key or person for whom the call is made.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        description: 'When the approval expires without a verdict, which rejects the call.',
      }),
      escalatedAt: t.expose('escalatedAt', {
        ...moment,
        description: 'When the approval was escalated, so that admins may decide too; null when it was not.',
      }),
      settledAt: t.expose('settledAt', {
        ...moment,
        description: 'When the approval was decided, expired or became void; null while it is pending.',
      }),
      voidReason: t.expose('voidReason', {
        type: enums.VoidReason,
        nullable: true,
        description: 'Why the approval became void; null unless the status is VOIDED.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the approval was requested.' }),
    }),
  })
}

function addQueries(refs: Refs, { Status }: Enums): void {
  const { builder } = refs
  const connection = connectionOf(refs.Approval, 'Approval')
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
      description: 'The approvals of a project, newest first. Permission: approvals:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        status: t.arg({ type: Status, description: 'Only approvals with this status.' }),
        toolId: t.arg.id({ description: 'Only approvals for the tool with this id.' }),
        agentId: t.arg.id({ description: 'Only approvals for the agent with this id.' }),
        expiringBefore: t.arg({
          type: 'DateTime',
          description: 'Only approvals that expire at this time or earlier.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { first, last, after, before, ...filter }, { ctx }) =>
        page({ first, last, after, before }, (p) => listApprovals(ctx, { ...filter, page: p })),
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
}

const decideErrors = [
  'NotFoundError',
  'ApprovalAlreadyDecidedError',
  'ApprovalExpiredError',
  'ConflictError',
  'LimitReachedError',
] as const

function addVerdicts(refs: Refs, { GrantInput }: GrantTypes, { Verdict }: Enums): void {
  const { builder } = refs
  const Decision = builder.inputType('DecideApprovalInput', {
    description: 'A verdict about one approval.',
    fields: (t) => ({
      approvalId: t.id({ required: true, description: 'The id of the approval; it begins with apr_.' }),
      verdict: t.field({ type: Verdict, required: true, description: 'The verdict about the approval.' }),
      reason: t.string({
        description: 'The reason, which the model receives with a rejection; at most 2,000 characters.',
      }),
      note: t.string({
        description: 'A note for other approvers, which the model never receives; at most 2,000 characters.',
      }),
      arguments: t.field({
        type: 'JSONObject',
        description:
          'Edited arguments without presets, for APPROVE only; they are validated, and the model learns ' +
          'which ones changed. Default: the frozen arguments.',
      }),
      expectedDigest: t.string({
        description:
          'The digest that the verdict is for: with another current digest the mutation returns ' +
          'ConflictError. Default: the digest at the time of the request.',
      }),
      grant: t.field({
        type: GrantInput,
        description: 'A grant that lets later calls pass the gate, for APPROVE only. Default: none.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'decideApproval',
    description:
      'Gives a verdict about an approval. The first deciding verdict wins; later ones return ' +
      'ApprovalAlreadyDecidedError or ApprovalExpiredError. Permission: approvals:Decide.',
    input: Decision,
    payload: builder.objectRef<{ approval: Approval }>('DecideApprovalPayload').implement({
      description: 'The result of a verdict that was accepted.',
      fields: (t) => ({
        approval: t.expose('approval', {
          type: refs.Approval,
          description: 'The approval after the mutation.',
        }),
      }),
    }),
    errors: decideErrors,
    run: async (ctx, input) => ({ approval: await decideApproval(ctx, input as DecideApprovalInput) }),
  })
  addMutation(refs, {
    name: 'decideApprovals',
    description:
      'Gives several verdicts atomically: one that is refused refuses all. Permission: approvals:Decide.',
    input: builder.inputType('DecideApprovalsInput', {
      description: 'Verdicts about several approvals.',
      fields: (t) => ({
        decisions: t.field({ type: [Decision], required: true, description: 'The verdicts, 1 to 50.' }),
      }),
    }),
    payload: builder.objectRef<{ approvals: Approval[] }>('DecideApprovalsPayload').implement({
      description: 'The result of verdicts that were accepted.',
      fields: (t) => ({
        approvals: t.expose('approvals', {
          type: [refs.Approval],
          description: 'The approvals in the order of the decisions.',
        }),
      }),
    }),
    errors: decideErrors,
    run: async (ctx, input) => ({
      approvals: await decideApprovals(ctx, input as { decisions: DecideApprovalInput[] }),
    }),
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
