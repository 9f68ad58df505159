/** Approvals on the wire: the inbox and the verdicts. */
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
      description: 'Where an approval stands. All but PENDING are final.',
      values: described(approvalStatuses, {
        PENDING: 'Waits for a verdict.',
        APPROVED: 'The call may run; see toolCall for what became of it.',
        REJECTED: 'The call was denied.',
        EXPIRED: 'Nobody answered in time; the call was rejected.',
        VOIDED: 'The question is void; see voidReason.',
      }),
    }),
    Verdict: builder.enumType('Verdict', {
      description: 'What a person says.',
      values: described(verdicts, {
        APPROVE: 'The call may run, once.',
        REJECT: 'The call does not run. One rejection suffices.',
      }),
    }),
    VoidReason: builder.enumType('ApprovalVoidReason', {
      description: 'Why an approval was voided.',
      values: described(voidReasons, {
        TOOL_CHANGED:
          'The tool was changed between the question and the run; it was asked again where it still fits.',
        TOOL_DELETED: 'The tool was deleted before the call ran.',
        GENERATION_ENDED: 'The generation ended first.',
        WITHDRAWN: 'The caller took the call back, or went away.',
      }),
    }),
  }
}

type Enums = ReturnType<typeof addEnums>

function voteType({ builder }: Refs, { Verdict }: Enums) {
  return builder.objectRef<Vote>('ApprovalVote').implement({
    description: 'What one person said.',
    fields: (t) => ({
      verdict: t.expose('verdict', { type: Verdict, description: 'The verdict.' }),
      by: t.exposeID('by', { description: 'The key that gave it.' }),
      byName: t.exposeString('byName', { description: 'The name of the key at that time.' }),
      at: t.field({ type: 'DateTime', description: 'When.', resolve: (vote) => new Date(vote.at) }),
      from: t.exposeString('from', { nullable: true, description: 'The network address it came from.' }),
      reason: t.exposeString('reason', {
        nullable: true,
        description: 'The model is told it with a rejection.',
      }),
      note: t.exposeString('note', {
        nullable: true,
        description: 'For colleagues; the model never sees it.',
      }),
    }),
  })
}

function addApprovalType(refs: Refs, gates: GateTypes, enums: Enums): void {
  const { builder } = refs
  const VoteType = voteType(refs, enums)
  const moment = { type: 'DateTime', nullable: true } as const
  refs.Approval.implement({
    description: 'One stop at the gate: a call that waits, with its arguments frozen, for people to decide.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'apr_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with apr_.' }),
      status: t.expose('status', { type: enums.Status, description: 'Where it stands.' }),
      toolName: t.exposeString('runtimeName', { description: 'The runtime name of the tool.' }),
      toolVersion: t.exposeInt('toolVersion', {
        description: 'The version of the tool that was asked about.',
      }),
      arguments: t.field({
        type: 'JSONObject',
        description: 'What will run: frozen, presets merged in, writeOnly values masked.',
        resolve: (approval) => shownArguments(approval),
      }),
      originalArguments: t.field({
        type: 'JSONObject',
        description: 'What was asked, before an approver edited it.',
        resolve: (approval) => shownArguments(approval, 'original'),
      }),
      digest: t.exposeString('digest', {
        description: 'A hash over what is agreed to; pass it as expectedDigest to decide about exactly this.',
      }),
      requirement: t.expose('requirement', { type: gates.Required, description: 'What it takes.' }),
      votes: t.expose('votes', {
        type: [VoteType],
        description: 'Everything that was said, oldest first.',
      }),
      decision: t.field({
        type: VoteType,
        nullable: true,
        description: 'The vote that settled it; null while it is pending and when nobody decided.',
        resolve: decisionOf,
      }),
      toolCall: t.field({
        type: refs.ToolCall,
        nullable: true,
        description: 'The call, with its execution once it ran; null when it may not be seen.',
        resolve: (approval, _args, { loaders }) => loaders.toolCalls.load(approval.toolCallId),
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted or may not be seen.',
        resolve: (approval, _args, { loaders }) => loaders.tools.load(approval.toolId),
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent whose model asked for the call; null for a direct call.',
        resolve: ({ agentId }, _args, { loaders }) => (agentId ? loaders.agents.load(agentId) : null),
      }),
      generation: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The generation that waits; null for a direct call.',
        resolve: ({ generationId }, _args, { loaders }) =>
          generationId ? loaders.generations.load(generationId) : null,
      }),
      requestedBy: t.exposeID('requestedBy', { description: 'The key on whose behalf the call is made.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When silence rejects it.' }),
      escalatedAt: t.expose('escalatedAt', { ...moment, description: 'When it was escalated.' }),
      settledAt: t.expose('settledAt', { ...moment, description: 'When it was decided, expired or voided.' }),
      voidReason: t.expose('voidReason', {
        type: enums.VoidReason,
        nullable: true,
        description: 'Why it was voided.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked.' }),
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
      description: 'An approval by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with apr_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.approvals.load(id),
    }),
  )
  builder.queryField('approvals', (t) =>
    t.field({
      ...actionMark(listOf(shown.approval)),
      type: connection,
      description: 'The approvals of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        status: t.arg({ type: Status, description: 'Only those that stand there.' }),
        toolId: t.arg.id({ description: 'Only for this tool.' }),
        agentId: t.arg.id({ description: 'Only for this agent.' }),
        expiringBefore: t.arg({ type: 'DateTime', description: 'Only those whose deadline is not later.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { first, last, after, before, ...filter }, { ctx }) =>
        page({ first, last, after, before }, (p) => listApprovals(ctx, { ...filter, page: p })),
    }),
  )
  const Counts = builder.objectRef<ApprovalCounts>('ApprovalCounts').implement({
    description: 'How many approvals there are, each counted up to 10,000.',
    fields: (t) => ({
      pending: t.exposeInt('pending', { description: 'Waiting for a verdict now.' }),
      approved: t.exposeInt('approved', { description: 'Approved within 24 hours.' }),
      rejected: t.exposeInt('rejected', { description: 'Rejected within 24 hours.' }),
      expired: t.exposeInt('expired', { description: 'Expired within 24 hours.' }),
    }),
  })
  builder.queryField('approvalCounts', (t) =>
    t.field({
      type: Counts,
      description: 'Counts for the inbox of a project.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        toolId: t.arg.id({ description: 'Only for this tool.' }),
        agentId: t.arg.id({ description: 'Only for this agent.' }),
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
    description: 'A verdict.',
    fields: (t) => ({
      approvalId: t.id({ required: true, description: 'Begins with apr_.' }),
      verdict: t.field({ type: Verdict, required: true, description: 'The verdict.' }),
      reason: t.string({
        description: 'Why. The model is told it with a rejection. At most 2,000 characters.',
      }),
      note: t.string({ description: 'For colleagues; the model never sees it. At most 2,000 characters.' }),
      arguments: t.field({
        type: 'JSONObject',
        description:
          'With APPROVE: what to run instead, without presets. Validated; the model is told which were changed.',
      }),
      expectedDigest: t.string({
        description:
          'Refuses with ConflictError when something else is asked by now; without it, an APPROVE counts for what stood there when it came in.',
      }),
      grant: t.field({ type: GrantInput, description: 'With APPROVE: remember this for some next calls.' }),
    }),
  })
  addMutation(refs, {
    name: 'decideApproval',
    description:
      'Gives a verdict. The first one wins, once; whoever comes later gets ApprovalAlreadyDecidedError or ApprovalExpiredError.',
    input: Decision,
    payload: builder.objectRef<{ approval: Approval }>('DecideApprovalPayload').implement({
      description: 'The approval as it stands now.',
      fields: (t) => ({
        approval: t.expose('approval', { type: refs.Approval, description: 'The approval.' }),
      }),
    }),
    errors: decideErrors,
    run: async (ctx, input) => ({ approval: await decideApproval(ctx, input as DecideApprovalInput) }),
  })
  addMutation(refs, {
    name: 'decideApprovals',
    description:
      'Gives several verdicts, all or none: the first that cannot be given refuses the others too.',
    input: builder.inputType('DecideApprovalsInput', {
      description: 'Several verdicts.',
      fields: (t) => ({
        decisions: t.field({ type: [Decision], required: true, description: '1 to 50 of them.' }),
      }),
    }),
    payload: builder.objectRef<{ approvals: Approval[] }>('DecideApprovalsPayload').implement({
      description: 'The approvals as they stand now.',
      fields: (t) => ({
        approvals: t.expose('approvals', {
          type: [refs.Approval],
          description: 'In the order of the decisions.',
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
        description: 'The approval that it is about, as it stands now; null for other things.',
        resolve: (refusal, _args, { loaders }) => {
          const id = (refusal as { details: { conflictingId?: string } }).details.conflictingId
          return id?.startsWith('apr_') ? loaders.approvals.load(id) : null
        },
      }),
    )
}
